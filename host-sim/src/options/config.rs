//! Options of `cargo sim` from a file.

use std::path::Path;

use serde_json::Value;

/// The options that a file may hold.
pub(super) const MEMBERS: [&str; 10] =
    ["hub_id", "broker", "ca", "listen", "link", "console", "llm", "llm_url", "search_url", "state"];

/// The members of a file, by the names of their options. The error names the file.
pub(super) fn read(path: &Path) -> Result<Vec<(&'static str, String)>, String> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    parse(&text).map_err(|error| format!("{name}: {error}"))
}

fn parse(text: &str) -> Result<Vec<(&'static str, String)>, String> {
    // The error does not show the text: a password may be in it.
    let value: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let Value::Object(members) = value else { return Err("it is not a JSON object".into()) };
    let option = |(name, value): (String, Value)| {
        let known = MEMBERS.iter().find(|known| **known == name);
        let known = known.ok_or_else(|| format!("'{name}' is unknown; there are {}", MEMBERS.join(", ")))?;
        match value {
            Value::String(text) => Ok((*known, text)),
            _ => Err(format!("'{name}' must be a text in quotes")),
        }
    };
    members.into_iter().map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn members_are_options() {
        assert_eq!(parse("{}"), Ok(vec![]));
        let two = parse(r#"{ "llm": "none", "hub_id": "attic" }"#).expect("options");
        assert_eq!(two, [("hub_id", "attic".to_owned()), ("llm", "none".to_owned())]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("", "not JSON"),
            (r#"{"broker":"mqtt://me:s3cret@h" "#, "not JSON"),
            ("[]", "not a JSON object"),
            (r#"{"hub":"x"}"#, "'hub' is unknown; there are hub_id, broker"),
            (r#"{"once":"x"}"#, "'once' is unknown"),
            (r#"{"hub_id":7}"#, "'hub_id' must be a text"),
            (r#"{"llm":null}"#, "'llm' must be a text"),
        ] {
            let error = parse(text).expect_err("it is wrong");
            assert!(error.contains(part) && !error.contains("s3cret"), "{text} gave: {error}");
        }
    }
}
