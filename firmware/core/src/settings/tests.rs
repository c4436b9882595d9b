//! What rows say about values, without a store.

use std::string::String;

use super::{SETTINGS, Setting, SettingKind, find};
use crate::config::{Address, Broker, Config};
use crate::json::{Value, Writer};
use crate::limits;
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
fn every_default_suits_its_row_and_every_row_fits_into_a_reply() {
    for setting in SETTINGS {
        let default = (setting.default)(&CONFIG);
        assert!(
            setting.kind == SettingKind::Rule || setting.suits(default).is_ok(),
            "{}: {default}",
            setting.key
        );
        assert!(core::ptr::eq(find(setting.key).unwrap(), *setting), "{}", setting.key);
        let row = written(|out| setting.describe(&CONFIG, out)).len();
        assert!(row + limits::TRANSACTION + 64 < limits::REPLY, "{}: {row} bytes", setting.key);
    }
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

#[test]
fn the_address_of_a_broker_is_read_as_people_write_it() {
    let at = |host, port, is_tls| Some(Address { host, port, is_tls });
    for (text, address) in [
        ("mqtt://homeassistant.local", at("homeassistant.local", 1883, false)),
        (" MQTTS://10.0.0.7/ ", at("10.0.0.7", 8883, true)),
        ("broker:1884", at("broker", 1884, false)),
        ("mqtts://my_broker:1", at("my_broker", 1, true)),
        ("mqtt://[::1]:1885", at("::1", 1885, false)),
        ("mqtts://[fe80::1]", at("fe80::1", 8883, true)),
        ("", None),
        ("mqtt://", None),
        ("mqtt://:1883", None),
        ("mqtt://a:b", None),
        ("mqtt://a:", None),
        ("mqtt://a:0", None),
        ("mqtt://a:65536", None),
        ("mqtt://a:1:2", None),
        ("mqtt://[::1", None),
        ("mqtt://[::1]x", None),
        ("ws://a", None),
        ("mqtt://a/b", None),
        ("mqtt://user@a", None),
        ("mqtt://küche", None),
    ] {
        assert_eq!(Address::parse(text), address, "{text}");
    }
    assert_eq!(Address::parse(&"a".repeat(limits::HOST + 1)), None);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Whatever is read is written in the same way again, and nothing panics.
    #[test]
    fn an_address_is_what_it_is_made_of(text in "(mqtts?://)?[a-z\\[\\]:./@ü]{0,12}(:[0-9]{0,6})?/?") {
        if let Some(Address { host, port, is_tls }) = Address::parse(&text) {
            let scheme = if is_tls { "mqtts" } else { "mqtt" };
            let written = if host.contains(':') {
                std::format!("{scheme}://[{host}]:{port}")
            } else {
                std::format!("{scheme}://{host}:{port}")
            };
            proptest::prop_assert_eq!(Address::parse(&written), Address::parse(&text));
        }
    }
}

/// It would leave no room for the other settings.
#[test]
fn the_list_of_settings_has_no_certificate_in_it() {
    let config = Config { broker: Broker { ca: "MIIB", ..CONFIG.broker }, ..CONFIG };
    let row = written(|out| super::BROKER_CA.describe(&config, out));
    assert!(row.contains(r#""default":"(set)""#), "{row}");
    let row = written(|out| super::BROKER_CA.describe(&CONFIG, out));
    assert!(row.contains(r#""default":"""#), "{row}");
}
