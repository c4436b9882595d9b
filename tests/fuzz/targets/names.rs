//! Renaming arguments changes names only: no value changes, none is lost.
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
    // Only escapes can become longer, and the names in the table.
    let mut buffer = vec![0; 6 * arguments.text().len() + 64];
    let mut writer = Writer::new(&mut buffer);
    let Ok(differs) = normalise(tool, schema, arguments, None, &mut writer) else {
        assert!(arguments.members().count() > ARGUMENTS);
        return;
    };
    let length = writer.finish().expect("room enough");
    let written = Value::parse(&buffer[..length]).expect("JSON");

    // Of duplicate names the last counts.
    let all: Vec<_> = arguments.members().map(|(name, value)| (name.to_string(), value.text().to_owned())).collect();
    let is_last = |place: usize| all[place + 1..].iter().all(|(later, _)| *later != all[place].0);
    let (before, values): (Vec<_>, Vec<_>) =
        all.iter().enumerate().filter(|(place, _)| is_last(*place)).map(|(_, member)| member.clone()).unzip();
    let kept: Vec<_> = written.members().map(|(_, value)| value.text().to_owned()).collect();
    assert_eq!(kept, values);
    let after: Vec<_> = written.members().map(|(name, _)| name.to_string()).collect();
    assert_eq!(differs, before != after, "{before:?} {after:?}");
    assert_eq!(after.iter().collect::<BTreeSet<_>>().len(), before.len(), "two became one: {before:?} {after:?}");
});
