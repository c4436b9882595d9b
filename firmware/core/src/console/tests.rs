//! Lines as people type and paste them, and what they mean.

use std::boxed::Box;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;

use super::command::{COMMANDS, Command, Meaning, assignment, parse};
use super::line_reader::{ConsoleEvent, LineReader};
use super::screen::Screen;
use crate::limits;

/// What comes of these bytes: events with their lines, and the echo.
fn typed(bytes: &[u8]) -> (Vec<(ConsoleEvent, String)>, String) {
    let (mut input, mut echo) = (Box::new(LineReader::new()), Vec::new());
    let mut events = Vec::new();
    for byte in bytes {
        let mut screen = Screen::new();
        let event = input.push(*byte, &mut screen);
        echo.extend_from_slice(screen.bytes());
        events.extend(event.map(|event| {
            (event, if event == ConsoleEvent::Line { input.line().to_string() } else { String::new() })
        }));
    }
    (events, String::from_utf8_lossy(&echo).into_owned())
}

fn lines(bytes: &[u8]) -> Vec<String> {
    let (events, _) = typed(bytes);
    events.into_iter().filter(|(event, _)| *event == ConsoleEvent::Line).map(|(_, line)| line).collect()
}

#[test]
fn lines_end_in_every_way() {
    assert_eq!(lines(b"one\rtwo\nthree\r\nfour\n\rfive\r"), ["one", "two", "three", "four", "", "five"]);
    assert_eq!(lines(b"\r\n\r\n"), ["", ""]);
}

#[test]
fn mistakes_are_corrected_as_they_are_typed() {
    for (keys, line, echo) in [
        (&b"shwo\x08\x08ow\r"[..], "show", "shwo\x08 \x08\x08 \x08ow\r\n"),
        (b"\x7f\x7fa\x7fb\r", "b", "a\x08 \x08b\r\n"),
        ("ü\x7fu\r".as_bytes(), "u", "ü\x08 \x08u\r\n"),
        (b"a\tb\r", "a b", "a b\r\n"),
        // Keys that are no characters: arrows, home, function keys, Alt.
        (b"a\x1b[Ab\x1b[1;5Cc\x1bOPd\x1b[3~e\x1bxf\r", "abcdef", "abcdef\r\n"),
        (b"a\x00\x01\x07b\r", "ab", "ab\r\n"),
        (b"a\x1b\r", "a", "a\r\n"),
        (b"IMPROVe\r", "IMPROVe", "IMPROVe\r\n"),
        (b"IIMP\rI", "IIMP", "IIMP\r\n"),
        (b"I\x08x\r", "x", "I\x08 \x08x\r\n"),
    ] {
        assert_eq!(typed(keys), ([(ConsoleEvent::Line, line.to_string())].into(), echo.to_string()));
    }
    let (events, echo) = typed(b"set x\x03show\x15status\r");
    let events: Vec<_> = events.iter().map(|(event, line)| (*event, line.as_str())).collect();
    assert_eq!(
        events,
        [(ConsoleEvent::Cancelled, ""), (ConsoleEvent::Cancelled, ""), (ConsoleEvent::Line, "status")]
    );
    assert_eq!(echo, "set x^C\r\nshow^U\r\nstatus\r\n");
}

#[test]
fn what_is_too_long_or_no_text_is_reported_and_the_next_line_is_whole() {
    let long = "x".repeat(limits::CONSOLE_LINE + 1);
    for (line, event) in [(long.as_bytes(), ConsoleEvent::TooLong), (b"caf\xe9", ConsoleEvent::NotText)] {
        let (events, _) = typed(&[line, b"\rhelp\r"].concat());
        assert_eq!(events, [(event, String::new()), (ConsoleEvent::Line, "help".to_string())]);
    }
    let longest = "x".repeat(limits::CONSOLE_LINE);
    assert_eq!(lines(format!("{longest}\r").as_bytes()), [longest]);
}

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

#[test]
fn a_pasted_certificate_is_one_line() {
    for end in ["\n", "\r", "\r\n"] {
        let paste = format!("set broker.ca {BEGIN}{end}MIIB{end}AAAA{end}{END}{end}show{end}");
        let expected = [format!("set broker.ca {BEGIN}\nMIIB\nAAAA\n{END}"), "show".to_string()];
        assert_eq!(lines(paste.as_bytes()), expected);
    }
    // Given up in the middle.
    assert_eq!(lines(format!("{BEGIN}\nMIIB\n\x03help\n").as_bytes()), ["help"]);
    // Too long: one report, and none for each of its lines.
    let body = format!("{}\n", "A".repeat(64)).repeat(100);
    let (events, _) = typed(format!("{BEGIN}\n{body}{END}\nhelp\n").as_bytes());
    assert_eq!(events, [(ConsoleEvent::TooLong, String::new()), (ConsoleEvent::Line, "help".to_string())]);
    let (events, _) = typed(format!("{BEGIN}\n{body}\nhelp\n").as_bytes());
    assert_eq!(events, [(ConsoleEvent::TooLong, String::new()), (ConsoleEvent::Line, "help".to_string())]);
}

/// The largest certificate fits, as others write it.
#[test]
fn the_largest_certificate_fits() {
    let base64 = 2048usize.div_ceil(3) * 4;
    let lines = base64.div_ceil(64);
    assert!("set broker.ca ".len() + BEGIN.len() + END.len() + base64 + lines + 4 <= limits::CONSOLE_LINE);
}

#[test]
fn every_command_is_understood_however_it_is_written() {
    for row in COMMANDS {
        for name in [row.name.to_string(), row.name.to_uppercase(), format!("  {}  ", row.name)] {
            assert!(matches!(parse(&name), Meaning::Command(_, "")), "{name}");
        }
    }
    for (line, command, rest) in [
        ("wifi scan", Command::Scan, ""),
        ("wifi-scan", Command::Scan, ""),
        ("WiFi_Scan", Command::Scan, ""),
        ("wifi   scan", Command::Scan, ""),
        ("scan", Command::Scan, ""),
        ("?", Command::Help, ""),
        ("show volume", Command::Show, "volume"),
        ("Set volume 30", Command::Set, "volume 30"),
        ("factory reset confirm", Command::FactoryReset, "confirm"),
        ("factory-reset", Command::FactoryReset, ""),
        ("reboot", Command::Restart, ""),
        // A key is enough.
        ("volume", Command::Show, "volume"),
        ("volume=30", Command::Set, "volume=30"),
        ("VOLUME 30", Command::Set, "VOLUME 30"),
    ] {
        assert_eq!(parse(line), Meaning::Command(command, rest), "{line}");
    }
    assert_eq!(parse(" \t "), Meaning::Blank);
    for (line, nearest) in [
        ("hlep", Some("help")),
        ("staus", Some("status")),
        ("wifi", Some("wifi scan")),
        ("wifi scna", Some("wifi scan")),
        ("factory", Some("factory-reset")),
        ("sett volume 3", Some("set")),
        ("self test", Some("selftest")),
        ("settings", None),
        ("xyzzy", None),
    ] {
        let Meaning::Unknown(_, found) = parse(line) else { panic!("{line}") };
        assert_eq!(found, nearest, "{line}");
    }
}

#[test]
fn values_are_taken_as_people_write_them() {
    for (text, key, value) in [
        ("wifi.ssid Home", "wifi.ssid", Some("Home")),
        ("wifi.ssid=Home", "wifi.ssid", Some("Home")),
        ("wifi.ssid = Home", "wifi.ssid", Some("Home")),
        ("wifi.ssid   My Home ", "wifi.ssid", Some("My Home")),
        ("wifi.ssid \" My Home \"", "wifi.ssid", Some(" My Home ")),
        ("wifi.ssid 'Home'", "wifi.ssid", Some("Home")),
        ("wifi.ssid \"\"", "wifi.ssid", Some("")),
        ("wifi.ssid =", "wifi.ssid", Some("")),
        ("wifi.password a=b c'd\"", "wifi.password", Some("a=b c'd\"")),
        ("wifi.password \"", "wifi.password", Some("\"")),
        ("wifi.password ==x", "wifi.password", Some("=x")),
        ("'wifi.ssid' Home", "wifi.ssid", Some("Home")),
        ("wifi.ssid", "wifi.ssid", None),
        ("", "", None),
    ] {
        assert_eq!(assignment(text), (key, value), "{text}");
    }
}

proptest! {
    /// Whatever arrives, each byte is taken, and what follows Ctrl-C is understood.
    #[test]
    fn hostile_bytes_leave_the_console_usable(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let (mut input, mut echo) = (Box::new(LineReader::new()), Screen::new());
        for byte in &bytes {
            echo.clear();
            if input.push(*byte, &mut echo) == Some(ConsoleEvent::Line) {
                let _ = parse(input.line());
                let _ = assignment(input.line());
            }
        }
        input.give_up();
        let mut last = None;
        for byte in b"\x03x\x03help\r" {
            echo.clear();
            last = input.push(*byte, &mut echo);
        }
        prop_assert_eq!((last, input.line()), (Some(ConsoleEvent::Line), "help"));
    }

    /// A line is what an editor of the simplest kind makes of the keys.
    #[test]
    fn a_line_is_what_was_typed(keys in prop::collection::vec("[a-zIü€ \u{8}]", 0..80)) {
        let mut expected = String::new();
        for key in &keys {
            match key.as_str() {
                "\u{8}" => _ = expected.pop(),
                _ => expected.push_str(key),
            }
        }
        prop_assert_eq!(lines(format!("{}\r", keys.concat()).as_bytes()), [expected]);
    }

    #[test]
    fn quoted_values_keep_every_space(value in "[ -~]{0,40}") {
        let line = format!("wifi.ssid \"{value}\"");
        prop_assert_eq!(assignment(&line), ("wifi.ssid", Some(value.as_str())));
    }
}
