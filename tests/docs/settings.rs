//! `docs/settings.md` has a row for each setting, and says what the code says.

use hub_core::settings::{SETTINGS, SettingKind};
use hub_core::{Config, limits};

use crate::{page, rows};

#[test]
fn the_table_of_settings_is_that_of_the_code() {
    let config = Config::DEFAULT;
    let text = page("settings.md");
    let shown = rows(&text, &["key", "purpose", "value", "default", "secret", "takes effect"]);
    let declared: Vec<_> = SETTINGS
        .iter()
        .map(|setting| {
            let default = if setting.is_secret { "" } else { (setting.default)(&config) };
            let effect = if setting.needs_restart { "after a restart" } else { "at once" };
            let secret = if setting.is_secret { "yes" } else { "no" }.to_string();
            let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
            let purpose = setting.purpose.to_string();
            [format!("`{}`", setting.key), purpose, values(setting.kind), default, secret, effect.to_string()]
        })
        .collect();
    for row in &declared {
        let is_there = shown.iter().any(|shown| shown == row);
        assert!(is_there, "docs/settings.md lacks this line:\n| {} |", row.join(" | "));
    }
    assert_eq!(shown, declared, "docs/settings.md has other lines than firmware/core/src/settings/rows.rs");
}

/// Which values a setting takes, in words.
fn values(kind: SettingKind) -> String {
    let longest = match kind {
        SettingKind::Text => limits::SETTING,
        SettingKind::Group => limits::GROUP,
        SettingKind::Rule => limits::RULE,
        _ => return kind.to_string(),
    };
    format!("{kind}, at most {longest} bytes")
}
