//! Schemas as people's SDKs write them.
//!
//! The files in `sdk/` were written by pydantic 2.14, zod 4 (for 2020-12 and draft 7) and zod-to-json-schema with zod 3.

use std::format;
use std::string::ToString;
use std::vec::Vec;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use serde_json::{Map, Value as Json, json};

use super::agreement::{bytes, compare};
use super::generate::{Choices, instance, mutate, schema as any_schema, spell};
use super::{expect, json, verdict};
use crate::{Unknown, unknown_keywords, write_markdown};

const WRITTEN: [(&str, &str); 9] = [
    ("pydantic-plan", include_str!("sdk/pydantic-plan.json")),
    ("pydantic-tree", include_str!("sdk/pydantic-tree.json")),
    ("pydantic-shape", include_str!("sdk/pydantic-shape.json")),
    ("pydantic-adapter", include_str!("sdk/pydantic-adapter.json")),
    ("zod-plan", include_str!("sdk/zod-plan.json")),
    ("zod-plan-7", include_str!("sdk/zod-plan-7.json")),
    ("zod-category", include_str!("sdk/zod-category.json")),
    ("zod3-plan", include_str!("sdk/zod3-plan.json")),
    ("zod3-category", include_str!("sdk/zod3-category.json")),
];

/// A schema of the shapes that pydantic and zod write: classes under one name, which refer to each other.
fn module(choices: &mut Choices<'_>) -> Json {
    let old = choices.rarely(3);
    let place = if old { "definitions" } else { "$defs" };
    let mut classes = Map::new();
    for name in ["Cat", "Dog", "Owner"] {
        let mut class = class(choices, place, old);
        if name != "Owner" && choices.rarely(2) {
            class["properties"]["kind"] = json!({ "const": name, "type": "string", "title": "Kind" });
            class["required"].as_array_mut().unwrap().push(json!("kind"));
        }
        classes.insert(name.into(), class);
    }
    classes.insert("Mode".into(), json!({ "enum": ["heat", "cool"], "title": "Mode", "type": "string" }));
    let mut module = class(choices, place, old);
    module[place] = Json::Object(classes);
    if old {
        module["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    }
    module
}

fn class(choices: &mut Choices<'_>, place: &str, old: bool) -> Json {
    let names = ["a", "b", "c", "d"];
    let count = 1 + choices.below(names.len());
    let properties: Map<_, _> =
        names[..count].iter().map(|name| (name.to_string(), field(choices, place, old, 2))).collect();
    let required = names[..choices.below(count + 1)].to_vec();
    let mut class =
        json!({ "type": "object", "title": "Class", "properties": properties, "required": required });
    if choices.rarely(3) {
        class["additionalProperties"] = json!(false);
    }
    class
}

fn field(choices: &mut Choices<'_>, place: &str, old: bool, depth: usize) -> Json {
    let to = |class: &str| json!({ "$ref": format!("#/{place}/{class}") });
    let inner = |choices: &mut Choices<'_>| match depth {
        0 => json!({ "type": "integer" }),
        _ => field(choices, place, old, depth - 1),
    };
    match choices.below(12) {
        0 => {
            json!({ "type": "string", "minLength": 1, "pattern": choices.one(&["^[a-z]+$", r"^\d", "^(?!x)"]) })
        }
        1 => json!({ "type": "integer", "minimum": 0, "exclusiveMaximum": 10 }),
        2 => json!({ "anyOf": [inner(choices), { "type": "null" }], "default": null }),
        3 => to(choices.one(&["Cat", "Dog", "Owner", "Mode"])),
        4 => json!({ "type": "array", "items": inner(choices), "minItems": choices.below(2) }),
        5 => json!({
            "oneOf": [to("Cat"), to("Dog")],
            "discriminator": { "propertyName": "kind", "mapping": { "Cat": "#/$defs/Cat" } }
        }),
        6 => json!({ "type": "object", "additionalProperties": inner(choices),
            "propertyNames": { "pattern": "^[a-z]+$" }, "minProperties": choices.below(2) }),
        7 if old => {
            json!({ "type": "array", "items": [inner(choices), inner(choices)], "additionalItems": false })
        }
        7 => {
            json!({ "type": "array", "prefixItems": [inner(choices), inner(choices)], "minItems": 2, "items": false })
        }
        8 => json!({ "anyOf": [{ "const": "auto", "type": "string" }, inner(choices), to("Owner")] }),
        9 => json!({ "type": "string", "format": "date-time" }),
        10 => json!({ "not": inner(choices) }),
        _ => any_schema(choices, 0, 0),
    }
}

fn pair(schema: &Json, choices: &mut Choices<'_>) -> (std::string::String, std::string::String) {
    let mut value = instance(schema, schema, choices, 12);
    for _ in 0..choices.below(3) {
        mutate(&mut value, choices);
    }
    (spell(schema, choices), spell(&value, choices))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_valid_call_is_never_refused_by_a_schema_of_their_shapes(shape in bytes(), call in bytes()) {
        let schema = module(&mut Choices(shape.iter()));
        // Ours applies this keyword in every draft, the oracle only since it was introduced.
        let plain = schema.to_string();
        if plain.contains("draft-07") && plain.contains("dependentRequired") {
            return Ok(());
        }
        let (schema, value) = pair(&schema, &mut Choices(call.iter()));
        prop_assert!(compare(&schema, &value).is_some(), "no schema: {}", schema);
    }

    #[test]
    fn a_valid_call_is_never_refused_by_a_schema_that_they_wrote(call in bytes()) {
        for (name, text) in WRITTEN {
            let schema: Json = serde_json::from_str(text).unwrap();
            let (_, value) = pair(&schema, &mut Choices(call.iter()));
            prop_assert!(compare(text, &value).is_some(), "no schema: {}", name);
        }
    }
}

/// The properties above prove little if hardly any value is valid, or all are unclear.
#[test]
fn generated_calls_are_valid_and_invalid() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for (name, text) in WRITTEN {
        let schema: Json = serde_json::from_str(text).unwrap();
        let (mut accepted, mut refused) = (0, 0);
        for _ in 0..100 {
            let call = bytes().new_tree(&mut runner).unwrap().current();
            let (_, value) = pair(&schema, &mut Choices(call.iter()));
            match compare(text, &value).unwrap() {
                Ok(_) => accepted += 1,
                Err(_) => refused += 1,
            }
        }
        assert!(accepted >= 5 && refused >= 20, "{name}: {accepted} accepted, {refused} refused");
    }
}

#[test]
fn everything_in_them_is_checked() {
    for (name, text) in WRITTEN {
        let unknown: Vec<_> = unknown_keywords(json(text)).map(|name| name.to_string()).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
    }
}

#[test]
fn errors_in_their_unions_name_what_was_meant() {
    let plan = |action: &str| format!(r#"{{"title": "t", "steps": [{{"action": {action}}}]}}"#);
    let [(_, pydantic), ..] = WRITTEN;
    for (action, said) in [
        (r#"{"kind": "dim", "level": 5}"#, "valid"),
        (r#"{"kind": "dim", "level": 100}"#, "'steps[0].action.level' must be at most 99"),
        (r#"{"kind": "dim"}"#, "missing 'steps[0].action.level'"),
        (r#"{"kind": "dim", "level": 1, "on": true}"#, "unknown parameter 'steps[0].action.on'"),
        (r#"{"kind": "lamp"}"#, "'steps[0].action.kind' must be one of: switch, dim, climate, thermostat"),
        ("{}", "'steps[0].action.kind' must be one of: switch, dim, climate, thermostat"),
        ("7", "'steps[0].action' must be an object"),
        (r#"{"kind": "climate", "mode": "on"}"#, "'steps[0].action.mode' must be one of: heat, cool, off"),
    ] {
        assert_eq!(verdict(pydantic, &plan(action), Unknown::Ignore), said, "{action}");
    }
    expect(
        r#"{"properties": {"u": {"anyOf": [{"type": "string", "const": "a"}, {"type": "integer"}, {"type": "null"}]}}}"#,
        &[
            (r#"{"u": "a"}"#, "valid"),
            (r#"{"u": "b"}"#, r#"'u' must be "a" or an integer or null"#),
            (r#"{"u": true}"#, "'u' must be a string, an integer or null"),
        ],
    );
}

#[test]
fn parameters_behind_references_are_described() {
    let mut markdown = std::string::String::new();
    write_markdown(json(WRITTEN[0].1), &mut markdown).unwrap();
    for line in [
        "- `title` (string, required): What it is called\n",
        "- `steps` (array of object, required)\n",
        "  - `action` (object, required)\n",
        "    - `mode` (string, required): One of: `heat`, `cool`, `off`\n",
        "- `priority` (integer, optional): One of: `1`, `2`, `3`\n",
        "  - `then` (object or null, optional)\n",
    ] {
        assert!(markdown.contains(line), "{line}{markdown}");
    }
    // A step is inside a step, and is not listed again.
    assert_eq!(markdown.matches("`then`").count(), 1, "{markdown}");
}
