//! What rows say about values, without a store.

use std::string::String;

use proptest::prelude::*;

use super::{SETTINGS, Setting, SettingKind, certificate, find};
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

/// A certificate as OpenSSL writes it: an ASN.1 sequence of so many bytes, in PEM.
fn pem(length: usize, ending: &str) -> String {
    use base64ct::{Base64, Encoding};
    let inside = u16::try_from(length - 4).unwrap().to_be_bytes();
    let mut der = std::vec![0x30, 0x82, inside[0], inside[1]];
    der.extend((0..length - 4).map(|at| (at * 7) as u8));
    let mut text = String::from("-----BEGIN CERTIFICATE-----");
    for line in Base64::encode_string(&der).as_bytes().chunks(64) {
        text += ending;
        text += core::str::from_utf8(line).unwrap();
    }
    text + ending + "-----END CERTIFICATE-----" + ending
}

#[test]
fn one_certificate_in_pem_becomes_its_der() {
    for (length, ending) in [(300, "\n"), (1411, "\r\n"), (limits::CERTIFICATE, "\n"), (700, " ")] {
        let pem = pem(length, ending);
        // What some programs write before it.
        for text in [pem.clone(), std::format!("subject=CN = home\n{pem}")] {
            let mut buffer = text.into_bytes();
            let base64 = String::from(certificate::to_base64(&mut buffer).expect("a certificate"));
            assert_eq!(base64.len(), length.div_ceil(3) * 4);
            let mut again = base64.clone().into_bytes();
            assert_eq!(certificate::to_base64(&mut again), Some(&*base64), "and is one then, too");
            let mut buffer = base64.into_bytes();
            let der = certificate::to_der(&mut buffer).unwrap();
            assert!(
                der.len() == length
                    && der.iter().skip(4).enumerate().all(|(at, byte)| *byte == (at * 7) as u8)
            );
        }
    }
}

#[test]
fn what_is_not_one_whole_certificate_is_refused() {
    let good = pem(600, "\n");
    let two = good.clone() + &good;
    let too_long = pem(limits::CERTIFICATE + 1, "\n");
    let cut = good.replacen("-----END", "", 1);
    let shorter = good.replacen("AAcO", "", 1);
    let foreign = good.replace("CERTIFICATE", "PRIVATE KEY");
    for text in ["", "x", "-----BEGIN CERTIFICATE-----", &two, &too_long, &cut, &shorter, &foreign] {
        assert_ne!(text, good);
        assert_eq!(certificate::to_base64(&mut text.as_bytes().to_vec()), None, "{text}");
    }
    // Any byte that is replaced by one that base64 does not have.
    for at in (28..good.len() - 28).filter(|at| good.as_bytes()[*at] != b'\n') {
        let mut bad = good.clone().into_bytes();
        bad[at] = b'*';
        assert_eq!(certificate::to_base64(&mut bad), None, "{at}");
    }
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
    let ca = pem(1400, "\n");
    let config = Config { broker: Broker { ca: &ca, ..CONFIG.broker }, ..CONFIG };
    let row = written(|out| super::BROKER_CA.describe(&config, out));
    assert!(row.contains(r#""default":"(set)""#), "{row}");
    let row = written(|out| super::BROKER_CA.describe(&CONFIG, out));
    assert!(row.contains(r#""default":"""#), "{row}");
}

proptest! {
    /// Texts of the alphabet and a little more, of any length: an encoder would have written them, or they are refused.
    #[test]
    fn base64_is_read_as_by_others(text in "[A-Za-z0-9+/=*-]{0,12}", bytes: std::vec::Vec<u8>) {
        use base64ct::{Base64, Encoding};
        for text in [text, Base64::encode_string(&bytes)] {
            let mut buffer = text.clone().into_bytes();
            let ours = certificate::to_der(&mut buffer).map(<[u8]>::to_vec);
            prop_assert_eq!(ours, Base64::decode_vec(&text).ok(), "{}", text);
        }
    }
}
