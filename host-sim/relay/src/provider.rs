//! The services that hubs ask, as HTTP servers.

pub use hub_mqtt::model::Provider;
use serde_json::Value;

/// A service as an HTTP server.
pub trait ProviderExt: Sized {
    /// The service of this name.
    fn named(name: &str) -> Option<Self>;

    /// The environment variable with its key. Ollama needs none.
    fn key_variable(self) -> Option<&'static str>;

    /// The server that is asked unless another is given.
    fn usual_server(self) -> &'static str;

    /// Its path on a server: the version, and the rest.
    fn path(self) -> (&'static str, &'static str);

    /// Tokens in and out, if the reply counts them.
    fn tokens(self, reply: &Value) -> Option<(u64, u64)>;
}

impl ProviderExt for Provider {
    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|service| service.name() == name)
    }

    fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Ollama => None,
        }
    }

    fn usual_server(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi => "https://api.openai.com",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    fn path(self) -> (&'static str, &'static str) {
        match self {
            Self::Anthropic => ("/v1", "/messages"),
            Self::OpenAi => ("/v1", "/chat/completions"),
            Self::Ollama => ("/api", "/chat"),
        }
    }

    fn tokens(self, reply: &Value) -> Option<(u64, u64)> {
        let (input, output) = match self {
            Self::Anthropic => (&reply["usage"]["input_tokens"], &reply["usage"]["output_tokens"]),
            Self::OpenAi => (&reply["usage"]["prompt_tokens"], &reply["usage"]["completion_tokens"]),
            Self::Ollama => (&reply["prompt_eval_count"], &reply["eval_count"]),
        };
        Some((input.as_u64()?, output.as_u64()?))
    }
}
