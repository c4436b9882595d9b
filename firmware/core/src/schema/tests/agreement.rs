//! Agreement with the crate `jsonschema` on what is valid.
//!
//! Schemas and values are built from bytes that proptest chooses and shrinks. Values are built to fit their schema
//! and then changed, because one that is chosen freely hardly ever gets past the first keyword. The oracle keeps
//! fractions as `f64`, so they have few digits here; what goes beyond is told in the stories.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use crate::json::Value;
use crate::schema::{Reason, Unknown, undescribed, unknown_keywords, validate, write_markdown};

/// Choices, from bytes. When they are used up, always the first one.
struct Choices<'a>(core::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, count: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % count
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// One time in `times`, and never once the bytes are used up.
    fn rarely(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }
}

const NAMES: [&str; 4] = ["a", "b", "é", "$ref"];
const TYPES: [&str; 7] = ["object", "array", "integer", "number", "string", "boolean", "null"];

fn number(choices: &mut Choices<'_>) -> Json {
    let number = choices.below(24) as i64 - 8;
    match choices.below(8) {
        0..4 => json!(number),
        4 => json!(number as f64),
        5 => json!(number as f64 / 4.0),
        6 => json!(number as f64 / 10.0),
        _ => json!(9_007_199_254_740_992 + number),
    }
}

fn text(choices: &mut Choices<'_>) -> Json {
    json!(choices.one(&["", "a", "ab", "é😀", "\n\"\\", "abc", "1", "a\u{0}"]))
}

fn scalar(choices: &mut Choices<'_>) -> Json {
    match choices.below(5) {
        0 => Json::Null,
        1 => json!(choices.rarely(2)),
        2 | 3 => number(choices),
        _ => text(choices),
    }
}

fn value(choices: &mut Choices<'_>, depth: usize) -> Json {
    match choices.below(if depth == 0 { 3 } else { 6 }) {
        0..3 => scalar(choices),
        3 => (0..choices.below(4)).map(|_| value(choices, depth - 1)).collect(),
        _ => Json::Object(
            (0..choices.below(4)).map(|_| (choices.one(&NAMES).into(), value(choices, depth - 1))).collect(),
        ),
    }
}

fn schema(choices: &mut Choices<'_>, depth: usize) -> Json {
    if choices.rarely(12) {
        return json!(choices.rarely(3));
    }
    let mut schema = Map::new();
    let kind = choices.one(&TYPES);
    if !choices.rarely(4) {
        let types =
            if choices.rarely(4) { json!([kind, choices.one(&TYPES.map(|name| name))]) } else { json!(kind) };
        // Types in a list must differ.
        schema.insert("type".into(), if types[0] == types[1] { json!(kind) } else { types });
    }
    let mut put = |name: &str, value: Json| schema.insert(name.into(), value);
    for _ in 0..choices.below(4) {
        match kind {
            _ if choices.rarely(8) => {
                let options: Vec<_> = (0..=choices.below(4)).map(|_| value(choices, 2)).collect();
                put("enum", options.into());
            }
            _ if choices.rarely(16) => drop(put("const", value(choices, 2))),
            _ if depth > 0 && choices.rarely(5) => {
                let name = choices.one(&["anyOf", "oneOf", "allOf", "not"]);
                let inner = if name == "not" {
                    self::schema(choices, depth - 1)
                } else {
                    (0..=choices.below(3)).map(|_| self::schema(choices, depth - 1)).collect()
                };
                put(name, inner);
            }
            "integer" | "number" => {
                let name = choices.one(&[
                    "minimum",
                    "maximum",
                    "exclusiveMinimum",
                    "exclusiveMaximum",
                    "multipleOf",
                ]);
                let bound = if name == "multipleOf" {
                    choices.one(&[json!(2), json!(0.5), json!(3), json!(0.1), json!(0.01), json!(7.0)])
                } else {
                    number(choices)
                };
                put(name, bound);
            }
            "string" => {
                let length = choices.below(4);
                let length = if choices.rarely(4) { json!(length as f64) } else { json!(length) };
                put(choices.one(&["minLength", "maxLength"]), length);
            }
            "array" => match choices.below(4) {
                0 if depth > 0 => drop(put("items", self::schema(choices, depth - 1))),
                0 | 1 => drop(put(choices.one(&["minItems", "maxItems"]), json!(choices.below(4)))),
                2 => drop(put("uniqueItems", json!(!choices.rarely(4)))),
                _ => drop(put("default", json!([1, 1]))),
            },
            "object" => match choices.below(4) {
                0 | 1 if depth > 0 => {
                    let names = (0..=choices.below(3)).map(|_| choices.one(&NAMES));
                    let names: Vec<_> = names.collect();
                    let properties =
                        names.into_iter().map(|name| (name.into(), self::schema(choices, depth - 1)));
                    put("properties", Json::Object(properties.collect()));
                }
                2 if depth > 0 => drop(put("additionalProperties", self::schema(choices, depth - 1))),
                _ => {
                    let start = choices.below(NAMES.len());
                    put("required", NAMES[start..(start + choices.below(3)).min(NAMES.len())].into());
                }
            },
            _ => drop(put("title", json!("nothing to check"))),
        }
    }
    Json::Object(schema)
}

/// A value that tries to fit.
fn instance(schema: &Json, choices: &mut Choices<'_>, depth: usize) -> Json {
    if let Some(options) = schema["enum"].as_array() {
        return choices.one(options);
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    for name in ["anyOf", "oneOf", "allOf"] {
        if let Some(schemas) = schema[name].as_array()
            && depth > 0
            && !choices.rarely(4)
        {
            return instance(&choices.one(schemas), choices, depth - 1);
        }
    }
    let kind = match &schema["type"] {
        Json::Array(types) => choices.one(types),
        kind => kind.clone(),
    };
    match kind.as_str() {
        Some("object") if depth > 0 => {
            let mut object = Map::new();
            for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                if !choices.rarely(4) {
                    object.insert(name.clone(), instance(schema, choices, depth - 1));
                }
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                let name = name.as_str().unwrap_or_default();
                if !object.contains_key(name) {
                    object.insert(name.into(), instance(&schema["additionalProperties"], choices, depth - 1));
                }
            }
            Json::Object(object)
        }
        Some("array") if depth > 0 => {
            let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
            (0..least.max(choices.below(4))).map(|_| instance(&schema["items"], choices, depth - 1)).collect()
        }
        Some("integer" | "number") => number(choices),
        Some("string") => text(choices),
        Some("boolean") => json!(choices.rarely(2)),
        Some("null") => Json::Null,
        _ => value(choices, depth.min(2)),
    }
}

/// Replaces something, somewhere inside.
fn mutate(document: &mut Json, choices: &mut Choices<'_>) {
    let inside = match document {
        Json::Array(items) if !items.is_empty() && !choices.rarely(4) => {
            let at = choices.below(items.len());
            items.get_mut(at)
        }
        Json::Object(members) if !members.is_empty() && !choices.rarely(4) => {
            let at = choices.below(members.len());
            if choices.rarely(4) {
                let name = members.keys().nth(at).cloned().unwrap();
                members.remove(&name);
                return;
            }
            members.values_mut().nth(at)
        }
        _ => None,
    };
    match inside {
        Some(inside) => mutate(inside, choices),
        None => *document = value(choices, 2),
    }
}

/// One of many ways to write the same.
fn spell(document: &Json, choices: &mut Choices<'_>) -> String {
    let space = choices.one(&["", "", "", " ", "\n\t"]);
    match document {
        Json::Number(number) => match number.as_i64() {
            Some(small @ -99..=99) if choices.rarely(4) => {
                choices.one(&[format!("{small}.0"), format!("{small}.0e0"), format!("{small}E+0")])
            }
            _ => number.to_string(),
        },
        Json::String(text) if choices.rarely(4) => {
            let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            format!("\"{units}\"")
        }
        Json::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| spell(item, choices)).collect();
            format!("[{space}{}{space}]", items.join(","))
        }
        Json::Object(members) => {
            let mut spelled = Vec::new();
            for (name, value) in members {
                let name = spell(&json!(name), choices);
                if choices.rarely(12) {
                    // It is overruled by the one that follows.
                    spelled.push(format!("{name}:{}", choices.one(&["null", "false", "{}", "1"])));
                }
                spelled.push(format!("{name}{space}:{space}{}", spell(value, choices)));
            }
            format!("{{{space}{}}}", spelled.join(","))
        }
        other => other.to_string(),
    }
}

/// Asks both, and returns our verdict if the oracle takes the schema.
fn compare(schema: &str, value: &str) -> Option<Result<(), String>> {
    let ours = validate(
        Value::parse(schema.as_bytes()).unwrap(),
        Value::parse(value.as_bytes()).unwrap(),
        Unknown::Ignore,
    );
    let parse = |text| serde_json::from_str::<Json>(text).unwrap();
    let oracle = jsonschema::draft202012::new(&parse(schema)).ok()?;
    if let Err(invalid) = &ours {
        assert!(!matches!(invalid.reason, Reason::TooComplex), "{value} against {schema}");
        assert!(!invalid.to_string().is_empty());
    }
    assert_eq!(ours.is_ok(), oracle.is_valid(&parse(value)), "{value} against {schema}: {ours:?}");
    Some(ours.map_err(|invalid| format!("{:?}", invalid.reason)))
}

fn pair(choices: &mut Choices<'_>) -> (String, String) {
    let schema = schema(choices, 3);
    let mut value = instance(&schema, choices, 4);
    if choices.rarely(2) {
        mutate(&mut value, choices);
    }
    (spell(&schema, choices), spell(&value, choices))
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..200)
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
        let mut schema = schema(&mut choices, 3);
        let value = instance(&schema, &mut choices, 4);
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
    let mut valid = 0;
    let mut reasons = std::collections::BTreeMap::<String, usize>::new();
    const PAIRS: usize = 3000;
    for _ in 0..PAIRS {
        let bytes: Vec<u8> = (0..200)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        let (schema, value) = pair(&mut Choices(bytes.iter()));
        match compare(&schema, &value).unwrap() {
            Ok(()) => valid += 1,
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
    // All but `TooComplex`, and two or four bounds for each of the three that have them.
    assert_eq!(reasons.len(), 14 - 3 + 4 + 2 + 2, "{reasons:?}");
}
