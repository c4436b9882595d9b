//! Agreement with serde_json, on what is JSON and on what it means.

mod condensed;
mod cut;

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;
use serde_json::Value as Oracle;

use super::{Kind, Reason, Value, Writer};
use crate::limits::JSON_DEPTH;

/// Checks that both see the same value, all the way down.
fn agree(ours: Value<'_>, theirs: &Oracle) {
    match theirs {
        Oracle::Null => assert_eq!(ours.kind(), Kind::Null),
        Oracle::Bool(yes) => {
            assert_eq!(ours.kind(), Kind::Bool);
            assert_eq!(ours.text(), yes.to_string());
        }
        Oracle::Number(number) => {
            assert_eq!(ours.kind(), Kind::Number);
            // serde_json takes minus zero for a fraction.
            assert!(ours.text() == "-0" || ours.as_i64() == number.as_i64());
        }
        Oracle::String(text) => {
            let ours = ours.as_text().expect("a string");
            assert_eq!(ours.to_string(), *text);
            assert!(ours == **text);
            assert_eq!(ours.decode::<4096>().as_deref(), Some(text.as_str()));
        }
        Oracle::Array(items) => {
            assert_eq!(ours.kind(), Kind::Array);
            assert_eq!(ours.items().count(), items.len());
            ours.items().zip(items).for_each(|(ours, theirs)| agree(ours, theirs));
        }
        Oracle::Object(members) => {
            assert_eq!(ours.kind(), Kind::Object);
            assert!(ours.members().all(|(name, _)| members.contains_key(&name.to_string())));
            for (name, theirs) in members {
                agree(ours.get(name).expect("the member"), theirs);
            }
        }
    }
}

fn check(bytes: &[u8]) {
    let theirs = serde_json::from_slice::<Oracle>(bytes);
    match (Value::parse(bytes), &theirs) {
        (Ok(ours), Ok(theirs)) => agree(ours, theirs),
        (Err(_), Err(_)) => {}
        // serde_json has no number that large, which is no matter of grammar.
        (Ok(_), Err(error)) if error.to_string().contains("out of range") => {}
        // We nest less deeply than it does.
        (Err(error), Ok(_)) if error.reason == Reason::TooDeep => {}
        (Ok(ours), Err(error)) => {
            let mended = passed_through(ours);
            assert_ne!(mended, ours.text().as_bytes(), "only we read {:?}: {error}", ours.text());
            agree(ours, &serde_json::from_slice(&mended).expect("what we write is JSON to others"));
        }
        (ours, theirs) => panic!("{:?}: {ours:?} but {theirs:?}", String::from_utf8_lossy(bytes)),
    }
}

/// The value as it passes through a reply.
fn passed_through(value: Value<'_>) -> Vec<u8> {
    let mut buffer = std::vec![0; value.text().len()];
    let mut writer = Writer::new(&mut buffer);
    writer.value(value);
    assert_eq!(writer.finish(), Ok(value.text().len()));
    buffer
}

/// Halves of surrogate pairs, whole ones, and what looks like them.
#[test]
fn halves_of_characters_are_read_as_replacement_characters() {
    let units = ["\\ud83d", "\\uDe00", "\\ue000", "\\\\", "u", "x", "\\ufffd", "\\udbFF\\uDFFF"];
    for index in 0..units.len().pow(4) {
        let text: String = (0..4).map(|place| units[index / units.len().pow(place) % units.len()]).collect();
        check(format!("{{\"{text}\":[\"{text}\"]}}").as_bytes());
    }
    let half = Value::parse(b"\"a\\ud83d b\"").unwrap();
    assert_eq!(half.as_text().unwrap().to_string(), "a\u{fffd} b");
}

fn any_json() -> impl Strategy<Value = Oracle> {
    let leaf = prop_oneof![
        Just(Oracle::Null),
        any::<bool>().prop_map(Oracle::from),
        any::<i64>().prop_map(Oracle::from),
        any::<f64>().prop_map(Oracle::from),
        any::<String>().prop_map(Oracle::from),
    ];
    leaf.prop_recursive(6, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Oracle::from),
            proptest::collection::hash_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Oracle::Object(members.into_iter().collect())),
        ]
    })
}

/// Text that is nearly JSON: its tokens in any order.
fn tokens() -> impl Strategy<Value = Vec<u8>> {
    let token = prop::sample::select(
        &[
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            " ",
            "\n",
            "true",
            "nul",
            "null",
            "-",
            "0",
            "01",
            "1.5",
            "1.",
            "1e5",
            "1e",
            "-0.0E-7",
            "\"a\"",
            "\"\\u00e9\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud83d\"",
            "\"\\udc00\"",
            "\"\\x\"",
            "\"\t\"",
            "\"\\",
            "\"é\"",
            "\u{feff}",
        ][..],
    );
    proptest::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_documents_mean_the_same(document in any_json(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) };
        check(text.unwrap().as_bytes());
    }

    #[test]
    fn mutated_documents_are_judged_the_same(document in any_json(), at: prop::sample::Index, byte: u8, cut: bool) {
        let mut text = serde_json::to_vec(&document).unwrap();
        let at = at.index(text.len());
        text[at] = byte;
        if cut {
            text.truncate(at);
        }
        check(&text);
    }

    #[test]
    fn any_order_of_tokens_is_judged_the_same(text in tokens()) {
        check(&text);
    }

    #[test]
    fn any_bytes_are_judged_the_same(bytes: Vec<u8>) {
        check(&bytes);
    }

    #[test]
    fn what_is_written_reads_back(document in any_json(), room in 0usize..4096) {
        let expected = serde_json::to_string(&document).unwrap();
        let mut buffer = std::vec![0xAAu8; room];
        let mut writer = Writer::new(&mut buffer);
        write(&mut writer, &document);
        match writer.finish() {
            Ok(length) => {
                let read: Oracle = serde_json::from_slice(&buffer[..length]).unwrap();
                prop_assert_eq!(&read, &serde_json::from_str::<Oracle>(&expected).unwrap());
            }
            Err(_) => prop_assert!(room < 6 * expected.len()),
        }
    }

    #[test]
    fn a_written_fraction_reads_back_bit_by_bit(bits: u64, near in -1e9..1e9f64) {
        for number in [f64::from_bits(bits), near, near.trunc(), near / 1e12] {
            let text = written(number);
            let value = Value::parse(text.as_bytes()).unwrap();
            if !number.is_finite() {
                prop_assert_eq!(value.kind(), Kind::Null);
                continue;
            }
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), number.to_bits(), "{}", text);
            // It reads fast rather than to the last bit.
            prop_assert!(serde_json::from_str::<f64>(&text).is_ok(), "{}", text);
            // Rust prints as few digits, but not those of JavaScript where two are equally near.
            let digits = |text: &str| {
                let mantissa = text.split('e').next().unwrap_or_default().replace(['-', '.'], "");
                mantissa.trim_matches('0').len()
            };
            prop_assert_eq!(digits(&text), digits(&std::format!("{number:e}")), "{}", text);
            prop_assert_eq!(text.contains(['.', 'e']), number.fract() != 0.0 || number.abs() >= 1e21, "{}", text);
        }
    }
}

fn written(number: f64) -> String {
    let mut buffer = [0; 32];
    let mut writer = Writer::new(&mut buffer);
    writer.value(number);
    let length = writer.finish().unwrap();
    String::from_utf8(buffer[..length].to_vec()).unwrap()
}

#[test]
fn fractions_look_as_in_javascript() {
    for (number, text) in [
        (0.0, "0"),
        // JavaScript drops this sign; with it, the same number reads back.
        (-0.0, "-0"),
        (4.0, "4"),
        (-1.5, "-1.5"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1.0 / 3.0, "0.3333333333333333"),
        (100.0, "100"),
        (1234.5678, "1234.5678"),
        (9007199254740991.0, "9007199254740991"),
        (9007199254740992.0, "9007199254740992"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e21, "1.5e+21"),
        (-1e100, "-1e+100"),
        (0.000001, "0.000001"),
        (0.00000123, "0.00000123"),
        (1e-7, "1e-7"),
        (1.23e-7, "1.23e-7"),
        (f64::MAX, "1.7976931348623157e+308"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        (5e-324, "5e-324"),
        (f64::EPSILON, "2.220446049250313e-16"),
        (5e15, "5000000000000000"),
        // Halfway between two decimals: the even one.
        (f64::from_bits(0xC313_B98B_492C_1DF1), "-1388008109180796.2"),
        (2f64.powi(70), "1.1805916207174113e+21"),
        (f64::NAN, "null"),
        (f64::INFINITY, "null"),
        (f64::NEG_INFINITY, "null"),
    ] {
        assert_eq!(written(number), text);
    }
}

fn write(writer: &mut Writer<'_>, value: &Oracle) {
    match value {
        Oracle::String(text) => writer.value(text.as_str()),
        Oracle::Bool(yes) => writer.value(*yes),
        Oracle::Number(number) if number.is_i64() => writer.value(number.as_i64().unwrap()),
        Oracle::Null | Oracle::Number(_) => {
            writer.value(Value::parse(value.to_string().as_bytes()).unwrap());
        }
        Oracle::Array(items) => writer.array(|writer| items.iter().for_each(|item| write(writer, item))),
        Oracle::Object(members) => writer.object(|writer| {
            for (name, value) in members {
                writer.key(name);
                write(writer, value);
            }
        }),
    }
}

#[test]
fn of_a_repeated_name_the_last_counts() {
    let value = Value::parse(br#"{"a":1,"b":2,"\u0061":3}"#).unwrap();
    assert_eq!(value.get("a").and_then(|a| a.as_i64()), Some(3));
    assert_eq!(value.members().count(), 3);
}

#[test]
fn nesting_is_bounded_exactly() {
    let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
    assert!(Value::parse(nested(JSON_DEPTH).as_bytes()).is_ok());
    let error = Value::parse(nested(JSON_DEPTH + 1).as_bytes()).unwrap_err();
    assert_eq!((error.at, error.reason), (JSON_DEPTH, Reason::TooDeep));
    assert!(Value::parse("{\"a\":[".repeat(100_000).as_bytes()).is_err());
}

#[test]
fn errors_say_where_and_what() {
    let error = |text: &[u8]| Value::parse(text).unwrap_err().to_string();
    assert_eq!(error(b""), "not valid JSON: ends too early, at byte 0");
    assert_eq!(error(b"{\"a\" 1}"), "not valid JSON: expected ':' at byte 5");
    assert_eq!(error(b"[1,]"), "not valid JSON: expected a value at byte 3");
    assert_eq!(error(b"{} x"), "not valid JSON: expected nothing more at byte 3");
    assert_eq!(error(b"\"a\xff\""), "not UTF-8 at byte 2");
}

#[test]
fn going_back_forgets_an_overflow_too() {
    let mut buffer = [0; 24];
    let mut writer = Writer::new(&mut buffer);
    writer.object(|writer| {
        writer.field("a", 1u32);
        let mark = writer.mark();
        writer.field("b", "much too long for what is left");
        assert!(writer.overflowed());
        writer.rewind(mark);
        writer.field("c", false);
    });
    let length = writer.finish().unwrap();
    assert_eq!(&buffer[..length], br#"{"a":1,"c":false}"#);
}

#[test]
fn integers_are_read_exactly_however_they_are_written() {
    let read = |text: &str| Value::parse(text.as_bytes()).unwrap().as_integer();
    for (text, expected) in [
        ("0", Some(0)),
        ("-0.000e99", Some(0)),
        ("1.0", Some(1)),
        ("1e2", Some(100)),
        ("-12.50e1", Some(-125)),
        ("1000e-3", Some(1)),
        ("100200.0", Some(100_200)),
        ("9223372036854775807", Some(i64::MAX)),
        ("-9223372036854775808.0", Some(i64::MIN)),
        ("9223372036854775808", None),
        ("1.00000000000000000001", None),
        ("0.5", None),
        ("1e19", None),
        ("1e99999999999999999999", None),
        ("1e-99999999999999999999", None),
        ("\"1\"", None),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn an_integer_survives_every_way_to_write_it(value: i64, shift in 0usize..25, zeros in 0usize..5) {
        let digits = format!("{:0>26}", value.unsigned_abs());
        let (whole, fraction) = digits.split_at(digits.len() - shift);
        let sign = if value < 0 { "-" } else { "" };
        let whole = match whole.trim_start_matches('0') { "" => "0", digits => digits };
        let point = if shift > 0 || zeros > 0 { "." } else { "" };
        let text = format!("{sign}{whole}{point}{fraction}{}e{shift}", "0".repeat(zeros));
        prop_assert_eq!(Value::parse(text.as_bytes()).unwrap().as_integer(), Some(value), "{}", text);
    }
}
