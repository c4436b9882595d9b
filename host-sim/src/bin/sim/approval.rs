//! Approvals at the prompt: the question, its deadline, and what counts as an answer.

use std::time::Duration;

use host_sim::caller::ask;
use host_sim::hub::Settings;
use host_sim::network::Network;
use hub_contract::DEFAULT_CONVERSATION;
use hub_core::approval::is_only_a_pin;
use serde_json::{Value, json};
use tokio::time::Instant;

/// How long the hub may take to hear an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a person reads whose answer comes after the approval has ended.
pub(crate) const TOO_LATE: &str = "That came too late: nothing is waiting for approval.";

/// What the hub publishes of an approval.
pub(crate) struct Approval {
    pub(crate) id: u64,
    /// `waiting`, `allowed`, `denied`, `expired` or `cancelled`.
    pub(crate) state: String,
    /// What is to be done, "unlock Front Door".
    pub(crate) what: String,
    /// Whether the model of the conversation at the prompt wants it.
    pub(crate) is_ours: bool,
    /// Whether a person wants it, by a call of their own.
    pub(crate) is_direct: bool,
    until: Instant,
}

impl Approval {
    /// Reads the payload of `approval/<id>`.
    pub(crate) fn read(payload: &[u8]) -> Option<Self> {
        let json: Value = serde_json::from_slice(payload).ok()?;
        Some(Self {
            id: json["id"].as_u64()?,
            state: json["state"].as_str()?.to_owned(),
            what: json["what"].as_str()?.to_owned(),
            is_ours: json["conversation"] == DEFAULT_CONVERSATION,
            is_direct: json["who"] == "person",
            until: Instant::now() + Duration::from_secs(json["seconds"].as_u64().unwrap_or_default()),
        })
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.state == "waiting"
    }

    pub(crate) fn seconds_left(&self) -> u64 {
        self.until.saturating_duration_since(Instant::now()).as_secs_f32().ceil() as u64
    }

    pub(crate) fn question(&self) -> String {
        let caller = if self.is_direct { "this call" } else { "the model" };
        format!("Allow {caller} to {}? [y/N, {} s]", self.what, self.seconds_left())
    }

    /// What to say when it has ended, in this state, without an answer from here.
    pub(crate) fn ending(&self, state: &str) -> String {
        let what = &self.what;
        match state {
            "allowed" => format!("Allowed by somebody else: {what}."),
            "denied" => format!("Denied by somebody else: {what}."),
            "cancelled" => format!("Cancelled: {what}."),
            _ => format!("Not approved in time: {what}."),
        }
    }
}

/// An answer to the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    /// Digits, which only the hub can judge.
    Pin,
}

impl Answer {
    /// Reads a line. Nothing else is an answer, and a PIN is one only in a conversation.
    pub(crate) fn to(approval: &Approval, line: &str) -> Option<Self> {
        Self::read(line).filter(|answer| !(approval.is_direct && *answer == Self::Pin))
    }

    /// The same, whatever it may be an answer to.
    pub(crate) fn read(line: &str) -> Option<Self> {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => Some(Self::Yes),
            "n" | "no" => Some(Self::No),
            line => is_only_a_pin(line).then_some(Self::Pin),
        }
    }

    /// Gives the hub an answer, `line` as it was typed. Returns what the person should know of it.
    pub(crate) async fn give(
        self,
        approval: &Approval,
        line: &str,
        network: Network,
        settings: &Settings,
    ) -> Option<String> {
        let (name, request) = match self {
            Self::Yes | Self::No => ("approve", json!({ "id": approval.id, "allow": self == Self::Yes })),
            Self::Pin => ("chat", json!({ "text": line.trim() })),
        };
        let reply = match ask(network, settings, name, request.to_string().as_bytes(), PATIENCE).await {
            Ok(reply) => serde_json::from_slice(&reply).unwrap_or(Value::Null),
            Err(error) => return Some(error.to_string()),
        };
        // It has just been decided in another way.
        if reply["error_type"] == "not_found" {
            return Some(TOO_LATE.to_owned());
        }
        reply["content"].as_str().or(reply["error"].as_str()).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::Answer;

    #[test]
    fn nothing_but_yes_no_and_digits_is_an_answer() {
        for (line, answer) in [
            ("y", Some(Answer::Yes)),
            (" YES\n", Some(Answer::Yes)),
            ("n", Some(Answer::No)),
            ("No", Some(Answer::No)),
            ("4711", Some(Answer::Pin)),
            ("four seven one one", Some(Answer::Pin)),
            ("", None),
            ("yes please", None),
            ("no idea", None),
            ("ok", None),
            ("471", None),
            ("what time is it?", None),
        ] {
            assert_eq!(Answer::read(line), answer, "{line}");
        }
    }
}
