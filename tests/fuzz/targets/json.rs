//! The reader agrees with serde_json on grammar and values, and the writer reproduces what was read.
#![no_main]

use hub_core::json::{Kind, Reason, Text, Value, Writer};
use libfuzzer_sys::fuzz_target;
use serde_json::Value as Oracle;

fuzz_target!(init: support::stack::guard(), |input: &[u8]| {
    match (Value::parse(input), serde_json::from_slice::<Oracle>(input)) {
        (Ok(ours), Ok(theirs)) => {
            agree(ours, &theirs);
            write_again(ours, &theirs);
        }
        (Err(ours), Err(_)) => {
            assert!(ours.at <= input.len());
            assert!(!ours.to_string().is_empty());
        }
        // serde_json rejects numbers that are too large, although they are valid JSON.
        (Ok(_), Err(error)) if error.to_string().contains("out of range") => {}
        // Half a surrogate pair is read as U+FFFD, and written so.
        (Ok(ours), Err(error)) if error.to_string().contains("hex escape") => {
            let mut mended = vec![0; ours.text().len()];
            let mut writer = Writer::new(&mut mended);
            writer.value(ours);
            assert_eq!(writer.finish(), Ok(ours.text().len()));
            agree(ours, &serde_json::from_slice(&mended).expect("JSON for everybody"));
        }
        // Our maximum depth is lower.
        (Err(error), Ok(_)) if error.reason == Reason::TooDeep => {}
        (ours, theirs) => panic!("{ours:?} but {theirs:?}"),
    }
});

/// Both see the same value, all the way down.
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
            if let Some(integer) = ours.as_integer() {
                assert_eq!(number.as_f64().expect("a number"), integer as f64);
            }
        }
        Oracle::String(text) => agree_on_text(ours.as_text().expect("a string"), text),
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

/// Not inlined: it uses more stack than the recursion.
#[inline(never)]
fn agree_on_text(ours: Text<'_>, theirs: &str) {
    assert_eq!(ours.to_string(), *theirs);
    assert!(ours == *theirs);
    assert_eq!(ours.decode::<4096>().as_deref(), Some(theirs));
    assert!(ours.plain().is_none_or(|plain| plain == theirs));
    let excerpt = ours.excerpt::<16>();
    assert!(excerpt.len() <= 16 && excerpt.chars().count() <= theirs.chars().count());
}

/// What is written means the same, and fits exactly where it fits.
fn write_again(ours: Value<'_>, theirs: &Oracle) {
    let mut buffer = vec![0xAA; 8 * ours.text().len() + 16];
    let mut writer = Writer::new(&mut buffer);
    write(ours, &mut writer);
    let length = writer.finish().expect("room enough");
    let again: Oracle = serde_json::from_slice(&buffer[..length]).expect("JSON");
    assert_eq!(again, *theirs);

    let mut writer = Writer::new(&mut buffer[..length]);
    write(ours, &mut writer);
    assert_eq!(writer.finish(), Ok(length));
    for less in [length - 1, length / 2, 0] {
        let mut writer = Writer::new(&mut buffer[..less]);
        write(ours, &mut writer);
        assert!(writer.overflowed() && writer.room() == 0 && writer.finish().is_err());
    }
}

fn write(value: Value<'_>, writer: &mut Writer<'_>) {
    match value.kind() {
        Kind::Array => writer.array(|writer| value.items().for_each(|item| write(item, writer))),
        Kind::Object => writer.object(|writer| {
            for (at, (name, value)) in value.members().enumerate() {
                // In each of the available ways.
                match at % 3 {
                    0 => writer.key(&name.to_string()),
                    1 => writer.key_text(name),
                    _ => writer.key_chars(name.chars()),
                }
                write(value, writer);
            }
        }),
        Kind::String => {
            let text = value.as_text().expect("a string");
            writer.string(|out| text.chars().try_for_each(|character| out.write_char(character)));
        }
        Kind::Number | Kind::Bool | Kind::Null => match value.as_i64() {
            Some(integer) if value.text() != "-0" => writer.value(integer),
            _ => writer.value(value),
        },
    }
}
