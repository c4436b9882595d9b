//! Checks the arguments of a call against the tool's schema.
//!
//! By hand rather than by `jsonschema` or the hub's own checker: a model is helped by what this says about an argument, and
//! the hub is tested against a controller that does not share its mistakes.

use rmcp::model::JsonObject;
use serde_json::Value;

/// How much of a wrong value is quoted.
const QUOTE: usize = 40;

/// Whether `arguments` fit the schema of `tool`; if not, what is wrong, for a person or a model.
///
/// Knows what the schemas here use: flat objects of strings, numbers and integers with `enum`, `minimum`,
/// `maximum`, `minLength` and `required`. Arguments that the schema does not name are rejected.
pub(super) fn check(tool: &str, schema: &JsonObject, arguments: &JsonObject) -> Result<(), String> {
    let empty = JsonObject::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if let Some(name) = required.iter().filter_map(Value::as_str).find(|name| !arguments.contains_key(*name))
    {
        return Err(format!("Missing required parameter '{name}' for {tool}"));
    }
    for (name, value) in arguments {
        let Some(property) = properties.get(name) else {
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "no parameters".into() } else { known.join(", ") };
            return Err(format!("Unknown parameter '{}' for {tool}, which takes {known}", cut(name)));
        };
        if !fits(property, value) {
            let wanted = wanted(property);
            let given = cut(&value.to_string());
            return Err(format!("Parameter '{name}' of {tool} must be {wanted}, not {given}"));
        }
    }
    Ok(())
}

fn fits(property: &Value, value: &Value) -> bool {
    let is_typed = match property["type"].as_str() {
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        // 1.0 is an integer too.
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    };
    let is_offered = property["enum"].as_array().is_none_or(|options| options.contains(value));
    let is_long_enough = match (property["minLength"].as_u64(), value.as_str()) {
        (Some(least), Some(text)) => text.trim().chars().count() as u64 >= least,
        _ => true,
    };
    let is_in_range = value.as_f64().is_none_or(|number| {
        property["minimum"].as_f64().is_none_or(|least| number >= least)
            && property["maximum"].as_f64().is_none_or(|most| number <= most)
    });
    is_typed && is_offered && is_long_enough && is_in_range
}

/// The values that a property takes, in words.
fn wanted(property: &Value) -> String {
    if let Some(options) = property["enum"].as_array() {
        let options: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", options.join(", "));
    }
    let article = match property["type"].as_str() {
        Some("integer") => "an integer",
        Some("number") => "a number",
        _ if property["minLength"].is_u64() => "a string that is not empty",
        _ => "a string",
    };
    match (property["minimum"].as_f64(), property["maximum"].as_f64()) {
        (Some(least), Some(most)) => format!("{article} from {least} to {most}"),
        _ => article.into(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use serde_json::{Value, json};

    fn complaint(arguments: Value) -> String {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 1 },
                "action": { "type": "string", "enum": ["on", "off"] },
                "level": { "type": "integer", "minimum": 0, "maximum": 99 },
            },
            "required": ["name"],
        });
        let object = |value: &Value| value.as_object().expect("an object").clone();
        check("dim", &object(&schema), &object(&arguments)).expect_err("a complaint")
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (arguments, words) in [
            (json!({}), "Missing required parameter 'name' for dim"),
            (json!({ "name": "" }), "Parameter 'name' of dim must be a string that is not empty, not \"\""),
            (json!({ "name": 5 }), "Parameter 'name' of dim must be a string that is not empty, not 5"),
            (
                json!({ "name": "x", "action": "fly" }),
                "Parameter 'action' of dim must be one of on, off, not \"fly\"",
            ),
            (
                json!({ "name": "x", "level": 100 }),
                "Parameter 'level' of dim must be an integer from 0 to 99, not 100",
            ),
            (
                json!({ "name": "x", "level": 1.5 }),
                "Parameter 'level' of dim must be an integer from 0 to 99, not 1.5",
            ),
            (
                json!({ "name": "x", "device_name": 1 }),
                "Unknown parameter 'device_name' for dim, which takes action, level, name",
            ),
        ] {
            assert_eq!(complaint(arguments), words);
        }
        let long = complaint(json!({ "name": "x", "level": "ä".repeat(10_000) }));
        assert!(long.len() < 200, "{long}");
    }

    #[test]
    fn a_whole_number_may_have_a_point() {
        let schema = json!({ "properties": { "level": { "type": "integer" } } });
        let arguments = json!({ "level": 1.0 });
        assert_eq!(
            check("dim", schema.as_object().expect("one"), arguments.as_object().expect("one")),
            Ok(())
        );
    }
}
