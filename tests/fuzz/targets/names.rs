//! Arguments get other names, and nothing else: no value changes, none is lost.
#![no_main]

use std::collections::BTreeSet;

use hub_core::json::{Kind, Value, Writer};
use hub_core::limits::ARGUMENTS;
use hub_core::tool::normalise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: support::stack::guard(), |input: &[u8]| {
    let Some([tool, schema, arguments]) = support::input::texts(input) else { return };
    let Ok(schema) = Value::parse(schema.as_bytes()) else { return };
    let Ok(arguments) = Value::parse(arguments.as_bytes()) else { return };
    if arguments.kind() != Kind::Object {
        return;
    }
    // An escape can become a longer one, and that is all that grows, but for the names in the table.
    let mut buffer = vec![0; 6 * arguments.text().len() + 64];
    let mut writer = Writer::new(&mut buffer);
    let Ok(differs) = normalise(tool, schema, arguments, &mut writer) else {
        assert!(arguments.members().count() > ARGUMENTS);
        return;
    };
    let length = writer.finish().expect("room enough");
    let written = Value::parse(&buffer[..length]).expect("JSON");

    let texts = |object: Value<'_>| object.members().map(|(_, value)| value.text().to_owned()).collect::<Vec<_>>();
    assert_eq!(texts(written), texts(arguments));
    let names = |object: Value<'_>| object.members().map(|(name, _)| name.to_string()).collect::<Vec<_>>();
    let (before, after) = (names(arguments), names(written));
    assert_eq!(differs, before != after, "{before:?} {after:?}");
    let distinct = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len();
    assert_eq!(distinct(&before), distinct(&after), "two became one: {before:?} {after:?}");
});
