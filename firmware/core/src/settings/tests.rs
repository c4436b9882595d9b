//! What rows say about values, without a store.

use std::string::String;

use super::{SETTINGS, Setting, SettingKind, find};
use crate::config::{Broker, Config};
use crate::json::{Value, Writer};
use crate::platform::Credentials;

const CONFIG: Config<'static> = Config::DEFAULT;

fn written(write: impl FnOnce(&mut Writer<'_>)) -> String {
    let mut buffer = [0; 1024];
    let mut writer = Writer::new(&mut buffer);
    write(&mut writer);
    let length = writer.finish().unwrap();
    String::from_utf8(buffer[..length].to_vec()).unwrap()
}

#[test]
fn a_config_in_a_log_has_no_password() {
    let broker = Broker { user: "ann", password: "hunter2", ..CONFIG.broker };
    let wifi = Credentials { ssid: "home", password: "hunter2" };
    for shown in
        [std::format!("{broker:?} {broker:#?}"), std::format!("{:?}", Config { broker, wifi, ..CONFIG })]
    {
        assert!(shown.contains("ann") && !shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn a_secret_is_never_shown() {
    let secret = Setting { key: "pin", is_secret: true, default: |_| "hunter1", ..Setting::PLAIN };
    let shown = written(|out| out.object(|out| secret.write("hunter2", out)));
    assert_eq!(shown, r#"{"pin":"***"}"#);
    let row = written(|out| secret.describe(&CONFIG, out));
    assert!(row.contains(r#""secret":true"#) && !row.contains("hunter"), "{row}");
}

#[test]
fn every_default_suits_its_row_and_every_row_fits_into_one_list() {
    for setting in SETTINGS {
        let default = (setting.default)(&CONFIG);
        assert!(
            setting.kind == SettingKind::Rule || setting.suits(default).is_ok(),
            "{}: {default}",
            setting.key
        );
        assert!(core::ptr::eq(find(setting.key).unwrap(), *setting), "{}", setting.key);
    }
    let rows: usize = SETTINGS.iter().map(|row| written(|out| row.describe(&CONFIG, out)).len() + 1).sum();
    assert!(
        rows + crate::limits::TRANSACTION + 64 < crate::limits::REPLY,
        "{rows} bytes: config/list needs pages"
    );
}

#[test]
fn what_a_stored_text_must_be_holds_for_what_is_set() {
    let rounds = find("max_iterations").unwrap();
    for (text, is_right) in
        [("1", true), ("16", true), ("0", false), ("17", false), ("", false), ("5 ", false)]
    {
        assert_eq!(rounds.suits(text).is_ok(), is_right, "{text}");
    }
    assert_eq!(rounds.check(Value::parse(b"16.0").unwrap()).unwrap(), "16");
    assert!(rounds.check(Value::parse(b"\"5\"").unwrap()).is_err());
    assert!(find("rule.").is_none() && find("rule").is_none() && find("rule.x").is_some());
}
