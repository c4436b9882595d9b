//! A request as all formats mean it, and what to answer.

use serde_json::Value;

use super::offer::Offer;

/// What matters of a request.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// As the reply names it.
    pub(super) model: String,
    /// The last thing that the person said.
    pub(super) question: String,
    /// What they said before that.
    pub(super) before: String,
    /// The tools that can be called.
    pub(super) offers: Vec<Offer>,
    /// What has been called, in all of the conversation.
    pub(super) calls: Vec<Made>,
    /// Where in `calls` those begin that are about the question.
    pub(super) since: usize,
    /// Where in `calls` those begin that are about what they said before.
    pub(super) earlier: usize,
    /// Times that something was called since the question.
    pub(super) rounds: usize,
    /// How many messages there are. Ids are made of it.
    pub(super) messages: usize,
    /// The size of the request in bytes.
    pub(super) size: usize,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolCall {
    pub(super) name: String,
    pub(super) arguments: Value,
}

/// A call that was made, and what came out of it.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) call: ToolCall,
    /// What connects it with its result, in formats that have that.
    pub(super) id: Option<String>,
    pub(super) outcome: Option<Outcome>,
}

/// The result of a call.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// JSON where it is, else text.
    pub(super) content: Value,
    pub(super) is_error: bool,
}

/// What to answer.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    Words(String),
    Calls(Vec<ToolCall>),
}

impl Conversation {
    /// The person says something: what was called before is about something else.
    pub(super) fn asked(&mut self, text: &str) {
        self.before = std::mem::replace(&mut self.question, text.into());
        self.earlier = self.since;
        self.since = self.calls.len();
        self.rounds = 0;
    }

    /// The model called something.
    pub(super) fn called(&mut self, calls: Vec<(Option<String>, ToolCall)>) {
        self.rounds += usize::from(!calls.is_empty());
        self.calls.extend(calls.into_iter().map(|(id, call)| Made { call, id, outcome: None }));
    }

    /// A result came: of the call with this id, or else of the first with this name, or else of the first, that has none.
    pub(super) fn came(&mut self, id: Option<&str>, name: Option<&str>, text: &str, is_error: bool) {
        let content = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.into()));
        let outcome = Some(Outcome { content, is_error });
        let is_open = |made: &&mut Made| made.outcome.is_none();
        let by_id = self.calls.iter_mut().find(|made| id.is_some() && made.id.as_deref() == id);
        if let Some(made) = by_id {
            made.outcome = outcome;
            return;
        }
        let by_name =
            self.calls.iter_mut().filter(is_open).find(|made| name.is_none_or(|name| made.call.name == name));
        if let Some(made) = by_name {
            made.outcome = outcome;
        }
    }

    /// Whether a call was made for the question.
    pub(super) fn was_made(&self, call: &ToolCall) -> bool {
        self.recent().any(|made| made.call == *call)
    }

    /// What came out of a call that was made for the question.
    pub(super) fn outcome(&self, call: &ToolCall) -> Option<&Outcome> {
        self.recent().filter(|made| made.call == *call).find_map(|made| made.outcome.as_ref())
    }

    /// What was called for what they said before.
    pub(super) fn made_before(&self) -> impl Iterator<Item = &Made> {
        self.calls.iter().take(self.since).skip(self.earlier)
    }

    pub(super) fn recent(&self) -> impl Iterator<Item = &Made> {
        self.calls.iter().skip(self.since)
    }
}
