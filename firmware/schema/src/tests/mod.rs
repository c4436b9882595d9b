//! What a caller is told about its parameters.

mod agreement;
mod exact;
mod generate;
mod hostile;
mod pattern;
mod sdk;

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::{Unknown, undescribed, unknown_keywords, validate, write_markdown};
use crate::limits::DEPTH;
use hub_json::Value;

fn json(text: &str) -> Value<'_> {
    Value::parse(text.as_bytes()).unwrap()
}

/// What is said about a value, or `valid`.
fn verdict(schema: &str, value: &str, unknown: Unknown) -> String {
    match validate(json(schema), json(value), unknown) {
        Ok(()) => "valid".to_string(),
        Err(invalid) => invalid.to_string(),
    }
}

/// Checks values against a schema, each with what should be said about it.
#[track_caller]
fn expect(schema: &str, stories: &[(&str, &str)]) {
    for (value, expected) in stories {
        assert_eq!(verdict(schema, value, Unknown::Ignore), *expected, "{value} against {schema}");
    }
}

const DEVICE: &str = r#"{
    "type": "object",
    "properties": {
        "device_name": {"type": "string", "description": "As the home calls it", "minLength": 1},
        "action": {"type": "string", "enum": ["on", "off", "toggle"], "description": "What to do."},
        "level": {"type": "integer", "minimum": 0, "maximum": 99, "default": 50}
    },
    "required": ["device_name", "action"]
}"#;

/// spec: calls-05
#[test]
fn a_missing_parameter_is_named() {
    expect(
        DEVICE,
        &[
            (r#"{"device_name": "lamp", "action": "on"}"#, "valid"),
            (r#"{"action": "on"}"#, "missing 'device_name'"),
            (r#"{"device_name": "lamp", "level": 5}"#, "missing 'action'"),
            ("{}", "missing 'device_name'"),
            // Its name may be spelled with escapes, and null is there.
            (r#"{"device\u005fname": "lamp", "action": "on"}"#, "valid"),
            (r#"{"device_name": null, "action": "on"}"#, "'device_name' must be a string"),
            ("[]", "must be an object"),
        ],
    );
}

/// spec: calls-06
#[test]
fn an_integer_is_an_integer_and_a_string_a_string() {
    let wrong = "'level' must be an integer";
    let number = |text: &str| format!(r#"{{"device_name": "lamp", "action": "on", "level": {text}}}"#);
    for (level, expected) in [
        ("5", "valid"),
        ("5.0", "valid"),
        ("5e1", "valid"),
        ("0.5e1", "valid"),
        ("50e-1", "valid"),
        ("0e-99999999999", "valid"),
        ("5.5", wrong),
        ("5e-1", wrong),
        (r#""5""#, wrong),
        ("true", wrong),
        ("null", wrong),
        ("[5]", wrong),
    ] {
        assert_eq!(verdict(DEVICE, &number(level), Unknown::Ignore), expected, "{level}");
    }
    expect(
        DEVICE,
        &[
            (r#"{"device_name": 7, "action": "on"}"#, "'device_name' must be a string"),
            (r#"{"device_name": ["lamp"], "action": "on"}"#, "'device_name' must be a string"),
        ],
    );
    expect(
        r#"{"properties": {"x": {"type": ["boolean", "null", "integer"]}}}"#,
        &[(r#"{"x": null}"#, "valid"), (r#"{"x": 1.5}"#, "'x' must be an integer, a boolean or null")],
    );
}

/// spec: calls-07
#[test]
fn a_value_outside_the_options_is_answered_with_the_options() {
    expect(
        DEVICE,
        &[
            (r#"{"device_name": "lamp", "action": "toggle"}"#, "valid"),
            (r#"{"device_name": "lamp", "action": "o\u006e"}"#, "valid"),
            (r#"{"device_name": "lamp", "action": "dim"}"#, "'action' must be one of: on, off, toggle"),
            (r#"{"device_name": "lamp", "action": "ON"}"#, "'action' must be one of: on, off, toggle"),
        ],
    );
    expect(
        r#"{"properties": {"x": {"enum": [1, "", null, {"a": [1, 2]}]}}}"#,
        &[
            (r#"{"x": 1.0}"#, "valid"),
            (r#"{"x": {"a": [1e0, 20e-1]}}"#, "valid"),
            (r#"{"x": {"a": [2, 1]}}"#, r#"'x' must be one of: 1, "", null, {"a": [1, 2]}"#),
        ],
    );
}

/// spec: calls-08
#[test]
fn parameters_that_are_not_in_the_schema_are_ignored() {
    let extra = r#"{"device_name": "lamp", "action": "on", "colour": {"any": ["thing"]}}"#;
    assert_eq!(verdict(DEVICE, extra, Unknown::Ignore), "valid");
    // The declared ones are still checked.
    let wrong = r#"{"colour": "red", "device_name": "lamp", "action": "dim"}"#;
    assert_eq!(verdict(DEVICE, wrong, Unknown::Ignore), "'action' must be one of: on, off, toggle");
}

#[test]
fn a_strict_tool_refuses_what_it_does_not_declare_at_the_top() {
    let strict = |schema: &str, value: &str| verdict(schema, value, Unknown::Forbid);
    let extra = r#"{"device_name": "lamp", "action": "on", "colour": "red"}"#;
    assert_eq!(strict(DEVICE, extra), "unknown parameter 'colour'");
    assert_eq!(strict(r#"{"type": "object"}"#, r#"{"a": 1}"#), "unknown parameter 'a'");
    assert_eq!(strict("{}", "{}"), "valid");
    // The schema's own word goes first.
    assert_eq!(strict(r#"{"additionalProperties": true}"#, r#"{"a": 1}"#), "valid");
    let integers = r#"{"additionalProperties": {"type": "integer"}}"#;
    assert_eq!(strict(integers, r#"{"a": 1}"#), "valid");
    assert_eq!(strict(integers, r#"{"a": "1"}"#), "'a' must be an integer");
    // Further inside it is the schema's business alone.
    let nested = r#"{"properties": {"target": {"properties": {"room": {}}}}}"#;
    assert_eq!(strict(nested, r#"{"target": {"floor": 1}}"#), "valid");
    let closed = r#"{"properties": {"target": {"properties": {"room": {}}, "additionalProperties": false}}}"#;
    for unknown in [Unknown::Ignore, Unknown::Forbid] {
        assert_eq!(
            verdict(closed, r#"{"target": {"floor": 1}}"#, unknown),
            "unknown parameter 'target.floor'"
        );
    }
}

#[test]
fn the_path_leads_to_what_is_wrong() {
    let schema = r#"{"properties": {"target": {
        "properties": {
            "rooms": {"type": "array", "items": {"type": "string"}},
            "grid": {"items": {"items": {"required": ["x"], "properties": {"x": {"type": "number"}}}}}
        },
        "required": ["rooms"]
    }}}"#;
    expect(
        schema,
        &[
            (r#"{"target": {"rooms": ["a", "b"]}}"#, "valid"),
            (r#"{"target": {"rooms": ["a", "b", 3]}}"#, "'target.rooms[2]' must be a string"),
            (r#"{"target": {"rooms": {}}}"#, "'target.rooms' must be an array"),
            (r#"{"target": {}}"#, "missing 'target.rooms'"),
            (
                r#"{"target": {"rooms": [], "grid": [[], [{"x": 1}, {"y": 1}]]}}"#,
                "missing 'target.grid[1][1].x'",
            ),
            (
                r#"{"target": {"rooms": ["ok"], "grid": [[{"x": "1"}]]}}"#,
                "'target.grid[0][0].x' must be a number",
            ),
        ],
    );
    expect(r#"{"items": {"type": "string"}}"#, &[("[1]", "'[0]' must be a string")]);
}

#[test]
fn bounds_are_told_as_the_schema_writes_them() {
    let about = |keywords: &str, value: &str| {
        let schema = format!(r#"{{"properties": {{"x": {{{keywords}}}}}}}"#);
        verdict(&schema, &format!(r#"{{"x": {value}}}"#), Unknown::Ignore)
    };
    for (keywords, good, bad, words) in [
        (r#""minimum": 0"#, "0", "-1", "at least 0"),
        (r#""maximum": 99"#, "99.0", "100", "at most 99"),
        (r#""exclusiveMinimum": 0.5"#, "0.51", "0.50", "more than 0.5"),
        (r#""exclusiveMaximum": 1e2"#, "99", "100", "less than 1e2"),
        (r#""multipleOf": 0.25"#, "1.75", "1.8", "a multiple of 0.25"),
    ] {
        assert_eq!(about(keywords, good), "valid");
        assert_eq!(about(keywords, bad), format!("'x' must be {words}"));
        // Numbers are all that it concerns.
        assert_eq!(about(keywords, r#""text""#), "valid");
    }
    for (keywords, good, bad, words) in [
        (r#""minLength": 1"#, r#"" ""#, r#""""#, "at least 1 character"),
        (r#""maxLength": 3"#, r#""\ud83d\ude00é\n""#, r#""four""#, "at most 3 characters"),
        (r#""minItems": 2.0"#, "[1, 1]", "[1]", "at least 2.0 items"),
        (r#""maxItems": 1"#, "[[1, 2]]", "[1, 2]", "at most 1 item"),
    ] {
        assert_eq!(about(keywords, good), "valid");
        assert_eq!(about(keywords, bad), format!("'x' must have {words}"));
        assert_eq!(about(keywords, "12345"), "valid");
    }
    assert_eq!(about(r#""uniqueItems": true"#, "[1, 2, 1.0]"), "'x' must not have the same item twice");
    assert_eq!(about(r#""uniqueItems": true"#, r#"[1, "1", [1], true]"#), "valid");
    assert_eq!(about(r#""uniqueItems": false"#, "[1, 1]"), "valid");
    assert_eq!(about(r#""const": "DELETE""#, r#""delete""#), "'x' must be DELETE");
    assert_eq!(about(r#""const": {"a": 1, "b": 2}"#, r#"{"b": 2, "a": 1}"#), "valid");
    assert_eq!(about(r#""not": {"const": "all"}"#, r#""all""#), "'x' must not be all");
    assert_eq!(about(r#""not": {"enum": [1, 2]}"#, "2"), "'x' must not be one of: 1, 2");
    assert_eq!(about(r#""not": {"type": "null"}"#, "null"), "'x' must not be null");
    assert_eq!(about(r#""not": {"minimum": 3}"#, "3"), "'x' has a value that is not allowed");
    let never = r#"{"properties": {"x": false}}"#;
    assert_eq!(verdict(never, r#"{"x": 1}"#, Unknown::Ignore), "'x' is not allowed");
}

#[test]
fn where_several_schemas_would_do_the_closest_is_explained() {
    // An optional parameter, as Python's libraries write one.
    expect(
        r#"{"properties": {"x": {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "null"}]}}}"#,
        &[
            (r#"{"x": null}"#, "valid"),
            (r#"{"x": "ab"}"#, "valid"),
            (r#"{"x": "abc"}"#, "'x' must have at most 2 characters"),
            (r#"{"x": 5}"#, "'x' must be a string or null"),
        ],
    );
    let targets = r#"{"properties": {"to": {"oneOf": [
        {"type": "string"},
        {"type": "object", "required": ["room"], "properties": {"room": {"type": "string"}}},
        {"type": "array", "items": {"type": "string"}}
    ]}}}"#;
    expect(
        targets,
        &[
            (r#"{"to": {"room": "hall"}}"#, "valid"),
            (r#"{"to": {"room": 1}}"#, "'to.room' must be a string"),
            (r#"{"to": {}}"#, "missing 'to.room'"),
            (r#"{"to": ["a", 1]}"#, "'to[1]' must be a string"),
            (r#"{"to": 1}"#, "'to' must be a string, an array or an object"),
        ],
    );
    expect(
        r#"{"oneOf": [{"const": "warm", "title": "Warm white"}, {"const": "cold"}]}"#,
        &[(r#""warm""#, "valid"), (r#""red""#, "must be one of: warm, cold")],
    );
    expect(
        r#"{"properties": {"x": {"oneOf": [{"minimum": 5}, {"maximum": 9}, {"type": "null"}]}}}"#,
        &[(r#"{"x": 3}"#, "valid"), (r#"{"x": 7}"#, "'x' must match only one of 3 alternatives")],
    );
    expect(
        r#"{"anyOf": [{"required": ["id"]}, {"required": ["name"]}]}"#,
        &[(r#"{"name": "lamp"}"#, "valid"), ("{}", "must match one of 2 alternatives")],
    );
    // What did not match leaves nothing behind in the path.
    expect(
        r#"{"properties": {"x": {"anyOf": [{"properties": {"a": {"type": "null"}}}, {"type": "object"}], "not": {
            "properties": {"b": {"type": "null"}}}, "required": ["z"]}, "y": {"type": "null"}}}"#,
        &[(r#"{"x": {"a": 1, "b": 1, "z": 1}, "y": 1}"#, "'y' must be null")],
    );
    expect(r#"{"allOf": [{"not": {"required": ["b"]}}, {"required": ["a"]}]}"#, &[("{}", "missing 'a'")]);
}

#[test]
fn what_the_schema_does_not_say_clearly_is_not_checked_and_is_named() {
    let schema = r##"{
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "t", "$comment": "c",
        "type": "any", "minimum": "1", "required": {"a": 1}, "anyOf": [], "properties": {
            "a": {"$ref": "#/$defs/never", "format": "email", "pattern": "^x", "maxLength": -1},
            "b": {"type": [], "items": [{"nobody": 1}], "default": 1, "deprecated": true, "pattern": "y(?=z)"},
            "c": {"$ref": "https://example.org/schema"}, "d": {"$ref": "#/$defs/nowhere"},
            "minProperties": {"type": "string", "description": "A parameter, not a keyword."}
        },
        "not": {"hidden": 1},
        "multipleOf": 1234567890123456789,
        "allOf": [{"patt\u0065rn": "z"}, {"oneOf": [{"contains": {"dependentSchemas": {}}}]}],
        "$defs": {"never": {"patternProperties": {"\\p{L}": {"unevaluatedItems": 1}}}}
    }"##;
    let named: Vec<_> = unknown_keywords(json(schema)).map(|name| name.to_string()).collect();
    let expected = [
        "type",
        "minimum",
        "required",
        "anyOf",
        "maxLength",
        "nobody",
        "pattern",
        "$ref",
        "hidden",
        "multipleOf",
        "dependentSchemas",
        "patternProperties",
        "unevaluatedItems",
    ];
    assert_eq!(named.len(), expected.len(), "{named:?}");
    assert!(expected.iter().all(|name| named.contains(&name.to_string())), "{named:?}");
    expect(schema, &[(r#"{"a": "x", "b": [1], "c": 1, "d": 1}"#, "valid"), ("5", "valid")]);
    assert_eq!(unknown_keywords(json(DEVICE)).count(), 0);
    assert_eq!(unknown_keywords(json("true")).count(), 0);
}

#[test]
fn an_alternative_that_cannot_be_judged_never_causes_a_refusal() {
    // Each of these may be valid for an object with `a`, and is not for a number.
    for unclear in [
        r#"{"type": "object", "dependentSchemas": {"a": false}}"#,
        r#"{"type": "object", "properties": {"a": {"pattern": "(?=x)"}}}"#,
        r#"{"type": "object", "propertyNames": {"pattern": "\\p{L}"}}"#,
        r#"{"type": "object", "patternProperties": {"\\p{L}": false}}"#,
        r##"{"type": "object", "properties": {"a": {"$ref": "other.json#/x"}}}"##,
        r##"{"type": "object", "properties": {"a": {"$ref": "#/$defs/loop"}}}"##,
    ] {
        for (schema, object, number) in [
            ("{\"anyOf\": [U, {\"type\": \"null\"}]}", "valid", "must be an object or null"),
            ("{\"oneOf\": [U, U]}", "valid", "must be an object"),
            ("{\"oneOf\": [U, {\"type\": \"object\"}]}", "valid", "must be an object"),
            ("{\"not\": U}", "valid", "valid"),
            ("{\"not\": {\"not\": U}}", "valid", "has a value that is not allowed"),
            ("{\"allOf\": [U, {\"required\": [\"z\"]}]}", "missing 'z'", "must be an object"),
            (
                "{\"if\": U, \"then\": {\"required\": [\"z\"]}, \"else\": {\"minimum\": 9}}",
                "valid",
                "must be at least 9",
            ),
        ] {
            let schema = schema.replace('U', unclear).replacen(
                '{',
                r##"{"$defs": {"loop": {"$ref": "#/$defs/loop"}}, "##,
                1,
            );
            expect(&schema, &[(r#"{"a": "x"}"#, object), ("5", number)]);
        }
        let contains = format!(
            r##"{{"$defs": {{"loop": {{"$ref": "#/$defs/loop"}}}}, "contains": {unclear}, "maxContains": 1}}"##
        );
        expect(
            &contains,
            &[(r#"[{"a": "x"}, {"a": "x"}]"#, "valid"), ("[5]", "has no item that is required")],
        );
    }
    let closed =
        r#"{"patternProperties": {"^(?!x)": false}, "additionalProperties": false, "properties": {"a": {}}}"#;
    expect(closed, &[(r#"{"x-y": 1, "a": 2}"#, "valid")]);
}

#[test]
fn references_lead_anywhere_in_the_schema() {
    let schema = r##"{"properties": {
        "plain": {"$ref": "#/$defs/word"}, "chain": {"$ref": "#/properties/plain"}, "item": {"$ref": "#/$defs/list/0"},
        "odd": {"$ref": "#/$defs/a~1b~0c"}, "percent": {"$ref": "#/%24defs/%C3%A9"}, "node": {"$ref": "#/$defs/node"},
        "beside": {"$ref": "#/$defs/word", "maxLength": 2}
    }, "$defs": {"word": {"type": "string"}, "list": [{"type": "null"}], "a/b~c": {"const": 1}, "é": {"const": 2},
        "node": {"required": ["v"], "properties": {"next": {"$ref": "#/$defs/node"}}}}}"##;
    expect(
        schema,
        &[
            (r#"{"plain": "", "chain": "", "item": null, "odd": 1, "percent": 2, "beside": "ab"}"#, "valid"),
            (r#"{"plain": 1}"#, "'plain' must be a string"),
            (r#"{"chain": 1}"#, "'chain' must be a string"),
            (r#"{"item": 1}"#, "'item' must be null"),
            (r#"{"odd": 2}"#, "'odd' must be 1"),
            (r#"{"percent": 1}"#, "'percent' must be 2"),
            (r#"{"beside": "abc"}"#, "'beside' must have at most 2 characters"),
            (r#"{"node": {"v": 1, "next": {"v": 2, "next": {}}}}"#, "missing 'node.next.next.v'"),
        ],
    );
    // Before 2019, nothing counts beside a reference.
    let old = schema.replacen('{', r#"{"$schema": "http://json-schema.org/draft-07/schema#", "#, 1);
    expect(&old, &[(r#"{"beside": "abc"}"#, "valid"), (r#"{"beside": 1}"#, "'beside' must be a string")]);
    // Inside a schema with an id of its own, a reference is relative to that.
    let inner = r##"{"properties": {"a": {"$id": "https://example.org/a", "$ref": "#/$defs/x", "$defs": {"x": {}}}},
        "$defs": {"x": false}}"##;
    expect(inner, &[(r#"{"a": 1}"#, "valid")]);
    let own = inner.replace(r#""$id": "https://example.org/a", "#, "").replacen('{', r#"{"$id": "x", "#, 1);
    expect(&own, &[(r#"{"a": 1}"#, "'a' is not allowed")]);
}

#[test]
fn what_is_inside_objects_and_arrays_is_explained() {
    expect(
        r#"{"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}"#,
        &[
            (r#"["a", 1]"#, "valid"),
            ("[1]", "'[0]' must be a string"),
            (r#"["a", "b"]"#, "'[1]' must be an integer"),
        ],
    );
    expect(
        r#"{"items": [{"type": "string"}], "additionalItems": false}"#,
        &[
            (r#"["a"]"#, "valid"),
            ("[1]", "'[0]' must be a string"),
            (r#"["a", "b"]"#, "'[1]' is not allowed"),
        ],
    );
    expect(
        r#"{"propertyNames": {"pattern": "^[a-z]+$"}, "minProperties": 1, "maxProperties": 2}"#,
        &[
            (r#"{"a": 1, "b": 2}"#, "valid"),
            (r#"{"a1": 1}"#, "the name 'a1' must match the pattern ^[a-z]+$"),
            ("{}", "must have at least 1 member"),
            (r#"{"a": 1, "b": 2, "c": 3}"#, "must have at most 2 members"),
            (r#"{"a": 1, "b": 2, "a": 3}"#, "valid"),
        ],
    );
    expect(
        r#"{"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false, "properties": {"a": {}}}"#,
        &[
            (r#"{"x-y": "", "a": 2}"#, "valid"),
            (r#"{"x-y": 1}"#, "'x-y' must be a string"),
            (r#"{"y": 1}"#, "unknown parameter 'y'"),
        ],
    );
    expect(
        r#"{"contains": {"const": 1}, "minContains": 2, "maxContains": 3}"#,
        &[
            ("[1, 2, 1]", "valid"),
            ("[1, 2]", "must have at least 2 items of the required kind"),
            ("[1, 1, 1, 1]", "must have at most 3 items of the required kind"),
        ],
    );
    expect(r#"{"contains": {"const": 1}, "minContains": 0}"#, &[("[]", "valid")]);
    expect(
        r#"{"dependentRequired": {"card": ["number", "name"]}}"#,
        &[(r#"{"card": 1, "name": 1}"#, "missing 'number', which 'card' needs"), ("{}", "valid")],
    );
    expect(
        r#"{"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}"#,
        &[(r#"{"a": 1}"#, "missing 'b'"), (r#"{"a": 2}"#, "missing 'c'"), (r#"{"a": 2, "c": 1}"#, "valid")],
    );
    expect(
        r#"{"properties": {"x": {"pattern": "^\\d+$"}}}"#,
        &[(r#"{"x": "12"}"#, "valid"), (r#"{"x": "a"}"#, r"'x' must match the pattern ^\d+$")],
    );
}

#[test]
fn of_a_repeated_name_the_last_counts_on_both_sides() {
    expect(
        r#"{"type": "string", "type": "object", "properties": {"a": false, "a": {"type": "integer"}}}"#,
        &[
            (r#"{"a": "first", "a": 1}"#, "valid"),
            (r#"{"a": 1, "\u0061": "last"}"#, "'a' must be an integer"),
        ],
    );
    expect(
        r#"{"const": {"a": 1, "b": 2}}"#,
        &[
            (r#"{"a": 0, "b": 2, "a": 1}"#, "valid"),
            (r#"{"a": 1, "b": 2, "a": 0}"#, r#"must be {"a": 1, "b": 2}"#),
        ],
    );
}

/// spec: infra-06
#[test]
fn parameters_are_described_as_a_list() {
    let markdown = |schema: &str| {
        let mut out = String::new();
        write_markdown(json(schema), &mut out).unwrap();
        out
    };
    assert_eq!(
        markdown(DEVICE),
        "- `device_name` (string, required): As the home calls it\n\
         - `action` (string, required): What to do. One of: `on`, `off`, `toggle`\n\
         - `level` (integer, optional)\n"
    );
    let schema = r#"{"properties": {
        "confirm": {"const": "DELETE", "description": "Consent,\n   said\tloudly"},
        "rooms": {"type": "array", "items": {"type": "string", "enum": ["hall", "attic"]}},
        "size": {"type": ["null", "integer"], "description": "Size"},
        "when": {"anyOf": [{"type": "null"}, {"enum": ["now", 5]}], "description": "Start"},
        "steps": {"type": "array", "description": "Steps", "items": {"required": ["do"], "properties": {
            "do": {"type": "object", "description": "It", "properties": {"x": {"type": "number"}}},
            "grid": {"items": {"type": "array", "items": {"type": ["array", "null"], "items": {"type": "boolean"}}}}
        }}},
        "od`d": {"oneOf": [{"properties": {"a": {"description": ""}}}, {"type": "string"}]},
        "free": true
    }}"#;
    assert_eq!(
        markdown(schema),
        "- `confirm` (string, optional): Consent, said loudly. Must be `DELETE`\n\
         - `rooms` (array of string, optional): Each one of: `hall`, `attic`\n\
         - `size` (integer or null, optional): Size\n\
         - `when` (string or number or null, optional): Start. One of: `now`, `5`\n\
         - `steps` (array of object, optional): Steps\n  \
           - `do` (object, required): It\n    \
             - `x` (number, optional)\n  \
           - `grid` (array of array of null or array of boolean, optional)\n\
         - `` od`d `` (string or object, optional)\n  \
           - `a` (any, optional)\n\
         - `free` (any, optional)\n"
    );
    assert_eq!(markdown("{}"), "");
    let deep = |lists| r#"{"items":"#.repeat(lists) + r#"{"properties":{"p":{}}}"# + &"}".repeat(lists);
    assert_eq!(markdown(&deep(usize::from(DEPTH) - 2)), "- `p` (any, optional)\n");
    assert_eq!(markdown(&deep(usize::from(DEPTH))), "- …\n");
    let mut tiny = heapless::String::<16>::new();
    assert!(write_markdown(json(DEVICE), &mut tiny).is_err());

    let missing: Vec<_> = undescribed(json(schema)).map(|name| name.to_string()).collect();
    assert_eq!(missing, ["rooms", "x", "grid", "od`d", "a", "free"]);
    assert_eq!(undescribed(json(DEVICE)).map(|name| name.to_string()).collect::<Vec<_>>(), ["level"]);
}
