//! Every setting, one row each. To add one, add a row; `docs/settings.md` has the same table, which a test compares.

use super::{Setting, SettingKind};
use crate::limits;
use crate::store::flags::{FIRST_PROJECT, PROJECT as PROJECT_KEY};

/// Declares a static for each row, by which the hub reads it, and the list of all.
macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident: $row:expr;)*) => {
        $($(#[$doc])* pub static $name: Setting = $row;)*

        /// All settings, in the order in which they are listed.
        pub static SETTINGS: &[&Setting] = &[$(&$name),*];
    };
}

rows! {
    /// The project of the flags.
    PROJECT: Setting {
        key: PROJECT_KEY,
        purpose: "The project whose flags apply",
        kind: SettingKind::Group,
        default: |_| FIRST_PROJECT,
        ..Setting::PLAIN
    };
    /// Whether models may call tools at all.
    TOOLS: Setting {
        key: "tools",
        purpose: "Whether models may call tools, whatever a rule says",
        kind: SettingKind::Switch,
        default: |_| "on",
        ..Setting::PLAIN
    };
    /// What people say to address the hub.
    WAKE_PHRASES: Setting {
        key: "wake_phrases",
        purpose: "The phrases by which people address the hub, with commas between them",
        kind: SettingKind::Text,
        default: |_| "hey hearthwave, okay hearthwave, hearthwave",
        ..Setting::PLAIN
    };
    /// The prefix of the hub's own tools.
    TOOL_PREFIX: Setting {
        key: "tool_prefix",
        purpose: "What stands before the names of the hub's own tools, with an underscore between; empty for none",
        kind: SettingKind::Word(limits::TOOL_PREFIX),
        default: |config| config.tool_prefix,
        needs_restart: true,
        ..Setting::PLAIN
    };
    /// Whether the example tools are registered.
    EXAMPLE_TOOLS: Setting {
        key: "example_tools",
        purpose: "Whether the example tools are registered",
        kind: SettingKind::Switch,
        default: |config| if config.example_tools { "on" } else { "off" },
        needs_restart: true,
        ..Setting::PLAIN
    };
    /// Rounds of calls in one turn, where the rule does not say. People wait some seconds for each.
    MAX_ITERATIONS: Setting {
        key: "max_iterations",
        purpose: "How many rounds of tool calls a model may ask for in one turn, if its rule does not say",
        kind: SettingKind::Whole(1, limits::ITERATIONS_MOST),
        default: |_| "5",
        ..Setting::PLAIN
    };
    /// How loud the speaker is. The tool `volume` sets it, too.
    VOLUME: Setting {
        key: "volume",
        purpose: "How loud the speaker is, in percent",
        kind: SettingKind::Whole(0, 100),
        default: |_| "50",
        ..Setting::PLAIN
    };
    /// Response rules.
    RULE: Setting {
        key: "rule.NAME",
        purpose: "The response rule of that name; `rule.default` is the one that all others inherit from",
        kind: SettingKind::Rule,
        default: |_| "",
        ..Setting::PLAIN
    };
}
