//! Every setting, one row each. To add one, add a row; `docs/settings.md` has the same table, which a test compares.

use super::{Effect, Policy, Setting, SettingKind, SettingText, TypedSetting};
use crate::limits;
use crate::store::flags::{FIRST_PROJECT, PROJECT as PROJECT_KEY};

/// Declares a static for each row, by which the hub reads it, and the list of all.
macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $row:expr;)*) => {
        $($(#[$doc])* pub static $name: TypedSetting<$type> = TypedSetting::new($row);)*

        /// All settings, in the order in which they are listed.
        pub static SETTINGS: &[&Setting] = &[$(&$name.row),*];
    };
}

rows! {
    /// The hub's id.
    HUB_ID: SettingText = Setting {
        key: "hub.id",
        purpose: "The hub's name in every topic, at the router and as ID.local",
        kind: SettingKind::HubId,
        default: |config| config.id.as_str(),
        ..Setting::AT_START
    };
    /// What people call it.
    HUB_NAME: SettingText = Setting {
        key: "hub.name",
        purpose: "What people call the hub",
        kind: SettingKind::Short(limits::HUB_NAME),
        default: |config| config.name,
        ..Setting::AT_START
    };
    /// The Wi-Fi network.
    WIFI_SSID: SettingText = Setting {
        key: "wifi.ssid",
        purpose: "The name of the Wi-Fi network; empty for none",
        kind: SettingKind::Short(limits::SSID),
        default: |config| config.wifi.ssid,
        ..Setting::AT_START
    };
    /// Its password.
    WIFI_PASSWORD: SettingText = Setting {
        key: "wifi.password",
        purpose: "Its password; empty for an open network",
        kind: SettingKind::WifiPassword,
        default: |config| config.wifi.password,
        is_secret: true,
        ..Setting::AT_START
    };
    /// Where the broker is.
    BROKER_URL: SettingText = Setting {
        key: "broker.url",
        purpose: "Where the MQTT broker is; mqtts:// is encrypted and needs broker.ca",
        kind: SettingKind::Address,
        default: |config| config.broker.url,
        ..Setting::AT_START
    };
    /// The user name at the broker.
    BROKER_USER: SettingText = Setting {
        key: "broker.user",
        purpose: "The user name at the broker; empty for none",
        default: |config| config.broker.user,
        ..Setting::AT_START
    };
    /// The password at the broker.
    BROKER_PASSWORD: SettingText = Setting {
        key: "broker.password",
        purpose: "The password at the broker",
        default: |config| config.broker.password,
        is_secret: true,
        ..Setting::AT_START
    };
    /// The CA certificate that the broker's certificate is checked against.
    BROKER_CA: SettingText = Setting {
        key: "broker.ca",
        purpose: "The certificate of the authority that issued the broker's, or the broker's own",
        kind: SettingKind::Certificate,
        default: |config| config.broker.ca,
        ..Setting::AT_START
    };
    /// The time zone.
    TIME_ZONE: SettingText = Setting {
        key: "time.zone",
        purpose: "The time zone; daylight saving follows",
        kind: SettingKind::Zone,
        default: |config| config.time_zone,
        ..Setting::PLAIN
    };
    /// Who is asked for the time.
    TIME_SERVER: SettingText = Setting {
        key: "time.server",
        purpose: "Who is asked for the time by SNTP, HOST or HOST:PORT, before the router and the broker; empty for nobody at all",
        kind: SettingKind::Short(limits::HOST),
        default: |config| config.time_server,
        effect: Effect::TimeServer,
        ..Setting::PLAIN
    };
    /// The speed of the controller's line.
    CONTROLLER_BAUD: u32 = Setting {
        key: "controller.baud",
        purpose: "The speed of the controller's serial line",
        kind: SettingKind::Whole(9600, 921_600),
        default: |config| config.baud_rate,
        ..Setting::AT_START
    };
    /// Which of the controller's tools are kept first.
    CONTROLLER_TOOLS: SettingText = Setting {
        key: "controller.tools",
        purpose: "Which of the controller's tools are kept first if not all fit: names, or patterns with '*', with commas between them",
        ..Setting::AT_START
    };
    /// The pin of the lamp.
    LED_PIN: Option<u8> = Setting {
        key: "led.pin",
        purpose: "The pin of a lamp that shows how the hub is; empty for none",
        kind: SettingKind::Pin,
        ..Setting::AT_START
    };
    /// The project of the flags.
    PROJECT: SettingText = Setting {
        key: PROJECT_KEY,
        purpose: "The project whose flags apply",
        kind: SettingKind::Group,
        default: |_| FIRST_PROJECT,
        ..Setting::PLAIN
    };
    /// Whether models may call tools at all.
    TOOLS: bool = Setting {
        key: "tools",
        purpose: "Whether models may call tools, whatever a rule says",
        kind: SettingKind::Switch,
        default: |_| "on",
        ..Setting::PLAIN
    };
    /// What people say to address the hub.
    WAKE_PHRASES: SettingText = Setting {
        key: "wake_phrases",
        purpose: "The phrases by which people address the hub, with commas between them",
        kind: SettingKind::Text,
        default: |_| "hey hearthwave, okay hearthwave, hearthwave",
        ..Setting::PLAIN
    };
    /// The prefix of the hub's own tools.
    TOOL_PREFIX: SettingText = Setting {
        key: "tool_prefix",
        purpose: "The prefix of the hub's tool names, followed by an underscore; empty for none",
        kind: SettingKind::Word(limits::TOOL_PREFIX),
        default: |config| config.tool_prefix,
        ..Setting::AT_START
    };
    /// Whether the example tools are registered.
    EXAMPLE_TOOLS: bool = Setting {
        key: "example_tools",
        purpose: "Whether the example tools are registered",
        kind: SettingKind::Switch,
        default: |config| if config.example_tools { "on" } else { "off" },
        ..Setting::AT_START
    };
    /// Rounds of calls in one turn, where the rule does not say. People wait some seconds for each.
    MAX_ITERATIONS: u8 = Setting {
        key: "max_iterations",
        purpose: "How many rounds of tool calls a model may ask for in one turn, if its rule does not say",
        kind: SettingKind::Whole(1, limits::ITERATIONS_MOST as u32),
        default: |_| "5",
        ..Setting::PLAIN
    };
    /// How loud the speaker is. The tool `volume` sets it, too.
    VOLUME: u8 = Setting {
        key: "volume",
        purpose: "How loud the speaker is, in percent",
        kind: SettingKind::Whole(0, 100),
        default: |_| "50",
        effect: Effect::Volume,
        ..Setting::PLAIN
    };
    /// Whether a model may unlock a lock.
    GATE_UNLOCK: Policy = Setting {
        key: "gate.unlock",
        purpose: "Whether a model may unlock a lock",
        kind: SettingKind::Policy,
        default: |_| "ask",
        ..Setting::PLAIN
    };
    /// Whether a model may lock it.
    GATE_LOCK: Policy = Setting {
        key: "gate.lock",
        purpose: "Whether a model may lock a lock",
        kind: SettingKind::Policy,
        default: |_| "allow",
        ..Setting::PLAIN
    };
    /// Whether a model may open a garage door.
    GATE_OPEN: Policy = Setting {
        key: "gate.open",
        purpose: "Whether a model may open a garage door",
        kind: SettingKind::Policy,
        default: |_| "ask",
        ..Setting::PLAIN
    };
    /// Whether a model may close it.
    GATE_CLOSE: Policy = Setting {
        key: "gate.close",
        purpose: "Whether a model may close a garage door",
        kind: SettingKind::Policy,
        default: |_| "allow",
        ..Setting::PLAIN
    };
    /// Whether a model may switch a siren on.
    GATE_SIREN: Policy = Setting {
        key: "gate.siren",
        purpose: "Whether a model may switch a siren on",
        kind: SettingKind::Policy,
        default: |_| "ask",
        ..Setting::PLAIN
    };
    /// Whether a model may call a tool that is declared destructive, the controller's or the hub's own.
    GATE_TOOLS: Policy = Setting {
        key: "gate.tools",
        purpose: "Whether a model may call other tools that may destroy something, such as restart_hub",
        kind: SettingKind::Policy,
        default: |_| "ask",
        ..Setting::PLAIN
    };
    /// Whether a model may call a tool of the controller's that says nothing about its effects.
    GATE_UNMARKED: Policy = Setting {
        key: "gate.unmarked",
        purpose: "Whether a model may call tools of which the controller does not declare the effects",
        kind: SettingKind::Policy,
        default: |_| "ask",
        ..Setting::PLAIN
    };
    /// Whether what people call themselves is judged as well.
    GATE_DIRECT: bool = Setting {
        key: "gate.direct",
        purpose: "Whether tool/call and device/set need the same approval as a model",
        kind: SettingKind::Switch,
        default: |_| "off",
        ..Setting::PLAIN
    };
    /// How long a person has to decide. Less than a turn takes, so that the model can report the outcome.
    GATE_SECONDS: u32 = Setting {
        key: "gate.seconds",
        purpose: "For how many seconds an action waits for approval",
        kind: SettingKind::Whole(5, 100),
        default: |_| "60",
        ..Setting::PLAIN
    };
    /// What people say to approve.
    GATE_PIN: SettingText = Setting {
        key: "gate.pin",
        purpose: "The PIN by which people approve in the conversation itself; empty for none",
        kind: SettingKind::Code,
        is_secret: true,
        effect: Effect::Pin,
        ..Setting::PLAIN
    };
    /// Whether the hub announces itself to Home Assistant.
    HOMEASSISTANT_DISCOVERY: bool = Setting {
        key: "homeassistant.discovery",
        purpose: "Whether the hub appears in Home Assistant by itself, by MQTT discovery",
        kind: SettingKind::Switch,
        default: |config| if config.discovery { "on" } else { "off" },
        effect: Effect::Announcements,
        ..Setting::PLAIN
    };
    /// Whether it announces its devices, too.
    HOMEASSISTANT_DEVICES: bool = Setting {
        key: "homeassistant.devices",
        purpose: "Whether its devices appear there, too; off for those who have them there already, by Z-Wave JS",
        kind: SettingKind::Switch,
        default: |_| "on",
        effect: Effect::Announcements,
        ..Setting::PLAIN
    };
    /// Where it announces them.
    HOMEASSISTANT_PREFIX: SettingText = Setting {
        key: "homeassistant.prefix",
        purpose: "The discovery prefix in Home Assistant's MQTT settings; what was announced under another one stays there",
        kind: SettingKind::Word(limits::DISCOVERY_PREFIX),
        default: |_| "homeassistant",
        ..Setting::AT_START
    };
    /// Response rules.
    RULE: SettingText = Setting {
        key: "rule.NAME",
        purpose: "The response rule of that name; `rule.default` is the one that all others inherit from",
        kind: SettingKind::Rule,
        default: |_| "",
        ..Setting::PLAIN
    };
}
