//! What the hub publishes about itself on `info`.
//!
//! Payloads of a fixed shape (this one, events and notices) are written by serde-json-core. It cannot write JSON text as it
//! is, nor cut what does not fit: replies and questions, which need both, are written by [`crate::json::Writer`].

use serde::Serialize;

use super::Parts;
use crate::json::Overflow;
use crate::limits;

#[derive(Serialize)]
struct Info<'a> {
    version: &'a str,
    target: &'a str,
    link: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    controller: Option<ControllerInfo<'a>>,
    tools: usize,
    limits: Limits,
}

#[derive(Serialize)]
struct ControllerInfo<'a> {
    name: &'a str,
    version: &'a str,
    tools: usize,
    left_out: usize,
}

/// What a caller has to keep to, in bytes.
#[derive(Serialize)]
struct Limits {
    request: usize,
    reply: usize,
    jobs: usize,
    response_topic: usize,
    correlation_data: usize,
    transaction: usize,
    llm_reply: usize,
}

/// Writes the payload of `info`, and returns its length.
pub(super) fn write(parts: &Parts<'_>, buffer: &mut [u8]) -> Result<usize, Overflow> {
    parts.status.read(|state, controller| {
        let known = !controller.name.is_empty();
        let info = Info {
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
            limits: Limits {
                request: limits::REQUEST,
                reply: limits::REPLY,
                jobs: limits::JOBS,
                response_topic: limits::RESPONSE_TOPIC,
                correlation_data: limits::CORRELATION,
                transaction: limits::TRANSACTION,
                llm_reply: limits::LLM_REPLY,
            },
        };
        serde_json_core::to_slice(&info, buffer).map_err(|_| Overflow)
    })
}
