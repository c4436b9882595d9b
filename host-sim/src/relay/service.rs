//! The services that hubs ask, by the formats they speak.

use serde_json::Value;

use crate::demo::Format;

/// A service as hubs name it in their topics: whose HTTP bodies go to and fro.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's chat completions, and whoever follows them.
    OpenAi,
    /// Ollama's chat.
    Ollama,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAi, Self::Ollama];

    /// As it stands in a topic and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }

    /// The service of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|service| service.name() == name)
    }

    /// Where in the environment its key is. Ollama wants none.
    pub const fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Ollama => None,
        }
    }

    /// The server that is asked unless another is given.
    pub(super) const fn usual_server(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi => "https://api.openai.com",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    /// Where on a server it is: the version, where there is one, and the rest.
    pub(super) const fn path(self) -> (&'static str, &'static str) {
        match self {
            Self::Anthropic => ("/v1", "/messages"),
            Self::OpenAi => ("/v1", "/chat/completions"),
            Self::Ollama => ("/api", "/chat"),
        }
    }

    /// The format that the demo model speaks in its place.
    pub(super) const fn format(self) -> Format {
        match self {
            Self::Anthropic => Format::Anthropic,
            Self::OpenAi => Format::OpenAi,
            Self::Ollama => Format::Ollama,
        }
    }

    /// Tokens in and out, as far as a reply tells them.
    pub(super) fn tokens(self, reply: &Value) -> Option<(u64, u64)> {
        let (read, written) = match self {
            Self::Anthropic => (&reply["usage"]["input_tokens"], &reply["usage"]["output_tokens"]),
            Self::OpenAi => (&reply["usage"]["prompt_tokens"], &reply["usage"]["completion_tokens"]),
            Self::Ollama => (&reply["prompt_eval_count"], &reply["eval_count"]),
        };
        Some((read.as_u64()?, written.as_u64()?))
    }
}
