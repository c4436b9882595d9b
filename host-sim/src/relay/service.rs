//! Where the services are that hubs ask, and what they want to know of the one who asks.

pub use hub_core::chat::Provider;
use serde_json::Value;

/// A service as the relay sees it.
pub trait Web: Sized {
    /// The service of this name.
    fn named(name: &str) -> Option<Self>;

    /// Where in the environment its key is. Ollama wants none.
    fn key_variable(self) -> Option<&'static str>;

    /// The server that is asked unless another is given.
    fn usual_server(self) -> &'static str;

    /// Where on a server it is: the version, where there is one, and the rest.
    fn path(self) -> (&'static str, &'static str);

    /// Tokens in and out, as far as a reply tells them.
    fn tokens(self, reply: &Value) -> Option<(u64, u64)>;
}

impl Web for Provider {
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
        let (read, written) = match self {
            Self::Anthropic => (&reply["usage"]["input_tokens"], &reply["usage"]["output_tokens"]),
            Self::OpenAi => (&reply["usage"]["prompt_tokens"], &reply["usage"]["completion_tokens"]),
            Self::Ollama => (&reply["prompt_eval_count"], &reply["eval_count"]),
        };
        Some((read.as_u64()?, written.as_u64()?))
    }
}
