//! What the hub publishes about itself on `info`.
//!
//! Payloads of a fixed shape (this one, events and notices) are written by serde-json-core. It cannot write JSON text as it
//! is, nor cut what does not fit: replies and questions, which need both, are written by [`crate::json::Writer`].

use core::ops::ControlFlow;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::Parts;
use crate::json::Overflow;
use crate::limits;
use crate::tool::{EPILOGUE, Registry, ToolSet};

/// The limits that people meet, by name: of what is longer or more, `docs/limits.md` says what becomes.
pub const LIMITS: [(&str, usize); 19] = [
    ("request", limits::REQUEST),
    ("reply", limits::REPLY),
    ("jobs", limits::JOBS),
    ("response_topic", limits::RESPONSE_TOPIC),
    ("correlation_data", limits::CORRELATION),
    ("transaction", limits::TRANSACTION),
    ("tools", limits::TOOLS),
    ("tool_result", limits::REPLY - EPILOGUE),
    ("document", limits::DOCUMENT),
    ("turns", limits::TURNS),
    ("conversations", limits::CONVERSATIONS),
    ("conversation", limits::HISTORY),
    ("last_turns", limits::LAST_TURNS),
    ("prompt", limits::PROMPT),
    ("llm_request", limits::MQTT_SEND),
    ("llm_reply", limits::LLM_REPLY),
    ("llm_tool_calls", limits::CALLS_AT_ONCE),
    ("llm_tool_result", limits::RESULT),
    ("llm_rounds", limits::ITERATIONS_MOST as usize),
];

#[derive(Serialize)]
struct Info<'a> {
    name: &'a str,
    version: &'a str,
    target: &'a str,
    link: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    controller: Option<ControllerInfo<'a>>,
    tools: usize,
    #[serde(skip_serializing_if = "LeftOut::is_empty")]
    tools_left_out: LeftOut<'a>,
    limits: Limits,
}

#[derive(Serialize)]
struct ControllerInfo<'a> {
    name: &'a str,
    version: &'a str,
    tools: usize,
    left_out: usize,
}

/// The names of tools for which a question to a model had no room.
struct LeftOut<'a>(ToolSet, &'a Registry);

impl LeftOut<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for LeftOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut result = Ok(());
        self.0.each(self.1, |name| {
            result = list.serialize_element(name);
            if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        result.and_then(|()| list.end())
    }
}

/// All [`LIMITS`].
struct Limits;

impl Serialize for Limits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(LIMITS.len()))?;
        LIMITS.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

/// Writes the payload of `info`, and returns its length.
pub(super) fn write(parts: &Parts<'_>, buffer: &mut [u8]) -> Result<usize, Overflow> {
    parts.status.read(|state, controller| {
        let known = !controller.name.is_empty();
        let info = Info {
            name: parts.identity.name(),
            version: env!("CARGO_PKG_VERSION"),
            target: parts.config.target,
            link: state.as_str(),
            controller: known.then(|| ControllerInfo {
                name: &controller.name,
                version: &controller.version,
                tools: controller.tools,
                left_out: controller.left_out,
            }),
            tools: parts.registry.len(),
            tools_left_out: LeftOut(parts.conversations.left_out(parts.registry), parts.registry),
            limits: Limits,
        };
        serde_json_core::to_slice(&info, buffer).map_err(|_| Overflow)
    })
}
