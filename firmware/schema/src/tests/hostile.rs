//! What neither a schema nor a value can do to the hub.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::{json, verdict};
use crate::limits::{DEPTH, OPTIONS, PATH, REFS, SHORT, UNKNOWN};
use crate::{Unknown, Verdict, judge, undescribed, unknown_keywords, validate, write_markdown};
use hub_json::limits::JSON_DEPTH;

/// The length of the largest request that the hub takes.
const REQUEST: usize = 4096;

#[test]
fn long_names_and_long_lists_are_cut() {
    let name = "é".repeat(500);
    let schema = format!(r#"{{"additionalProperties": {{"items": {{"required": ["{name}"]}}}}}}"#);
    let said = verdict(&schema, &format!(r#"{{"{name}": [{{}}]}}"#), Unknown::Ignore);
    assert!(said.starts_with("missing 'éé") && said.ends_with("é…'"), "{said}");
    assert!(said.len() <= PATH + "missing ''".len());

    let options: Vec<_> = (0..1000).map(|at| format!("\"option {at}\"")).collect();
    let schema = format!(r#"{{"enum": [{}]}}"#, options.join(","));
    let said = verdict(&schema, "1", Unknown::Ignore);
    assert!(said.starts_with("must be one of: option 0, option 1, option 2, "), "{said}");
    assert!(said.ends_with(", …") && said.chars().count() < OPTIONS + 24, "{said}");

    let schema = format!(r#"{{"const": "{}"}}"#, "word ".repeat(1000));
    let said = verdict(&schema, "1", Unknown::Ignore);
    assert!(said.starts_with("must be word word") && said.ends_with('…') && said.len() < 200, "{said}");
}

#[test]
fn nesting_is_followed_exactly_to_the_stated_depth() {
    let schema = |depth: usize| r#"{"items":"#.repeat(depth - 1) + "false" + &"}".repeat(depth - 1);
    let value = "[".repeat(JSON_DEPTH) + &"]".repeat(JSON_DEPTH);
    let depth = usize::from(DEPTH);
    let at_bottom = validate(json(&schema(depth)), json(&value), Unknown::Ignore).unwrap_err().to_string();
    assert_eq!(at_bottom, format!("'{}' is not allowed", "[0]".repeat(depth - 1)));
    // What is deeper is not checked: no alternative is refused or allowed for it.
    let unclear = |schema: &str, value: &str| {
        assert_eq!(judge(json(schema), json(value), Unknown::Ignore).unwrap(), Verdict::Unclear, "{schema}");
    };
    unclear(&schema(depth + 1), &value);
    for outer in [r#"{"not": X}"#, r#"{"anyOf": [X, {"type": "null"}]}"#, r#"{"oneOf": [X, {}]}"#] {
        unclear(&outer.replace('X', &schema(depth)), &value);
    }
    // Values that have to be compared count in the same way.
    let twins = |depth| format!("[{0}[1]{1},{0}[1.0]{1}]", "[".repeat(depth), "]".repeat(depth));
    let unique = r#"{"uniqueItems": true}"#;
    assert_eq!(verdict(unique, &twins(depth - 2), Unknown::Ignore), "must not have the same item twice");
    unclear(unique, &twins(depth - 1));
}

#[test]
fn references_come_to_an_end() {
    let stories = [
        // Each leads to itself, at once or over others, which is no schema at all, or with each level of the value.
        (r##"{"$ref": "#"}"##.to_string(), "1", "valid"),
        (r##"{"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}"##.to_string(), "1", "valid"),
        (
            r##"{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}}"##.to_string(),
            "1",
            "valid",
        ),
        (
            r##"{"items": {"$ref": "#"}, "type": "array"}"##.to_string(),
            "[[[1]]]",
            "'[0][0][0]' must be an array",
        ),
        (
            r##"{"propertyNames": {"$ref": "#"}, "maxLength": 2}"##.to_string(),
            r#"{"abc": 1}"#,
            "the name 'abc' must have at most 2 characters",
        ),
        // As long a chain as is followed, and one that is longer.
        (chain(usize::from(REFS) - 1), "1", "is not allowed"),
        (chain(usize::from(REFS)), "1", "valid"),
        (format!(r##"{{"$ref": "#/{}"}}"##, "x".repeat(5000)), "1", "valid"),
    ];
    for (schema, value, said) in stories {
        assert_eq!(verdict(&schema, value, Unknown::Ignore), said, "{schema}");
        let mut out = String::new();
        write_markdown(json(&schema), &mut out).unwrap();
        let _ = unknown_keywords(json(&schema)).count();
    }
}

/// A schema that leads to `false` over this many references.
fn chain(length: usize) -> String {
    let links = (1..length).map(|at| format!(r##","{at}":{{"$ref":"#/$defs/{}"}}"##, at - 1));
    let links = links.collect::<String>();
    format!(r##"{{"$ref":"#/$defs/{}","$defs":{{"0":false{links}}}}}"##, length - 1)
}

/// Each would take a desktop minutes and a board hours.
#[test]
fn hostile_schemas_and_values_cost_a_bounded_time() {
    let deep = |inner: &str, times: usize| {
        let branch = format!(r#"{{"{inner}":["#);
        // Each level tries the next one twice.
        (0..times).fold(r#"{"type":"null"}"#.to_string(), |inside, _| format!("{branch}{inside},{inside}]}}"))
    };
    let many = |item: &str, count: usize| std::vec![item; count].join(",");
    let numbers = (0..1000).map(|at| at.to_string()).collect::<Vec<_>>().join(",");
    let names = (0..400).map(|at| format!(r#""{at}":0"#)).collect::<Vec<_>>().join(",");
    let properties = (0..2000).map(|at| format!(r#""{at}":{{}}"#)).collect::<Vec<_>>().join(",");
    let digits = "7".repeat(REQUEST);
    let refs: Vec<_> = (0..200).map(|at| format!(r##"{{"$ref": "#/$defs/x","title":"{at}"}}"##)).collect();
    let stories = [
        (deep("anyOf", 13), "1".to_string()),
        (deep("oneOf", 13), "1".to_string()),
        (r#"{"uniqueItems": true}"#.to_string(), format!("[{numbers}]")),
        (r#"{"uniqueItems": true}"#.to_string(), format!("[{{{names}}},{{\"x\":1,{names}}}]")),
        (format!(r#"{{"properties": {{{properties}}}}}"#), format!("{{{names}}}")),
        (
            format!(r#"{{"items": {{"not": {{"enum": [{}]}}}}}}"#, many("[]", 5000)),
            format!("[{}]", many("[0]", 1000)),
        ),
        (
            format!(r#"{{"items": {{"required": [{}]}}}}"#, many("\"x\"", 5000)),
            format!("[{}]", many("{\"x\":1}", 500)),
        ),
        (format!(r#"{{"anyOf": [{}]}}"#, many(r#"{"multipleOf": 0.9}"#, 500)), digits),
        (
            format!(
                r##"{{"items": {{"anyOf": [{},{{}}]}}, "$defs": {{"x": {{"type": "null"}}}}}}"##,
                refs.join(",")
            ),
            format!("[{}]", many("1", 1000)),
        ),
        (
            format!(r#"{{"items": {{"anyOf": [{},{{}}]}}}}"#, many(r#"{"pattern": "((a*)*b)*c"}"#, 100)),
            format!("[{}]", many(r#""aaaaaaaaaaaaaaaaaa""#, 100)),
        ),
    ];
    for (schema, value) in &stories {
        let started = std::time::Instant::now();
        let verdict = verdict(schema, value, Unknown::Forbid);
        let head: String = schema.chars().take(60).collect();
        // Short arguments are not to blame.
        let expected = if value.len() <= SHORT { "valid" } else { "too complex to check" };
        assert_eq!(verdict, expected, "{head}");
        assert!(started.elapsed().as_secs() < 2, "{head}: {:?}", started.elapsed());
        let mut out = String::new();
        write_markdown(json(schema), &mut out).unwrap();
        let _ = unknown_keywords(json(schema)).count() + undescribed(json(schema)).count();
        assert!(started.elapsed().as_secs() < 4, "{head}: {:?}", started.elapsed());
    }
    let keywords = (0..5000).map(|at| format!(r#""k{at}":0"#)).collect::<Vec<_>>().join(",");
    assert_eq!(unknown_keywords(json(&format!("{{{keywords}}}"))).count(), UNKNOWN);
}

#[test]
fn the_largest_honest_arguments_are_not_too_complex() {
    let schema = r#"{"type": "object", "required": ["steps"], "properties": {"steps": {
        "type": "array", "minItems": 1, "uniqueItems": true, "description": "What to do, one after the other.",
        "items": {"type": "object", "required": ["device", "action"], "additionalProperties": false, "properties": {
            "device": {"type": "string", "minLength": 1, "maxLength": 64, "description": "Its name in the home."},
            "action": {"type": "string", "enum": ["on", "off", "toggle", "dim", "open", "close", "lock"]},
            "level": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 99}, {"type": "null"}]}
        }}
    }}}"#;
    let steps = |count: usize| {
        let steps = (0..count).map(|at| format!(r#"{{"device":"lamp {at}","action":"dim","level":{at}}}"#));
        format!(r#"{{"steps":[{}]}}"#, steps.collect::<Vec<_>>().join(","))
    };
    let count = (1..).find(|count| steps(count + 1).len() > REQUEST).unwrap();
    assert_eq!(verdict(schema, &steps(count), Unknown::Forbid), "valid");
    let numbers = (0..250).map(|at| at.to_string()).collect::<Vec<_>>().join(",");
    assert_eq!(verdict(r#"{"uniqueItems": true}"#, &format!("[{numbers}]"), Unknown::Ignore), "valid");
}
