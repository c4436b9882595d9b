//! `search`: asks a search service through the broker. (A tool's parts are explained in this folder's README.md.)

use super::ToolCall;
use crate::json::{Kind, Value, Writer};
use crate::limits;
use crate::questions::{Recipient, Unanswered};
use crate::tool::{ErrorType, Example, Failure, Implementation, Success, Tool, ToolResult};

pub(super) static TOOL: Tool<'static> = Tool {
    description: "Searches the web.\n\nUse it for news, opening hours, facts that may have changed, and whatever you are not \
                  sure of. It says so if no search service is there.",
    schema: r#"{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":256,"description":"What to search for, as one would type it"}},"required":["query"]}"#,
    usage: "search({\"query\": \"...\"})",
    examples: &[Example {
        code: "search({\"query\": \"sunset in Oslo today\"})  ->  {\"results\": [{\"title\": \"Oslo\", \"snippet\": \"Sunset at 15:50\"}]}",
        explanation: "A question whose answer changes every day.",
    }],
    implementation: Implementation::Internal("search"),
    ..Tool::builtin("search")
};

/// Dropped in the middle, the service may have been asked; its answer then finds nobody.
pub(super) async fn run<S>(
    call: &ToolCall<'_, S>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> ToolResult {
    let query = arguments.get("query").unwrap_or(Value::NULL);
    let question = |payload: &mut Writer<'_>| payload.object(|object| object.field("query", query));
    let answer = |payload: &[u8]| read(payload, result);
    match call.hub.questions.ask(Recipient::Search, limits::SEARCH_TIMEOUT, question, answer).await {
        Ok(outcome) => outcome,
        Err(Unanswered::LongQuestion) => Err(Failure::new(
            ErrorType::InvalidParameters,
            format_args!("Invalid parameters: 'query' is too long"),
        )),
        Err(Unanswered::LongAnswer(size)) => Err(Failure::new(
            ErrorType::TooLarge,
            format_args!(
                "The search service answered with {size} bytes; at most {} are possible",
                limits::SEARCH
            ),
        )),
        Err(why) => Err(Failure::new(
            ErrorType::Unavailable,
            format_args!("The search service is unavailable: {}", reason(why)),
        )),
    }
}

const fn reason(why: Unanswered) -> &'static str {
    match why {
        Unanswered::Offline => "the hub has no connection to the broker",
        Unanswered::Lost => "the connection to the broker was lost before the answer came",
        Unanswered::Busy => "other searches are still waiting; try again in a moment",
        _ => "nobody answered in time; check that a relay with a search service runs",
    }
}

/// Copies the service's answer: an object, with an `error` if the search failed.
fn read(payload: &[u8], result: &mut Writer<'_>) -> ToolResult {
    let answer = Value::parse(payload).ok().filter(|answer| answer.kind() == Kind::Object);
    let Some(answer) = answer else {
        return Err(Failure::failed(format_args!("The search service did not answer with a JSON object")));
    };
    let Some(error) = answer.get("error").filter(|error| error.kind() != Kind::Null) else {
        result.value(answer);
        return Ok(Success::PLAIN);
    };
    let words = error.get("message").unwrap_or(error);
    let words = words.as_text().map(|words| words.excerpt::<{ limits::OUTCOME_TEXT }>()).unwrap_or_default();
    Err(Failure::new(ErrorType::Unavailable, format_args!("The search service is unavailable: {words}")))
}
