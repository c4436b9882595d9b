//! The tools that a request offers, found by what they do, whatever they and their parameters are called exactly.

use serde_json::{Map, Value};

use super::conversation::ToolCall;

/// A tool that can be called.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Value,
}

/// An argument: the possible names of its parameter, and its possible values, the best first.
pub(super) type Wanted<'a> = (&'a [&'a str], Vec<Value>);

/// The tool of this name among the offers, with or without a prefix before it.
pub(super) fn find<'a>(offers: &'a [Offer], name: &str) -> Option<&'a Offer> {
    let ends = |offer: &&Offer| {
        let own = offer.name.replace(['-', '.'], "_");
        own.strip_suffix(name).is_some_and(|prefix| prefix.is_empty() || prefix.ends_with('_'))
    };
    offers.iter().find(|offer| offer.name == name).or_else(|| offers.iter().find(ends))
}

impl Offer {
    /// A call with these arguments. None if the tool does not take them, or wants others.
    pub(super) fn call(&self, wanted: &[Wanted<'_>]) -> Option<ToolCall> {
        let mut arguments = Map::new();
        for (names, values) in wanted {
            let (name, property) = self.parameter(names)?;
            arguments.insert(name.into(), fitting(property, values)?);
        }
        let required = self.schema["required"].as_array().into_iter().flatten();
        let is_complete = required.filter_map(Value::as_str).all(|name| arguments.contains_key(name));
        is_complete.then(|| ToolCall { name: self.name.clone(), arguments: Value::Object(arguments) })
    }

    /// The parameter with one of these names, however it is written: `deviceName` is `device_name`.
    fn parameter(&self, names: &[&str]) -> Option<(&str, &Value)> {
        let properties = self.schema["properties"].as_object()?;
        names.iter().find_map(|wanted| {
            properties
                .iter()
                .find(|(name, _)| plain(name) == *wanted)
                .map(|(name, schema)| (name.as_str(), schema))
        })
    }

    /// The highest number that a parameter takes.
    pub(super) fn maximum(&self, names: &[&str]) -> Option<f64> {
        self.parameter(names)?.1["maximum"].as_f64()
    }
}

/// The first of the values that a parameter takes.
fn fitting(property: &Value, values: &[Value]) -> Option<Value> {
    let Some(choices) = property["enum"].as_array() else { return values.first().cloned() };
    values
        .iter()
        .find_map(|value| {
            choices.iter().find(|choice| match (choice.as_str(), value.as_str()) {
                (Some(choice), Some(value)) => plain(choice) == plain(value),
                _ => *choice == value,
            })
        })
        .cloned()
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn offer(name: &str, schema: Value) -> Offer {
        Offer { name: name.into(), description: String::new(), schema }
    }

    #[test]
    fn tools_go_by_their_name_with_any_prefix() {
        let offers = ["hub_datetime", "update_datetime_zone", "zwave.list-devices", "hub_volume", "volume"]
            .map(|name| offer(name, json!({})));
        let found = |name| find(&offers, name).map(|offer| offer.name.as_str());
        assert_eq!(found("datetime"), Some("hub_datetime"));
        assert_eq!(found("list_devices"), Some("zwave.list-devices"));
        assert_eq!(found("volume"), Some("volume"), "its own name goes first");
        assert_eq!(found("time"), None, "a part of a word is no name");
    }

    #[test]
    fn arguments_are_called_as_the_schema_says() {
        let control = offer(
            "control",
            json!({
                "properties": { "device_name": {}, "command": { "enum": ["TURN_ON", "TURN_OFF"] } },
                "required": ["device_name", "command"],
            }),
        );
        let device: Wanted<'_> = (&["devicename", "device"], vec![json!("Lamp")]);
        let on: Wanted<'_> = (&["action", "command"], vec![json!("on"), json!("turn_on")]);
        let call = control.call(&[device.clone(), on]).expect("a call");
        assert_eq!(call.arguments, json!({ "device_name": "Lamp", "command": "TURN_ON" }));
        assert_eq!(control.call(std::slice::from_ref(&device)), None, "the command is missing");
        assert_eq!(control.call(&[device.clone(), (&["command"], vec![json!("dim")])]), None);
        assert_eq!(control.call(&[device, (&["level"], vec![json!(3)])]), None);
    }
}
