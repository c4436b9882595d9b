//! The language model that answers.

use std::str::FromStr;

use host_relay::Provider;
use host_relay::ProviderExt as _;

/// The language model that answers, written `demo`, `none` or `PROVIDER:MODEL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Llm {
    /// The demo model: a small grammar in this process.
    Demo,
    /// None: only tool calls are answered.
    None,
    /// That of a relay at another broker. It cannot be written: it is the default with `--broker`.
    Elsewhere,
    /// A provider's model.
    Model {
        /// Its provider.
        service: Provider,
        /// The provider's name for it.
        model: String,
    },
}

impl Llm {
    /// The default rule of a hub that uses this model; empty for the hub's own.
    pub fn rule(&self) -> String {
        let (service, model) = match self {
            Self::Demo => (Provider::Ollama, "demo"),
            Self::None | Self::Elsewhere => return String::new(),
            Self::Model { service, model } => (*service, model.as_str()),
        };
        let tools = serde_json::json!({ "enabled": true });
        let mut rule = serde_json::json!({ "name": "default", "service": service.name(), "model": model, "tools": tools });
        if service == Provider::Ollama {
            // Many of its models write longer thoughts than a hub takes, unless they are told not to think.
            rule["thinking"] = false.into();
        }
        rule.to_string()
    }
}

impl FromStr for Llm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let model = |(name, model): (&str, &str)| {
            let service = Provider::named(name).filter(|_| !model.is_empty())?;
            Some(Self::Model { service, model: model.into() })
        };
        match text {
            "demo" => Ok(Self::Demo),
            "none" => Ok(Self::None),
            _ => text
                .split_once(':')
                .and_then(model)
                .ok_or_else(|| "must be demo, none, anthropic:MODEL, openai:MODEL or ollama:MODEL".into()),
        }
    }
}
