//! A request without its format: what was said, called and returned; and the reply.

use serde_json::Value;

use super::offer::Offer;

/// The conversation in a request.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// The model's name, for the reply.
    pub(super) model: String,
    /// What the person said last.
    pub(super) question: String,
    /// What they said before the question.
    pub(super) before: String,
    /// The tools that the request offers.
    pub(super) offers: Vec<Offer>,
    /// The tool calls of the whole conversation.
    pub(super) calls: Vec<PastCall>,
    /// Where in `calls` those for the question begin.
    pub(super) since: usize,
    /// Where in `calls` those for what was said before begin.
    pub(super) earlier: usize,
    /// Rounds of calls since the question.
    pub(super) rounds: usize,
    /// The number of messages, of which ids are made.
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

/// A call that was made, and its result.
#[derive(Clone, Debug)]
pub(super) struct PastCall {
    pub(super) call: ToolCall,
    /// Connects it with its result, in formats that have ids.
    pub(super) id: Option<String>,
    pub(super) result: Option<ToolResult>,
}

/// The result of a call.
#[derive(Clone, Debug)]
pub(super) struct ToolResult {
    /// JSON where it is, else text.
    pub(super) content: Value,
    pub(super) is_error: bool,
}

/// The reply of the model.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    Words(String),
    Calls(Vec<ToolCall>),
}

impl Conversation {
    /// The person says something. The calls so far were for something else.
    pub(super) fn add_question(&mut self, text: &str) {
        self.before = std::mem::replace(&mut self.question, text.into());
        self.earlier = self.since;
        self.since = self.calls.len();
        self.rounds = 0;
    }

    /// The model calls tools.
    pub(super) fn add_calls(&mut self, calls: Vec<(Option<String>, ToolCall)>) {
        self.rounds += usize::from(!calls.is_empty());
        self.calls.extend(calls.into_iter().map(|(id, call)| PastCall { call, id, result: None }));
    }

    /// A result comes: of the call with this id, or else of the first with this name, or else of the first, that has none.
    pub(super) fn add_result(&mut self, id: Option<&str>, name: Option<&str>, text: &str, is_error: bool) {
        let content = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.into()));
        let has_id = |made: &PastCall| id.is_some() && made.id.as_deref() == id;
        let has_name =
            |made: &PastCall| made.result.is_none() && name.is_none_or(|name| made.call.name == name);
        let index = self.calls.iter().position(has_id).or_else(|| self.calls.iter().position(has_name));
        if let Some(index) = index {
            self.calls[index].result = Some(ToolResult { content, is_error });
        }
    }

    /// Whether a call was made for the question.
    pub(super) fn was_made(&self, call: &ToolCall) -> bool {
        self.calls_now().any(|made| made.call == *call)
    }

    /// The result of a call that was made for the question.
    pub(super) fn result_of(&self, call: &ToolCall) -> Option<&ToolResult> {
        self.calls_now().filter(|made| made.call == *call).find_map(|made| made.result.as_ref())
    }

    /// The calls for what was said before the question.
    pub(super) fn calls_before(&self) -> impl Iterator<Item = &PastCall> {
        self.calls.iter().take(self.since).skip(self.earlier)
    }

    /// The calls for the question.
    pub(super) fn calls_now(&self) -> impl Iterator<Item = &PastCall> {
        self.calls.iter().skip(self.since)
    }
}

/// The content of a result of the hub's own tools, or of a controller's.
pub(super) fn result(content: &Value) -> &Value {
    content.get("result").unwrap_or(content)
}
