//! Frames of Wyoming: a header in JSON on a line, then so many bytes of data in JSON, then so many of payload.

use std::{fmt, io};

use serde_json::{Map, Value};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Bytes of a header with its end of line: what the peers in Python take.
pub(super) const HEADER: usize = 64 * 1024;
/// Bytes of data. A hub takes far less.
pub(super) const DATA: usize = 64 * 1024;
/// Bytes of a payload, which is sound and not kept.
pub(super) const PAYLOAD: usize = 1024 * 1024;

/// What peers tell each other. A payload is not kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its `type`.
    pub kind: String,
    /// Its members.
    pub data: Map<String, Value>,
}

/// Why bytes are not an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The header is too long.
    LongHeader,
    /// The header is not a JSON object with a type.
    Header,
    /// A length is not a number, or too large.
    Length,
    /// The data is not a JSON object.
    Data,
    /// The stream ends in the middle.
    Cut,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LongHeader => "a header has no end",
            Self::Header => "a header is not that of an event",
            Self::Length => "a length is not possible",
            Self::Data => "the data of an event is not JSON",
            Self::Cut => "an event ends in the middle",
        })
    }
}

/// Why there is no event.
#[derive(Debug)]
pub enum ReadError {
    /// The peer sent something else.
    Peer(Malformed),
    /// The stream broke.
    Transport(io::Error),
}

impl From<Malformed> for ReadError {
    fn from(malformed: Malformed) -> Self {
        Self::Peer(malformed)
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Peer(Malformed::Cut),
            _ => Self::Transport(error),
        }
    }
}

impl Event {
    /// An event with these members; none if `data` is no object.
    pub fn new(kind: &str, data: Value) -> Self {
        let data = match data {
            Value::Object(data) => data,
            _ => Map::new(),
        };
        Self { kind: kind.into(), data }
    }

    /// The member `name`, if it is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.data.get(name)?.as_str()
    }

    /// Reads the next event; none at the end. Dropping the future loses what was read of it.
    pub async fn read(from: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Self>, ReadError> {
        let mut line = Vec::new();
        (&mut *from).take(HEADER as u64).read_until(b'\n', &mut line).await?;
        match line.last() {
            None => return Ok(None),
            Some(b'\n') => {}
            Some(_) if line.len() < HEADER => return Err(Malformed::Cut.into()),
            Some(_) => return Err(Malformed::LongHeader.into()),
        }
        let mut header: Map<String, Value> = serde_json::from_slice(&line).map_err(|_| Malformed::Header)?;
        let length = |name: &str, most: usize| match header.get(name) {
            None | Some(Value::Null) => Ok(0),
            Some(length) => {
                let length = length.as_u64().and_then(|length| usize::try_from(length).ok());
                length.filter(|length| *length <= most).ok_or(Malformed::Length)
            }
        };
        let (data_length, payload_length) =
            (length("data_length", DATA)?, length("payload_length", PAYLOAD)?);
        let Some(Value::String(kind)) = header.remove("type") else { return Err(Malformed::Header.into()) };
        let mut event = Self::new(&kind, header.remove("data").unwrap_or_default());
        if data_length > 0 {
            let mut bytes = vec![0; data_length];
            from.read_exact(&mut bytes).await?;
            let data: Map<String, Value> = serde_json::from_slice(&bytes).map_err(|_| Malformed::Data)?;
            event.data.extend(data);
        }
        let mut payload = (&mut *from).take(payload_length as u64);
        let skipped = tokio::io::copy_buf(&mut payload, &mut tokio::io::sink()).await?;
        if skipped < payload_length as u64 { Err(Malformed::Cut.into()) } else { Ok(Some(event)) }
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut header = serde_json::json!({ "type": self.kind, "version": VERSION });
        let data = match self.data.is_empty() {
            true => String::new(),
            false => Value::Object(self.data.clone()).to_string(),
        };
        if !data.is_empty() {
            header["data_length"] = data.len().into();
        }
        format!("{header}\n{data}").into_bytes()
    }

    /// Writes it.
    pub async fn write(&self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        to.write_all(&self.to_bytes()).await?;
        to.flush().await
    }
}

/// The version of Wyoming that this follows.
const VERSION: &str = "1.10.2";
