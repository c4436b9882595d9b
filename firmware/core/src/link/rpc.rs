//! JSON-RPC 2.0: what a line says, and the lines the hub says.

use crate::json::{Overflow, Text, Value, Writer};

/// The version of MCP the hub asks for. It gets along with any that the controller answers.
const PROTOCOL_VERSION: &str = "2025-06-18";

/// JSON-RPC's code for a method that is not served.
const METHOD_NOT_FOUND: i64 = -32601;

/// The number of a request of the hub's.
pub type Id = u32;

/// One message from the controller.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// The answer to one of the hub's requests.
    Result {
        /// Which one.
        id: Id,
        /// What it asked for.
        result: Value<'a>,
    },
    /// The refusal of one of the hub's requests.
    Error {
        /// Which one; unknown if the controller could not read it.
        id: Option<Id>,
        /// In the controller's own words.
        message: Option<Text<'a>>,
    },
    /// A request by the controller.
    Request {
        /// To be given back as it is.
        id: Value<'a>,
        /// What it wants.
        method: Text<'a>,
    },
    /// Something the controller tells.
    Notification {
        /// What it is about.
        method: Text<'a>,
    },
}

impl<'a> Message<'a> {
    /// What `value` says, if it is a JSON-RPC 2.0 message.
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
                None => Self::Notification { method },
            });
        }
        let number = id.and_then(|id| id.as_i64()).and_then(|id| id.try_into().ok());
        match (value.get("error"), value.get("result")) {
            (Some(error), _) => Some(Self::Error {
                id: number,
                message: error.get("message").and_then(|message| message.as_text()),
            }),
            (None, Some(result)) => Some(Self::Result { id: number?, result }),
            (None, None) => None,
        }
    }
}

/// One message to the controller.
#[derive(Clone, Copy, Debug)]
pub enum Outgoing<'a> {
    /// Opens the conversation.
    Initialize(Id),
    /// Ends the handshake.
    Initialized,
    /// Asks for the tools, from where the last answer broke off.
    ListTools(Id, Option<&'a str>),
    /// Asks for a sign of life.
    Ping(Id),
    /// Gives one.
    Pong(Value<'a>),
    /// Answers a request that the hub does not serve.
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
        match self {
            Self::Initialize(id) => {
                message.field("id", *id);
                message.field("method", "initialize");
                message.key("params");
                message.object(|params| {
                    params.field("protocolVersion", PROTOCOL_VERSION);
                    params.key("capabilities");
                    params.object(|_| {});
                    params.key("clientInfo");
                    params.object(|client| {
                        client.field("name", "hearthwave");
                        client.field("version", env!("CARGO_PKG_VERSION"));
                    });
                });
            }
            Self::Initialized => message.field("method", "notifications/initialized"),
            Self::ListTools(id, cursor) => {
                message.field("id", *id);
                message.field("method", "tools/list");
                if let Some(cursor) = cursor {
                    message.key("params");
                    message.object(|params| params.field("cursor", *cursor));
                }
            }
            Self::Ping(id) => {
                message.field("id", *id);
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
