//! Schemas and values that fit them, from bytes that proptest chooses and shrinks.
//!
//! Values are built to fit their schema and then changed, because one that is chosen freely hardly ever gets past the first
//! keyword.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use serde_json::{Map, Value as Json, json};

use crate::Work;
use crate::pattern::{Match, search};

/// Choices, from bytes. When they are used up, always the first one.
pub(super) struct Choices<'a>(pub(super) core::slice::Iter<'a, u8>);

impl Choices<'_> {
    pub(super) fn below(&mut self, count: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % count
    }

    pub(super) fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// One time in `times`, and never once the bytes are used up.
    pub(super) fn rarely(&mut self, times: usize) -> bool {
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
    json!(choices.one(&["a", "", "ab", "é😀", "\n\"\\", "abc", "1", "a\u{0}", "a-b", "b", "12"]))
}

/// The places that references lead to, and how they are written there.
const DEFINITIONS: [(&str, &str); 3] =
    [("a", "#/$defs/a"), ("b/c~", "#/$defs/b~1c~0"), ("é d", "#/$defs/%C3%A9%20d")];

const PATTERNS: [&str; 8] = ["^a", "b$", "^[a-c]+$", "a|1", "^(?:a?b)*$", "^\\d{1,2}$", "[^a]", "^(?!a)"];

/// A schema whose references lead to definitions in it, which may lead to each other.
pub(super) fn document(choices: &mut Choices<'_>, depth: usize) -> Json {
    let mut document = schema(choices, depth, DEFINITIONS.len());
    if let Some(document) = document.as_object_mut() {
        // Without going into a value, they lead only to earlier ones, and so to an end.
        let definitions = DEFINITIONS.iter().enumerate();
        let definitions =
            definitions.map(|(at, (name, _))| (name.to_string(), schema(choices, depth - 1, at)));
        document.insert("$defs".into(), Json::Object(definitions.collect()));
    }
    document
}

/// A schema for something inside a value, which may lead anywhere.
fn inner(choices: &mut Choices<'_>, depth: usize) -> Json {
    if choices.rarely(6) {
        return json!({ "$ref": choices.one(&DEFINITIONS.map(|(_, reference)| reference)) });
    }
    schema(choices, depth - 1, DEFINITIONS.len())
}

fn scalar(choices: &mut Choices<'_>) -> Json {
    match choices.below(5) {
        0 => Json::Null,
        1 => json!(choices.rarely(2)),
        2 | 3 => number(choices),
        _ => text(choices),
    }
}

pub(super) fn value(choices: &mut Choices<'_>, depth: usize) -> Json {
    match choices.below(if depth == 0 { 3 } else { 6 }) {
        0..3 => scalar(choices),
        3 => (0..choices.below(4)).map(|_| value(choices, depth - 1)).collect(),
        _ => Json::Object(
            (0..choices.below(4)).map(|_| (choices.one(&NAMES).into(), value(choices, depth - 1))).collect(),
        ),
    }
}

/// A schema with references to the first `targets` definitions.
pub(super) fn schema(choices: &mut Choices<'_>, depth: usize, targets: usize) -> Json {
    if choices.rarely(12) {
        return json!(choices.rarely(3));
    }
    if targets > 0 && choices.rarely(8) {
        let reference = DEFINITIONS[choices.below(targets)].1;
        return choices.one(&[json!({ "$ref": reference }), json!({ "$ref": reference, "maxLength": 2 })]);
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
                let inner = |choices: &mut Choices<'_>| self::schema(choices, depth - 1, targets);
                match choices.below(6) {
                    0 => drop(put("not", inner(choices))),
                    1 => {
                        put("if", inner(choices));
                        put("then", inner(choices));
                        put("else", inner(choices));
                    }
                    _ => {
                        let name = choices.one(&["anyOf", "oneOf", "allOf"]);
                        put(name, (0..=choices.below(3)).map(|_| inner(choices)).collect());
                    }
                }
            }
            _ if choices.rarely(24) => drop(put("dependentSchemas", json!({ "a": { "required": ["b"] } }))),
            _ if choices.rarely(24) => drop(put("unevaluatedProperties", json!(false))),
            _ if choices.rarely(24) => drop(put("format", json!("email"))),
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
            "string" if choices.rarely(3) => drop(put("pattern", json!(choices.one(&PATTERNS)))),
            "string" => {
                let length = choices.below(4);
                let length = if choices.rarely(4) { json!(length as f64) } else { json!(length) };
                put(choices.one(&["minLength", "maxLength"]), length);
            }
            "array" => match choices.below(6) {
                0 if depth > 0 => drop(put("items", inner(choices, depth))),
                4 if depth > 0 => {
                    put("prefixItems", (0..=choices.below(2)).map(|_| inner(choices, depth)).collect());
                }
                5 if depth > 0 => {
                    put("contains", inner(choices, depth));
                    if choices.rarely(2) {
                        put(choices.one(&["minContains", "maxContains"]), json!(choices.below(3)));
                    }
                }
                0 | 1 => drop(put(choices.one(&["minItems", "maxItems"]), json!(choices.below(4)))),
                2 => drop(put("uniqueItems", json!(!choices.rarely(4)))),
                _ => drop(put("default", json!([1, 1]))),
            },
            "object" => match choices.below(8) {
                0 | 1 if depth > 0 => {
                    let names = (0..=choices.below(3)).map(|_| choices.one(&NAMES));
                    let names: Vec<_> = names.collect();
                    let properties = names.into_iter().map(|name| (name.into(), inner(choices, depth)));
                    put("properties", Json::Object(properties.collect()));
                }
                2 if choices.rarely(3) => drop(put("additionalProperties", json!(false))),
                2 if depth > 0 => drop(put("additionalProperties", inner(choices, depth))),
                3 if depth > 0 => {
                    let patterns = json!({ choices.one(&PATTERNS): inner(choices, depth) });
                    put("patternProperties", patterns);
                }
                4 => drop(put(
                    "propertyNames",
                    choices.one(&[json!({ "maxLength": 1 }), json!({ "pattern": "^[ab]$" }), json!(true)]),
                )),
                5 => drop(put(choices.one(&["minProperties", "maxProperties"]), json!(choices.below(3)))),
                6 => drop(put("dependentRequired", json!({ "a": ["b"], "b": ["é"] }))),
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

/// A text that matches, if there is one at hand.
fn matching(pattern: Option<&str>, choices: &mut Choices<'_>) -> Json {
    const TEXTS: [&str; 9] = [
        "a",
        "12",
        "kitchen_2",
        "abc",
        "20.5",
        "7f3c1b2a-9d4e-4f60-8a1b-2c3d4e5f6071",
        "ann@example.org",
        "2026-11-17T16:52:41Z",
        "192.168.1.10",
    ];
    let first = choices.below(TEXTS.len());
    let matches = |text: &Json| {
        let (pattern, text) = (json!(pattern).to_string(), text.to_string());
        let parse = |text| hub_json::Value::parse(str::as_bytes(text)).ok()?.as_text();
        let pair = parse(&pattern).zip(parse(&text));
        pair.is_some_and(|(pattern, text)| search(pattern, text, &mut Work::new()) == Match::Yes)
    };
    let texts = TEXTS.iter().cycle().skip(first).take(TEXTS.len()).map(|text| json!(text));
    let found = texts.into_iter().find(matches);
    found.unwrap_or_else(|| text(choices))
}

/// A value that tries to fit a schema inside `root`.
pub(super) fn instance(root: &Json, schema: &Json, choices: &mut Choices<'_>, depth: usize) -> Json {
    let instance = |schema: &Json, choices: &mut Choices<'_>, depth| instance(root, schema, choices, depth);
    if let Some(reference) = schema["$ref"].as_str()
        && depth > 0
    {
        let pointer = reference[1..].replace("%C3%A9", "é").replace("%20", " ");
        return instance(root.pointer(&pointer).unwrap_or(&Json::Null), choices, depth - 1);
    }
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
                if choices.rarely(2) {
                    object.insert(name.clone(), instance(schema, choices, depth - 1));
                }
            }
            let additional = &schema["additionalProperties"];
            if additional.is_object() && choices.rarely(2) {
                let name = matching(schema["propertyNames"]["pattern"].as_str(), choices);
                let name = schema["propertyNames"]["enum"].get(0).unwrap_or(&name);
                object.insert(
                    name.as_str().unwrap_or_default().into(),
                    instance(additional, choices, depth - 1),
                );
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                let name = name.as_str().unwrap_or_default();
                if !object.contains_key(name) {
                    let declared = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
                    object.insert(name.into(), instance(declared, choices, depth - 1));
                }
            }
            Json::Object(object)
        }
        Some("array") if depth > 0 => {
            let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
            let contained = if choices.rarely(2) { &schema["contains"] } else { &Json::Null };
            let rest = if contained.is_null() { &schema["items"] } else { contained };
            let first = schema["prefixItems"].as_array().or(schema["items"].as_array());
            let first = first.map(Vec::as_slice).unwrap_or_default();
            let most = schema["maxItems"].as_u64().unwrap_or(9) as usize;
            let count = first.len().max(least).max(choices.below(4)).min(most);
            (0..count).map(|at| instance(first.get(at).unwrap_or(rest), choices, depth - 1)).collect()
        }
        Some("integer" | "number") if choices.rarely(3) => number(choices),
        Some("integer" | "number") => {
            let bound = schema.get("minimum").or(schema.get("maximum")).or(schema.get("multipleOf"));
            bound.cloned().unwrap_or(json!(1))
        }
        Some("string") => matching(schema["pattern"].as_str(), choices),
        Some("boolean") => json!(choices.rarely(2)),
        Some("null") => Json::Null,
        _ => value(choices, depth.min(2)),
    }
}

/// Replaces something, somewhere inside.
pub(super) fn mutate(document: &mut Json, choices: &mut Choices<'_>) {
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
pub(super) fn spell(document: &Json, choices: &mut Choices<'_>) -> String {
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
