//! Sends a typed line to the hub as a request.

use std::time::Duration;

use host_sim::caller::{NoAnswer, ask};
use host_sim::hub::Settings;
use host_sim::network::Network;
use host_sim::options::Llm;
use host_sim::options::sim::Options;
use serde_json::{Value, json};

/// How long a question may take, from the start of the hub.
const PATIENCE: Duration = Duration::from_secs(150);

/// Asks the hub. A tool call is sent as it is: a request in JSON, or `NAME {json}` with the name of a tool. Any other text
/// is for the model, if there is one.
pub(crate) async fn say(
    network: Network,
    settings: &Settings,
    options: &Options,
    text: &str,
) -> Result<String, NoAnswer> {
    let text = text.trim();
    let (request, payload) = if text.starts_with('{') {
        ("tool/call", text.to_owned())
    } else if let Some(call) = direct(network.clone(), settings, text).await? {
        ("tool/call", call)
    } else if options.llm == Llm::None {
        let error =
            "There is no language model (--llm none): type a tool call, like echo {\"text\":\"hello\"}";
        return Ok(json!({ "success": false, "error": error, "error_type": "no_model" }).to_string());
    } else {
        ("chat", json!({ "text": text }).to_string())
    };
    let reply = ask(network, settings, request, payload.as_bytes(), PATIENCE).await?;
    Ok(String::from_utf8_lossy(&reply).into_owned())
}

/// `NAME {json}` as a request, if there is a tool of that name, with or without the hub's prefix.
async fn direct(network: Network, settings: &Settings, text: &str) -> Result<Option<String>, NoAnswer> {
    let Some((name, arguments)) = split(text) else { return Ok(None) };
    // Whatever the prefix is now: it can be changed while the hub runs.
    let is_prefix = |prefix: &str| prefix.is_empty() || prefix.ends_with('_');
    let is_it = |known: &String| known.strip_suffix(name).is_some_and(is_prefix);
    let is_known = names(network, settings).await?.iter().any(is_it);
    // The hub checks the arguments.
    Ok(is_known.then(|| format!("{{\"name\":\"{name}\",\"arguments\":{arguments}}}")))
}

/// A name and what follows it in braces.
fn split(text: &str) -> Option<(&str, &str)> {
    let (name, arguments) = text.split_at(text.find('{')?);
    let name = name.trim_end();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    is_name.then_some((name, arguments))
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
    use super::split;

    #[test]
    fn a_name_and_braces_are_a_call() {
        assert_eq!(split("hub_echo {\"a\":1}"), Some(("hub_echo", "{\"a\":1}")));
        assert_eq!(split("echo{}"), Some(("echo", "{}")));
        for words in ["turn on {the light}", "echo", "", "@status {x}", "{}"] {
            assert_eq!(split(words), None, "{words}");
        }
    }
}
