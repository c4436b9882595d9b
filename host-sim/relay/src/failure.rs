//! Why a request failed, sent to the hub in place of the reply.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::endpoint::Key;

/// Characters of a server's error message that a hub gets.
const MESSAGE: usize = 300;
/// Characters of a server's error type that a hub gets.
const KIND: usize = 64;

/// A request that failed, by whose fault. `who` is the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// This relay does not serve it.
    NotServed { who: String, served: String },
    /// There is no reply at all.
    Unreachable { who: String, authority: String, why: String },
    /// It answered with an HTTP error: its type of the error, and its message for people.
    Refused { who: String, status: u16, kind: Option<String>, message: Option<String> },
    /// The reply ended too early.
    BrokenOff { who: String, bytes: u64 },
    /// The reply is not a JSON object but `what`.
    Malformed { who: String, status: u16, what: &'static str },
    /// The reply is larger than the hub takes.
    TooLarge { who: String, bytes: u64, limit: usize },
    /// The reply is larger than the broker takes.
    Unsendable,
    /// The hub no longer waits.
    Late { who: String, after: Duration },
    /// Too many other requests wait.
    Busy,
    /// The relay was stopped.
    Stopped,
    /// This relay has no search service.
    NoSearch,
    /// The search has no query.
    NoQuery,
    /// The search service did not list results.
    NoResults,
    /// The relay's task for the request panicked.
    Internal,
}

impl Failure {
    /// The payload of the reply.
    pub(super) fn payload(&self) -> Vec<u8> {
        let mut error = json!({ "status": self.status(), "message": self.to_string() });
        if let Some(cause) = self.relay_cause() {
            error["relay"] = cause.into();
        }
        if let Self::Refused { kind: Some(kind), .. } = self {
            error["type"] = kind.as_str().into();
        }
        json!({ "error": error }).to_string().into_bytes()
    }

    /// The cause as hubs know it, unless the error is the server's.
    fn relay_cause(&self) -> Option<&'static str> {
        match self {
            Self::Refused { .. } => None,
            Self::Late { .. } => Some("timeout"),
            Self::TooLarge { .. } | Self::Unsendable => Some("too_large"),
            Self::BrokenOff { .. } | Self::Malformed { .. } => Some("malformed"),
            _ => Some("unavailable"),
        }
    }

    /// The status that the server answered with, if it did.
    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } | Self::Malformed { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// The failure for the log, without anything that came in a body.
    pub(super) fn log_text(&self) -> String {
        match self {
            Self::Refused { status: status @ (401 | 403), .. } => {
                format!("refused with {status}; check the key")
            }
            Self::Refused { status, .. } => format!("refused with {status}"),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotServed { who, served } => {
                let who = clean(who, 32);
                write!(
                    f,
                    "this relay does not serve '{who}'; it serves {served}: change the hub's rule, or the relay"
                )
            }
            Self::Unreachable { who, authority, why } => {
                write!(f, "cannot reach {who} at {authority}: {why}; is it running?")
            }
            Self::Refused { message: Some(message), .. } => f.write_str(message),
            Self::Refused { who, status, message: None, .. } => {
                write!(f, "{who} answered with HTTP status {status}")
            }
            Self::BrokenOff { who, bytes } => write!(f, "the reply of {who} broke off after {bytes} bytes"),
            Self::Malformed { who, what, .. } => write!(f, "the reply of {who} is {what}"),
            Self::TooLarge { who, bytes, limit } => {
                write!(f, "the reply of {who} has {bytes} bytes; the hub takes at most {limit}")
            }
            Self::Unsendable => f.write_str("the reply is larger than the broker takes"),
            Self::Late { who, after } => {
                write!(f, "no reply from {who} within {:.1} s", after.as_secs_f64())
            }
            Self::Busy => f.write_str("the relay has too many requests; try again in a moment"),
            Self::Stopped => f.write_str("the relay was stopped before the reply came; try again"),
            Self::NoSearch => {
                f.write_str("no search service is configured; start the relay with --search-url")
            }
            Self::NoQuery => f.write_str("a search needs a 'query'"),
            Self::NoResults => f.write_str("the search service did not answer with a list of results"),
            Self::Internal => f.write_str("the relay failed; its log says why"),
        }
    }
}

/// What a body that is not a JSON object looks like.
pub(super) fn describe_body(body: &[u8]) -> &'static str {
    let begins = |start: &str| body.trim_ascii_start().starts_with(start.as_bytes());
    let is_list_of_values = serde_json::Deserializer::from_slice(body).into_iter::<Value>().nth(1).is_some();
    if body.trim_ascii().is_empty() {
        "empty"
    } else if begins("<") {
        "a web page; check the address"
    } else if begins("data:") || begins("event:") || (begins("{") && is_list_of_values) {
        "a stream; set \"stream\" to false in the request"
    } else {
        "not a JSON object"
    }
}

/// The type of the error in a server's error body.
pub(super) fn error_kind(body: &[u8]) -> Option<String> {
    let error: Value = serde_json::from_slice(body).ok()?;
    let kind = error.pointer("/error/type")?.as_str().map(|kind| clean(kind, KIND))?;
    Some(kind).filter(|kind| !kind.is_empty())
}

/// The message for people in a server's error body.
pub(super) fn error_message(body: &[u8], key: Option<&Key>) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let found = match serde_json::from_str::<Value>(text) {
        Ok(error) => {
            let pointers = ["/error/message", "/error", "/message", "/detail"];
            pointers.iter().find_map(|pointer| error.pointer(pointer)?.as_str().map(str::to_owned))?
        }
        // A web page, or JSON that broke off.
        Err(_) if text.trim_start().starts_with(['<', '{', '[']) => return None,
        Err(_) => text.to_owned(),
    };
    let hidden = key.map(|key| key.hide(&found)).unwrap_or(found);
    Some(clean(&hidden, MESSAGE)).filter(|message| !message.is_empty())
}

/// At most `most` characters of a text that came from elsewhere, in one line.
pub(super) fn clean(text: &str, most: usize) -> String {
    let in_line = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    in_line.take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_service_has_its_own_place_for_words() {
        for (body, expected) in [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Some("Overloaded"),
            ),
            (
                r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate"}}"#,
                Some("Rate limit reached"),
            ),
            (r#"{"error":"model 'x' not found"}"#, Some("model 'x' not found")),
            (r#"{"message":"no Route matched"}"#, Some("no Route matched")),
            (r#"{"detail":"Not Found"}"#, Some("Not Found")),
            ("  upstream\nis down ", Some("upstream is down")),
            ("<html>502</html>", None),
            (r#"{"error":{"message":7}}"#, None),
            (r#"{"error":"#, None),
            ("", None),
        ] {
            assert_eq!(error_message(body.as_bytes(), None).as_deref(), expected, "{body}");
        }
        assert_eq!(error_message(b"\xff\xfe", None), None);
        let long = error_message("ä".repeat(1000).as_bytes(), None).expect("a message");
        assert_eq!(long.chars().count(), 300);
    }

    #[test]
    fn a_key_that_comes_back_is_hidden() {
        let key = Key::new("sk-secret").expect("a key");
        let body = br#"{"error":{"message":"Incorrect API key provided: sk-secret."}}"#;
        assert_eq!(error_message(body, Some(&key)).as_deref(), Some("Incorrect API key provided: [key]."));
    }

    #[test]
    fn hubs_are_told_in_one_form() {
        let told = |failure: Failure| String::from_utf8(failure.payload()).expect("text");
        let who = "openai".to_owned();
        assert_eq!(
            told(Failure::Refused { who: who.clone(), status: 429, kind: None, message: None }),
            r#"{"error":{"message":"openai answered with HTTP status 429","status":429}}"#
        );
        let overloaded = Failure::Refused {
            who: who.clone(),
            status: 529,
            kind: Some("k".into()),
            message: Some("w".into()),
        };
        assert_eq!(told(overloaded), r#"{"error":{"message":"w","status":529,"type":"k"}}"#);
        assert_eq!(
            told(Failure::TooLarge { who, bytes: 9000, limit: 8192 }),
            r#"{"error":{"message":"the reply of openai has 9000 bytes; the hub takes at most 8192","relay":"too_large","status":null}}"#
        );
    }
}
