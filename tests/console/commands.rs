//! Every command of the console, with typos and nonsense.

use host_zwave::Home;
use world::prelude::*;

/// A certificate of 2 KiB, as far as a hub that does not use it can tell.
fn pem(bytes: usize) -> String {
    let mut der = vec![0x30, 0x82, ((bytes - 4) >> 8) as u8, (bytes - 4) as u8];
    der.resize(bytes, 7);
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut base64 = String::new();
    for chunk in der.chunks(3) {
        let bits =
            chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for index in 0..4 {
            let is_there = index <= chunk.len();
            let letter = alphabet[(bits >> (18 - 6 * index) & 63) as usize];
            base64.push(if is_there { letter.into() } else { '=' });
        }
    }
    let lines: Vec<&str> =
        base64.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).expect("ASCII")).collect();
    format!("-----BEGIN CERTIFICATE-----\r\n{}\r\n-----END CERTIFICATE-----", lines.join("\r\n"))
}

#[test]
fn typos_get_the_nearest_word_and_change_nothing() {
    story(async |world| {
        let mut ann = world.console();
        for (line, answer) in [
            ("hlep", "no command `hlep`; did you mean `help`?"),
            ("wifi", "no command `wifi`; did you mean `wifi scan`?"),
            ("xyzzy", "no command `xyzzy`; `help` lists them"),
            ("set wifi.sid Home", "no setting `wifi.sid`; did you mean `wifi.ssid`?"),
            ("set volum 3", "no setting `volum`; did you mean `volume`?"),
            ("show passwrod", "no setting `passwrod`; `show` lists them"),
            ("unset brokerurl", "no setting `brokerurl`; did you mean `broker.url`?"),
            ("set", "which setting? `show` lists them"),
            ("set volume", "volume = what? It must be a whole number from 0 to 100"),
            ("set volume loud", "volume must be a whole number from 0 to 100"),
            ("set volume 101", "volume must be a whole number from 0 to 100"),
            ("set hub.id a/b", "hub.id must be a string of 1 to 32 letters, digits, '-' and '_'"),
            (
                "set wifi.password short",
                "wifi.password must be a string of 8 to 63 characters or 64 hexadecimal digits, or empty for an open network",
            ),
            (
                "set broker.ca nonsense",
                "broker.ca must be a string with one certificate of at most 2048 bytes, in PEM",
            ),
            (
                "set rule.night {\"name\":\"day\"}",
                "rule.night: 'name' in the rule must be that in the key, after 'rule.'",
            ),
        ] {
            ann.gets(line, answer).await;
        }
        let shown = ann.types("show").await;
        for line in shown.lines() {
            assert!(line.ends_with(" (default)"), "{line}");
        }
    });
}

#[test]
fn values_are_set_as_people_write_them() {
    story(async |world| {
        let mut ann = world.console();
        let mut ben = world.person("ben").await;
        for (line, answer) in [
            ("SET Volume = 30", "volume = 30"),
            (
                "volume",
                "volume = 30\n  How loud the speaker is, in percent; it must be a whole number from 0 to 100",
            ),
            ("set volume 007", "volume = 7"),
            ("set tools NO", "tools = off"),
            ("tools=true", "tools = on"),
            ("set wake_phrases \"hey you,  you \"", "wake_phrases = hey you,  you "),
            ("set example_tools on", "example_tools = on (takes effect after `restart`)"),
            ("set example_tools off", "example_tools = off"),
            ("unset volume", "volume = 50 (default)"),
            ("set time.zone berlin", "time.zone = Europe/Berlin"),
            (
                "set time.zone Europe/Berln",
                "time.zone must be a time zone like Europe/Berlin, or a rule like CET-1CEST,M3.5.0,M10.5.0/3; did you mean \
                 Europe/Berlin?",
            ),
            ("set broker.ca \"\"", "broker.ca =  (default)"),
        ] {
            assert_eq!(ann.types(line).await.strip_suffix('\n'), Some(answer), "{line}");
        }
        ann.types("set volume 31").await;
        while ben.hears("volume").await.json()["level"] != 31 {}
        // Rules, as JSON.
        let rule = r#"{"name":"night","service":"ollama","model":"m"}"#;
        ann.gets(&format!("set rule.night {rule}"), "rule.night is changed").await;
        ann.gets("show rule.night", rule).await;
        ann.sees("show", "rule.night is set").await;
        ann.gets("unset rule.night", "rule.night is changed").await;
        ann.gets("show rule.night", "rule.night is not set").await;
        // What is set over MQTT is seen here, and waits for a restart just as well.
        let reply = ben.asks("config/set", json!({ "key": "tool_prefix", "value": "den" })).await;
        assert_eq!(reply["success"], true, "{reply}");
        ann.sees("show tool_prefix", "tool_prefix = den (takes effect after `restart`)").await;
    });
}

/// What is set and not in use yet is not shown as if it were.
#[test]
fn the_status_is_that_of_what_is_in_use() {
    story(async |world| {
        let mut ann = world.console();
        world.person("ben").await;
        ann.gets("log", "nothing was reported yet").await;
        ann.sees("status", "broker      connected\n  address   mqtt://in-memory:1883\n").await;
        ann.types("set broker.url mqtt://other").await;
        ann.types("set wifi.ssid Attic").await;
        ann.sees("status", "  network   Attic after `restart`\n").await;
        ann.sees("status", "broker      connected\n  address   mqtt://other after `restart`\n").await;
    });
}

#[test]
fn a_certificate_is_pasted() {
    story(async |world| {
        let mut ann = world.console();
        let changed = "broker.ca = (set) (takes effect after `restart`)";
        for (before, certificate) in [("set broker.ca ", pem(2048)), ("broker.ca=", pem(700)), ("", pem(900))]
        {
            if before.is_empty() {
                ann.gets("set broker.ca", "paste the certificate now, or press Ctrl-C").await;
            }
            let answer = ann.types(&format!("{before}{certificate}")).await;
            assert_eq!(answer.lines().last(), Some(changed), "{answer}");
        }
        let answer = ann.types(&format!("set broker.ca {}", pem(2049))).await;
        assert!(
            answer.contains("broker.ca must be a string with one certificate of at most 2048"),
            "{answer}"
        );
        ann.sees("show broker.ca", changed).await;
        ann.types("restart").await;
        sleep(Duration::from_secs(3)).await;
        assert_not_logged("cannot be read");
        ann.gets("unset broker.ca", "broker.ca =  (takes effect after `restart`)").await;
        // Nobody asked for it.
        let answer = ann.types(&pem(700)).await;
        assert!(answer.contains("no command `-----BEGIN`; `help` lists them"), "{answer}");
    });
}

#[test]
fn the_log_keeps_what_happened() {
    Setup::new().reach(Reach::Fails(hub_core::DialError::Refused)).story(async |world| {
        let mut ann = world.console();
        sleep(Duration::from_secs(20)).await;
        let log = ann.types("log").await;
        assert!(log.contains("warning: broker in-memory: nothing listens there; check the port"), "{log}");
        assert!(log.contains("error: The controller") || log.contains("controller"), "{log}");
        ann.sees("status", "broker      nothing listens there").await;
        ann.sees("status", "controller  degraded").await;
    });
}

#[test]
fn the_selftest_says_what_is_wrong_and_what_to_do() {
    let home = Home::default();
    Setup::new().home(&home).story(async |world| {
        let mut ann = world.console();
        let mut ben = world.person("ben").await;
        ben.sees_link("ready").await;
        ann.gets(
            "selftest",
            "flash       ok\nWi-Fi       ok\nbroker      ok\ncontroller  ok\ntime        ok",
        )
        .await;
        // It leaves nothing behind.
        assert!(!ann.types("show").await.contains("selftest"));
    });
    Setup::new().reach(Reach::Fails(hub_core::DialError::UnknownHost)).story(async |world| {
        let mut ann = world.console();
        sleep(Duration::from_secs(20)).await;
        let answer = ann.types("selftest").await;
        assert!(answer.contains("broker      failed: no such host; check the broker's name"), "{answer}");
        assert!(answer.contains("controller  failed: check the controller's power"), "{answer}");
    });
}

#[test]
fn a_factory_reset_wants_a_word_and_forgets_everything() {
    story(async |world| {
        let mut ann = world.console();
        let mut ben = world.person("ben").await;
        ann.types("set volume 30").await;
        ben.uses("set_feature_flag", json!({ "name": "lamp", "value": 7 })).await;
        ann.sees("factory-reset", "to do it: factory-reset confirm").await;
        ann.sees("factory-reset yes", "to do it: factory-reset confirm").await;
        ann.sees("show volume", "volume = 30").await;
        ann.gets("factory reset CONFIRM", "everything is forgotten\nthe hub restarts now").await;
        sleep(Duration::from_secs(3)).await;
        ann.sees("show volume", "volume = 50 (default)").await;
        let reply = ben.uses("get_feature_flag", json!({ "name": "lamp" })).await;
        assert_ne!(reply["result"]["value"], 7, "{reply}");
    });
}

#[test]
fn help_lists_every_command_and_nonsense_breaks_nothing() {
    story(async |world| {
        let mut ann = world.console();
        let help = ann.types("help").await;
        for row in hub_core::console::command::COMMANDS {
            assert!(
                help.lines().any(|line| line.starts_with(row.name) && line.ends_with(row.purpose)),
                "{help}"
            );
        }
        assert!(help.lines().all(|line| line.len() < 80), "{help}");
        ann.sends(&(0..=255).cycle().take(5000).collect::<Vec<u8>>()).await;
        ann.sends(b"\x03\x03").await;
        sleep(Duration::from_secs(2)).await;
        ann.reads("> ").await;
        ann.sends(b"\x03").await;
        ann.reads("> ").await;
        ann.gets("unset volume", "volume = 50 (default)").await;
        let most = hub_core::limits::CONSOLE_LINE;
        ann.sees(&"x".repeat(4000), &format!("that line is too long; at most {most} bytes are possible"))
            .await;
        ann.sends(b"caf\xe9").await;
        ann.sees("", "that line is not UTF-8").await;
    });
}
