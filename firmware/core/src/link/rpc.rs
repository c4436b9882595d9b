//! JSON-RPC 2.0: messages of the controller and of the hub.

use heapless::String;

use crate::json::{Items, Kind, Overflow, Text, Value, Writer};
use crate::limits;
use crate::pending::Id;
use crate::text;

/// The versions of MCP that begin with a handshake, the newest first.
pub const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The version of MCP without one: every request names the client.
pub(super) const STATELESS: &str = "2026-07-28";

/// What the hub asks of the controller on somebody's behalf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Method {
    /// Runs a tool. The only one that changes something, and all zeros as a new hub's memory is.
    CallTool,
    /// Lists resources.
    ListResources,
    /// Reads a resource.
    ReadResource,
    /// Has changes of a resource notified.
    Subscribe,
}

impl Method {
    /// Its name in a request.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
            Self::ListResources => "resources/list",
            Self::ReadResource => "resources/read",
            Self::Subscribe => "resources/subscribe",
        }
    }
}

/// JSON-RPC's code for an unknown method.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

/// One message from the controller.
#[derive(Clone, Copy, Debug)]
pub enum Incoming<'a> {
    /// The answer to one of the hub's requests.
    Result {
        /// To which one; none if it is not a number of the hub's.
        id: Option<Id>,
        /// What was asked for.
        result: Value<'a>,
    },
    /// An error in place of an answer.
    Error {
        /// To which request; unknown if the controller could not read it.
        id: Option<Id>,
        /// What the controller reports.
        error: RpcError<'a>,
    },
    /// A request by the controller.
    Request {
        /// Returned in the answer as it is.
        id: Value<'a>,
        /// What it asks for.
        method: Text<'a>,
    },
    /// A message without an answer.
    Notification {
        /// What it is about.
        method: Text<'a>,
        /// The details.
        params: Option<Value<'a>>,
    },
}

impl<'a> Incoming<'a> {
    /// The message, if `value` is one of JSON-RPC 2.0.
    pub fn read(value: Value<'a>) -> Option<Self> {
        let version = value.get("jsonrpc")?.as_text()?;
        if version != *"2.0" {
            return None;
        }
        let id = value.get("id");
        if let Some(method) = value.get("method") {
            let method = method.as_text()?;
            return Some(match id {
                Some(id) => Self::Request { id, method },
                None => Self::Notification { method, params: value.get("params") },
            });
        }
        let number = id.and_then(|id| id.as_i64()).and_then(|id| id.try_into().ok());
        match (value.get("error"), value.get("result")) {
            (Some(error), _) => {
                let code = error.get("code").and_then(|code| code.as_i64());
                let message = error.get("message").and_then(|message| message.as_text());
                Some(Self::Error { id: number, error: RpcError { code, message, data: error.get("data") } })
            }
            (None, Some(result)) => Some(Self::Result { id: number, result }),
            (None, None) => None,
        }
    }

    /// The messages of a line: one, or a batch of them.
    pub fn all(line: Value<'a>) -> impl Iterator<Item = Self> + use<'a> {
        let batch: Option<Items<'a>> = (line.kind() == Kind::Array).then(|| line.items());
        let single = if batch.is_some() { None } else { Self::read(line) };
        single.into_iter().chain(batch.into_iter().flatten().filter_map(Self::read))
    }
}

/// The request that a line answers which is not valid JSON, as far as that can be seen.
pub(super) fn broken_answer(line: &[u8]) -> Option<Id> {
    let message = Value::unchecked(line)?;
    let is_answer = message.get("result").is_some() || message.get("error").is_some();
    message.get("id").filter(|_| is_answer)?.as_i64()?.try_into().ok()
}

/// A JSON-RPC error.
#[derive(Clone, Copy, Debug)]
pub struct RpcError<'a> {
    /// Its number.
    pub code: Option<i64>,
    /// Its text.
    pub message: Option<Text<'a>>,
    /// Details.
    pub data: Option<Value<'a>>,
}

impl RpcError<'_> {
    /// Its text, for the log.
    pub(super) fn words(&self) -> String<{ limits::QUOTE }> {
        self.message.map(|message| message.excerpt()).unwrap_or_default()
    }

    /// Whether it says that there was no handshake.
    pub(super) fn wants_handshake(&self) -> bool {
        // No common code exists for it; all known texts contain "initialized", or, of servers that also do without a handshake,
        // that a request has no "_meta". Searched by hand: `contains` brings 1.5 KB.
        let words = self.words();
        [&b"nitializ"[..], b"_meta"].iter().any(|part| text::find(words.as_bytes(), part).is_some())
    }
}

/// One message to the controller.
#[derive(Clone, Copy, Debug)]
pub enum Outgoing<'a> {
    /// Begins the handshake, offering a version of MCP.
    Initialize(Id, &'static str),
    /// Ends the handshake.
    Initialized,
    /// Asks a controller that needs no handshake who it is.
    Discover(Id),
    /// Asks for the tools.
    ListTools {
        /// The number of the request.
        id: Id,
        /// Where the last page ended.
        cursor: Option<&'a str>,
        /// Whether the request names the client.
        stateless: bool,
    },
    /// Cancels a call.
    Cancelled(Id),
    /// Asks for a sign of life.
    Ping(Id),
    /// Answers the controller's ping.
    Pong(Value<'a>),
    /// Answers a request with an unknown method.
    Unknown(Value<'a>),
}

impl Outgoing<'_> {
    /// Writes the message, and returns its length.
    pub fn write(&self, buffer: &mut [u8]) -> Result<usize, Overflow> {
        let mut writer = Writer::new(buffer);
        writer.object(|message| {
            message.field("jsonrpc", "2.0");
            self.members(message);
        });
        writer.finish()
    }

    fn members(&self, message: &mut Writer<'_>) {
        match *self {
            Self::Initialize(id, version) => {
                request(message, id, "initialize", |params| {
                    params.field("protocolVersion", version);
                    params.key("capabilities");
                    params.object(|_| {});
                    params.key("clientInfo");
                    write_client(params);
                });
            }
            Self::Initialized => message.field("method", "notifications/initialized"),
            Self::Discover(id) => request(message, id, "server/discover", write_meta),
            Self::ListTools { id, cursor, stateless } => {
                request(message, id, "tools/list", |params| {
                    if let Some(cursor) = cursor {
                        params.field("cursor", cursor);
                    }
                    if stateless {
                        write_meta(params);
                    }
                });
            }
            Self::Cancelled(id) => {
                message.field("method", "notifications/cancelled");
                message.key("params");
                message.object(|params| {
                    params.field("requestId", id);
                    params.field("reason", "no answer in time");
                });
            }
            Self::Ping(id) => {
                message.field("id", id);
                message.field("method", "ping");
            }
            Self::Pong(id) => {
                message.field("id", id);
                message.key("result");
                message.object(|_| {});
            }
            Self::Unknown(id) => {
                message.field("id", id);
                message.key("error");
                message.object(|error| {
                    error.field("code", METHOD_NOT_FOUND);
                    error.field("message", "Method not found");
                });
            }
        }
    }
}

/// The pieces of a call with these parameters, a JSON object. Together they are one line.
pub(super) fn call_pieces<'a>(
    id: Id,
    method: Method,
    params: &'a [u8],
    stateless: bool,
    buffer: &'a mut [u8],
) -> Result<[&'a [u8]; 4], Overflow> {
    let mut writer = Writer::new(buffer);
    let _ = writer.open();
    writer.field("jsonrpc", "2.0");
    writer.field("id", id);
    writer.field("method", method.name());
    writer.key("params");
    if stateless {
        let _ = writer.open();
        write_meta(&mut writer);
    }
    let length = writer.finish()?;
    let head = buffer.get(..length).unwrap_or_default();
    Ok(match params.split_first() {
        // The parameters go on in the object that the head has opened.
        Some((b'{', members)) if stateless => [head, b",", members, b"}\n"],
        _ => [head, b"", params, b"}\n"],
    })
}

fn request(message: &mut Writer<'_>, id: Id, method: &str, params: impl FnOnce(&mut Writer<'_>)) {
    message.field("id", id);
    message.field("method", method);
    message.key("params");
    message.object(params);
}

/// Writes the client's name and version.
fn write_client(out: &mut Writer<'_>) {
    out.object(|client| {
        client.field("name", "hearthwave");
        client.field("version", env!("CARGO_PKG_VERSION"));
    });
}

/// Writes the `_meta` that a request without a handshake has.
fn write_meta(params: &mut Writer<'_>) {
    params.key("_meta");
    params.object(|meta| {
        meta.field("io.modelcontextprotocol/protocolVersion", STATELESS);
        meta.key("io.modelcontextprotocol/clientInfo");
        write_client(meta);
        meta.key("io.modelcontextprotocol/clientCapabilities");
        meta.object(|_| {});
    });
}
