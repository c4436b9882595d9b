//! A value and a schema, neither of them trusted: a clear verdict is that of the jsonschema crate, and any costs a bounded
//! time.
#![no_main]

use std::time::{Duration, Instant};

use hub_core::json::{Kind, Value};
use hub_core::schema::{Reason, Unknown, Verdict, judge, undescribed, unknown_keywords, write_markdown};
use libfuzzer_sys::fuzz_target;
use serde_json::Value as Json;

/// For one pair of a schema and a value. What is allowed takes some milliseconds; the rest is for a busy machine.
const PATIENCE: Duration = Duration::from_secs(1);

fuzz_target!(init: support::stack::guard(), |input: &[u8]| {
    let Some([schema_text, value_text]) = support::input::texts(input) else { return };
    let Ok(schema) = Value::parse(schema_text.as_bytes()) else { return };
    let started = Instant::now();
    describe(schema);
    if let Ok(value) = Value::parse(value_text.as_bytes()) {
        let ours = judge(schema, value, Unknown::Ignore);
        let strict = judge(schema, value, Unknown::Forbid);
        for invalid in [&ours, &strict].into_iter().filter_map(|verdict| verdict.as_ref().err()) {
            let words = invalid.to_string();
            assert!(!words.is_empty() && words.chars().count() < 512, "{words}");
        }
        assert!(ours.is_ok() || strict.is_err(), "what is refused stays refused when more is");
        assert!(started.elapsed() < PATIENCE);
        let clear = match &ours {
            Ok(verdict) => *verdict == Verdict::Valid,
            Err(invalid) => !matches!(invalid.reason, Reason::TooComplex),
        };
        if clear && is_common(schema) && has_plain_numbers(schema) && has_plain_numbers(value) {
            compare(schema_text, value_text, ours.is_ok());
        }
    }
});

fn describe(schema: Value<'_>) {
    let mut markdown = String::new();
    write_markdown(schema, &mut markdown).expect("a string takes everything");
    assert!(markdown.is_empty() || markdown.ends_with('\n'));
    assert!(markdown.lines().all(|line| line.trim_start().starts_with("- ")), "{markdown}");
    let unknown: Vec<_> = unknown_keywords(schema).map(|name| name.to_string()).collect();
    assert!((1..unknown.len()).all(|at| !unknown[..at].contains(&unknown[at])), "{unknown:?}");
    let parameters = undescribed(schema).count();
    assert!(parameters <= schema.text().len());
}

/// Whether both support every keyword of the schema, with the same meaning.
fn is_common(schema: Value<'_>) -> bool {
    // What starts with `$` can refer to other places, or to another version of the standard.
    !schema.text().contains(['$', '\\']) && unknown_keywords(schema).next().is_none()
}

/// Whether all numbers in it are short: with others, the oracle rounds.
fn has_plain_numbers(value: Value<'_>) -> bool {
    match value.kind() {
        Kind::Number => value.text().len() <= 9 && !value.text().contains(['e', 'E']),
        Kind::Array => value.items().all(has_plain_numbers),
        Kind::Object => value.members().all(|(_, value)| has_plain_numbers(value)),
        Kind::Null | Kind::Bool | Kind::String => true,
    }
}

fn compare(schema: &str, value: &str, valid: bool) {
    // The oracle does not read half a surrogate pair.
    let parse = |text| serde_json::from_str::<Json>(text);
    let (Ok(schema), Ok(value)) = (parse(schema), parse(value)) else { return };
    if let Ok(oracle) = jsonschema::draft202012::new(&schema) {
        assert_eq!(valid, oracle.is_valid(&value), "{value} against {schema}");
    }
}
