//! Sends a typed line to the hub as a request.

use std::time::Duration;

use host_sim::caller::{ControllerState, NoAnswer, ask};
use host_sim::hub::Settings;
use host_sim::network::Network;
use host_sim::options::Llm;
use host_sim::options::sim::Options;
use hub_core::json;
use hub_core::tools::{EXAMPLE_TOOLS, TOOLS};
use serde_json::{Value, json};

use crate::controller::Controller;

/// How long a question may take, from the start of the hub.
const PATIENCE: Duration = Duration::from_secs(150);

/// What a line is, by its looks.
#[derive(Debug, PartialEq)]
enum Line<'a> {
    /// `{json}`: a request to call a tool, as it is sent.
    Request,
    /// `NAME {json}`, or a name as nobody says it, `list_devices`: a call, whether or not there is such a tool. What stands in
    /// braces may be no JSON.
    Call { name: &'a str, arguments: &'a str },
    /// One word: a call without arguments if it names a tool, else talk.
    Word(&'a str),
    /// What a person says to the model.
    Talk,
}

impl<'a> Line<'a> {
    fn read(text: &'a str) -> Self {
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        };
        match text.find('{').map(|brace| text.split_at(brace)) {
            Some(("", _)) => Self::Request,
            Some((name, arguments)) if is_name(name.trim_end()) => {
                Self::Call { name: name.trim_end(), arguments }
            }
            None if is_name(text) && text.contains('_') => Self::Call { name: text, arguments: "{}" },
            None if is_name(text) => Self::Word(text),
            _ => Self::Talk,
        }
    }
}

/// Asks the hub: a tool call is sent as it is, any other text is for the model, if there is one.
///
/// Anything that looks like a call is never sent to the model, even if nobody offers that tool now: the hub explains
/// why not. An unknown tool may be the controller's, and so may one that has the undecorated name of a hub tool. In
/// both cases the line waits for a controller that is just connecting.
pub(crate) async fn say(
    network: Network,
    settings: &Settings,
    options: &Options,
    controller: &Controller,
    text: &str,
) -> Result<String, NoAnswer> {
    let text = text.trim();
    let unknown_owner = async |name: &str| await_owner(network.clone(), settings, controller, name).await;
    let (request, payload) = match Line::read(text) {
        Line::Request => {
            let request: Value = serde_json::from_str(text).unwrap_or_default();
            if let Some(name) = request["name"].as_str()
                && let Some(refusal) = unknown_owner(name).await?
            {
                return Ok(refusal);
            }
            ("tool/call", text.to_owned())
        }
        Line::Call { name, arguments } => {
            // Read by itself: closing braces could make something else of the request.
            if let Err(error) = json::Value::parse(arguments.as_bytes()) {
                let error = format!("What follows '{name}' is {error} of {arguments}");
                return Ok(refusal(&error, "invalid_json"));
            }
            if let Some(refusal) = unknown_owner(name).await? {
                return Ok(refusal);
            }
            ("tool/call", call(name, arguments))
        }
        Line::Word(word) if is_offered(network.clone(), settings, word).await? => {
            if let Some(refusal) = unknown_owner(word).await? {
                return Ok(refusal);
            }
            ("tool/call", call(word, "{}"))
        }
        Line::Word(_) | Line::Talk if options.llm == Llm::None => {
            let error = "There is no language model (--llm none), and this is no tool call such as \
                         echo {\"text\":\"hello\"}";
            return Ok(refusal(error, "no_model"));
        }
        Line::Word(_) | Line::Talk => ("chat", json!({ "text": text }).to_string()),
    };
    let reply = ask(network, settings, request, payload.as_bytes(), PATIENCE).await?;
    Ok(String::from_utf8_lossy(&reply).into_owned())
}

/// The hub's own tools that work with the controller's devices.
const DEVICE_TOOLS: [&str; 2] = ["home_status", "undo"];

/// Whether a line may need the controller. A call of one of the hub's own tools by its full name does not, unless the
/// tool is about devices.
pub(crate) async fn needs_controller(
    network: Network,
    settings: &Settings,
    options: &Options,
    text: &str,
) -> Result<bool, NoAnswer> {
    let text = text.trim();
    let request: Value;
    let name = match Line::read(text) {
        Line::Request => {
            request = serde_json::from_str(text).unwrap_or_default();
            request["name"].as_str().unwrap_or_default()
        }
        Line::Call { name, .. } | Line::Word(name) => name,
        Line::Talk => return Ok(options.llm != Llm::None),
    };
    let is_about_devices = DEVICE_TOOLS.iter().any(|own| has_own_name(name, own));
    Ok(is_about_devices || !names(network, settings).await?.iter().any(|known| known == name))
}

fn call(name: &str, arguments: &str) -> String {
    format!("{{\"name\":\"{name}\",\"arguments\":{arguments}}}")
}

/// What the hub would say, if it had been asked.
pub(crate) fn refusal(error: &str, error_type: &str) -> String {
    format!("{{\"success\":false,\"error\":{},\"error_type\":\"{error_type}\"}}", json!(error))
}

/// Waits for the controller if a call of this name may be for it. Returns a refusal if it is still unknown whose tool
/// it is.
async fn await_owner(
    network: Network,
    settings: &Settings,
    controller: &Controller,
    name: &str,
) -> Result<Option<String>, NoAnswer> {
    let listed = names(network, settings).await?;
    let own = own_names(&listed).find(|own| *own == name);
    // The names are listed as models see them, without dots.
    if listed.contains(&name.replace('.', "_")) || own.is_some() && controller.was_ready.get() {
        return Ok(None);
    }
    // If the controller is not ready in time, the hub answers with an error.
    let state = controller.wait().await;
    Ok(own.filter(|_| state == ControllerState::Starting).map(|own| {
        let error = format!(
            "The controller is still starting and has not listed its tools: '{own}' may be one of them. Nothing was done. \
             The hub's own tool has its prefix before that name"
        );
        refusal(&error, "unavailable")
    }))
}

/// Whether there is a tool of that name now.
async fn is_offered(network: Network, settings: &Settings, name: &str) -> Result<bool, NoAnswer> {
    let listed = names(network, settings).await?;
    // The names are listed as models see them, without dots.
    let name = &name.replace('.', "_");
    Ok(listed.iter().any(|known| known == name) || own_names(&listed).any(|own| own == name))
}

/// The names without the prefix, which the hub's own tools among the listed have too.
pub(crate) fn own_names(listed: &[String]) -> impl Iterator<Item = &'static str> {
    let all = TOOLS.iter().chain(EXAMPLE_TOOLS).map(|tool| tool.name);
    all.filter(move |own| listed.iter().any(|known| has_own_name(known, own)))
}

/// Whether a name is this one with a prefix, whatever the prefix is now: it can be changed while the hub runs.
fn has_own_name(name: &str, own: &str) -> bool {
    name.strip_suffix(own).is_some_and(|prefix| prefix.ends_with('_'))
}

/// A line that would have worked, if the reply refuses the arguments of one of the hub's own tools.
pub(crate) fn example(reply: &str) -> Option<String> {
    let reply: Value = serde_json::from_str(reply).ok()?;
    let name = reply["tool_name"].as_str().filter(|_| reply["error_type"] == "invalid_parameters")?;
    let is_it = |own: &str| name.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'));
    let tool = TOOLS.iter().chain(EXAMPLE_TOOLS).find(|tool| is_it(tool.name))?;
    // `name({json})  ->  result`
    let (call, _) = tool.examples.first()?.code.split_once("  ->  ")?;
    let arguments = call.strip_prefix(tool.name)?.strip_prefix('(')?.strip_suffix(')')?;
    Some(format!("{name} {arguments}"))
}

/// The names of all tools.
pub(crate) async fn names(network: Network, settings: &Settings) -> Result<Vec<String>, NoAnswer> {
    let mut names = Vec::new();
    let mut request = json!({ "format": "anthropic" });
    loop {
        let reply =
            ask(network.clone(), settings, "tool/list", request.to_string().as_bytes(), PATIENCE).await?;
        let reply: Value = serde_json::from_slice(&reply).unwrap_or_default();
        let tools = reply["tools"].as_array().into_iter().flatten();
        names.extend(tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)));
        match reply["next"].as_str() {
            Some(next) => request["after"] = next.into(),
            None => return Ok(names),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EXAMPLE_TOOLS, Line, TOOLS, example};
    use hub_core::json::Value;

    #[test]
    fn every_tool_of_the_hub_has_a_line_to_type() {
        for tool in TOOLS.iter().chain(EXAMPLE_TOOLS) {
            let refused = format!(r#"{{"error_type":"invalid_parameters","tool_name":"hub_{}"}}"#, tool.name);
            let line = example(&refused).expect(tool.name);
            match Line::read(&line) {
                Line::Call { name, arguments } => {
                    assert_eq!(name, format!("hub_{}", tool.name));
                    Value::parse(arguments.as_bytes()).expect(&line);
                }
                other => panic!("{line}: {other:?}"),
            }
        }
        for reply in [
            r#"{"error_type":"timeout","tool_name":"echo"}"#,
            r#"{"error_type":"invalid_parameters","tool_name":"control_zwave_device"}"#,
            "no JSON",
        ] {
            assert_eq!(example(reply), None, "{reply}");
        }
    }

    #[test]
    fn a_name_and_braces_are_a_call() {
        let call = |name, arguments| Line::Call { name, arguments };
        for (text, line) in [
            ("hub_echo {\"a\":1}", call("hub_echo", "{\"a\":1}")),
            ("echo{}", call("echo", "{}")),
            ("turn_on {no json", call("turn_on", "{no json")),
            ("{}", Line::Request),
            ("{\"name\":", Line::Request),
            ("datetime", Line::Word("datetime")),
            ("list_devices", call("list_devices", "{}")),
            ("datetime?", Line::Talk),
            ("turn on {the light}", Line::Talk),
            ("@status {x}", Line::Talk),
            ("@status", Line::Talk),
            ("good morning", Line::Talk),
            ("", Line::Talk),
        ] {
            assert_eq!(Line::read(text), line, "{text}");
        }
    }
}
