//! Agreement with the crate `jsonschema` on what is valid: what we refuse is invalid, and what we do not refuse is valid,
//! unless the schema has something that is not checked.
//!
//! The oracle keeps fractions as `f64`, so they have few digits here; what goes beyond is told in the stories.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;
use serde_json::Value as Json;

use super::generate::{Choices, document, instance, mutate, spell};
use crate::{Reason, Unknown, Verdict, judge, undescribed, unknown_keywords, validate, write_markdown};
use hub_json::Value;

/// Asks both, and returns our verdict if the oracle takes the schema.
pub(super) fn compare(schema: &str, value: &str) -> Option<Result<Verdict, String>> {
    let ours = judge(
        Value::parse(schema.as_bytes()).unwrap(),
        Value::parse(value.as_bytes()).unwrap(),
        Unknown::Ignore,
    );
    let parse = |text| serde_json::from_str::<Json>(text).unwrap();
    let oracle = jsonschema::validator_for(&parse(schema)).ok()?;
    let theirs = oracle.is_valid(&parse(value));
    match &ours {
        Ok(Verdict::Valid) => assert!(theirs, "{value} is not valid by {schema}"),
        Ok(Verdict::Unclear) => assert!(has_unclear(schema), "{value} is unclear by {schema}"),
        Err(invalid) => {
            assert!(!matches!(invalid.reason, Reason::TooComplex), "{value} by {schema}");
            assert!(!invalid.to_string().is_empty());
            assert!(!theirs, "{value} is valid by {schema}, not: {invalid}");
        }
    }
    Some(ours.map_err(|invalid| format!("{:?}", invalid.reason)))
}

/// Whether there is something in it that is documented as not checked, always or in some cases.
fn has_unclear(schema: &str) -> bool {
    let unknown = unknown_keywords(Value::parse(schema.as_bytes()).unwrap()).next().is_some();
    // A pattern is unclear for some characters, a reference if it leads too far.
    let plain = serde_json::from_str::<Json>(schema).unwrap().to_string();
    unknown || ["\"format\"", "\"pattern", "\"$ref\""].iter().any(|word| plain.contains(word))
}

fn pair(choices: &mut Choices<'_>) -> (String, String) {
    let schema = document(choices, 3);
    let mut value = instance(&schema, &schema, choices, 6);
    if choices.rarely(2) {
        mutate(&mut value, choices);
    }
    (spell(&schema, choices), spell(&value, choices))
}

pub(super) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_valid_is_agreed_on(bytes in bytes()) {
        let (schema, value) = pair(&mut Choices(bytes.iter()));
        prop_assert!(compare(&schema, &value).is_some(), "no schema: {}", schema);
    }

    #[test]
    fn what_is_valid_by_a_changed_schema_is_agreed_on(bytes in bytes(), more in bytes()) {
        let mut choices = Choices(bytes.iter());
        let mut schema = document(&mut choices, 3);
        let value = instance(&schema, &schema, &mut choices, 6);
        let mut choices = Choices(more.iter());
        mutate(&mut schema, &mut choices);
        compare(&spell(&schema, &mut choices), &spell(&value, &mut choices));
    }

    /// Whatever still parses after a byte was changed is at least judged.
    #[test]
    fn no_schema_is_too_strange(bytes in bytes(), at: prop::sample::Index, byte: u8, strict: bool) {
        let (schema, value) = pair(&mut Choices(bytes.iter()));
        let mut schema = schema.into_bytes();
        let at = at.index(schema.len());
        schema[at] = byte;
        if let Ok(schema) = Value::parse(&schema) {
            let unknown = if strict { Unknown::Forbid } else { Unknown::Ignore };
            if let Err(invalid) = validate(schema, Value::parse(value.as_bytes()).unwrap(), unknown) {
                prop_assert!(!invalid.to_string().is_empty());
            }
            let mut out = String::new();
            prop_assert!(write_markdown(schema, &mut out).is_ok());
            let _ = unknown_keywords(schema).count() + undescribed(schema).count();
        }
    }
}

/// The properties above prove little if all values are valid, or all fail at the same keyword.
#[test]
fn generated_pairs_reach_every_keyword() {
    let mut state = 1u64;
    let (mut valid, mut unclear) = (0, 0);
    let mut reasons = std::collections::BTreeMap::<String, usize>::new();
    const PAIRS: usize = 6000;
    for _ in 0..PAIRS {
        let bytes: Vec<u8> = (0..300)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        let (schema, value) = pair(&mut Choices(bytes.iter()));
        match compare(&schema, &value).unwrap() {
            Ok(Verdict::Valid) => valid += 1,
            Ok(Verdict::Unclear) => unclear += 1,
            Err(reason) => {
                let words = reason.split([' ', '(', ',']).filter(|word| !word.is_empty());
                let limited =
                    reason.contains("AtLeast") || reason.contains("AtMost") || reason.contains("Than");
                let name: Vec<_> = words.take(if limited { 2 } else { 1 }).collect();
                *reasons.entry(name.join(" ")).or_default() += 1;
            }
        }
    }
    assert!((PAIRS / 4..PAIRS * 3 / 4).contains(&valid), "{valid} valid, {reasons:?}");
    assert!((PAIRS / 100..PAIRS / 6).contains(&unclear), "{unclear} unclear");
    // All but `TooComplex` and `NoTag`, and two or four bounds for each of the five that have them.
    assert_eq!(reasons.len(), 19 - 5 + 4 + 2 + 2 + 2 + 2, "{reasons:?}");
}
