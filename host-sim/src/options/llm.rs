//! Who answers what people say.

use std::str::FromStr;

/// Who answers what people say, written `demo`, `none` or `PROVIDER:MODEL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Llm {
    /// A small grammar.
    Demo,
    /// Nobody.
    None,
    /// Somebody else's relay, at a broker elsewhere. Not written: it is so unless something else is said.
    Elsewhere,
    /// A model.
    Model {
        /// `anthropic`, `openai` or `ollama`.
        provider: String,
        /// As the provider calls it.
        model: String,
    },
}

impl Llm {
    /// The default rule of a hub that is to be answered by this one.
    pub fn rule(&self) -> String {
        let (service, model) = match self {
            Self::Demo => ("ollama", "demo"),
            // The hub's own rule.
            Self::None | Self::Elsewhere => return String::new(),
            Self::Model { provider, model } => (provider.as_str(), model.as_str()),
        };
        let tools = serde_json::json!({ "enabled": true });
        let mut rule =
            serde_json::json!({ "name": "default", "service": service, "model": model, "tools": tools });
        if service == "ollama" {
            // Many of its models think aloud for longer than an answer may be, unless they are told not to.
            rule["thinking"] = false.into();
        }
        rule.to_string()
    }
}

impl FromStr for Llm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "demo" => Ok(Self::Demo),
            None if text == "none" => Ok(Self::None),
            Some((provider @ ("anthropic" | "openai" | "ollama"), model)) if !model.is_empty() => {
                Ok(Self::Model { provider: provider.into(), model: model.into() })
            }
            _ => Err("it is demo, none, anthropic:MODEL, openai:MODEL or ollama:MODEL".into()),
        }
    }
}
