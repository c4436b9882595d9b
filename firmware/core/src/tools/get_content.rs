//! `get_content`: documents, by category and pattern. (A tool's parts are explained in this folder's README.md.)

use core::fmt::Write as _;
use core::ops::ControlFlow;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::{DOCUMENTS, ToolCall};
use crate::json::{Value, Writer};
use crate::limits;
use crate::store::{Expression, Store};
use crate::tool::{EPILOGUE, ErrorType, Example, Failure, Success, Tool, ToolResult};

pub(super) static TOOL: Tool<'static> = Tool {
    description: "Reads documents of the home.\n\nDocuments belong to categories; some come with the hub, others were put \
                  there by the people of the home. A category alone means all of its documents. Of two expressions \
                  that select the same document it comes once.",
    schema: r#"{"type":"object","properties":{"expression":{"type":"string","minLength":1,"maxLength":256,"description":"category/pattern, with + between several patterns and , between several expressions; in a pattern * stands for any characters and ? for one"},"pattern":{"type":"string","minLength":1,"maxLength":256,"description":"The pattern, if the expression is a category alone"}},"required":["expression"]}"#,
    usage: "get_content({\"expression\": \"category/pattern\"}) or get_content({\"expression\": \"category\", \"pattern\": \"...\"})",
    examples: &[
        Example {
            code: "get_content({\"expression\": \"guidelines/voice\"})  ->  {\"documents\": [{\"category\": \"guidelines\", \"name\": \"voice\", \"text\": \"What the hub answers is spoken aloud.\"}]}",
            explanation: "One document.",
        },
        Example {
            code: "get_content({\"expression\": \"recipes/bread*+soup,hub\"})  ->  {\"documents\": [{\"category\": \"recipes\", \"name\": \"bread\", \"text\": \"Flour, water, salt.\"}]}",
            explanation: "The recipes that start with bread, the one called soup, and everything in hub, as far as they are there.",
        },
    ],
    ..Tool::builtin("get_content")
};

/// What follows the documents, with more of them omitted than can be stored.
const ENDING: usize = r#"],"omitted":9999}"#.len();

pub(super) async fn run<F: MultiwriteNorFlash>(
    call: &ToolCall<'_, Store<'_, F>>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> ToolResult {
    let text = expression(arguments)?;
    let expression = Expression::parse(&text).map_err(|malformed| {
        Failure::new(ErrorType::InvalidParameters, format_args!("Invalid expression: {malformed}"))
    })?;
    let object = result.open();
    result.key("documents");
    let mut omitted = 0;
    let mut store = call.hub.store.lock().await;
    let list = result.open_array();
    let found = store
        .content(expression, DOCUMENTS, &mut |document| {
            let before = result.mark();
            result.object(|object| {
                object.field("category", document.category);
                object.field("name", document.name);
                object.field("text", document.text);
            });
            if result.room() < ENDING + EPILOGUE {
                result.rewind(before);
                omitted += 1;
            }
            ControlFlow::Continue(())
        })
        .await?;
    result.close(list);
    if omitted > 0 {
        result.field("omitted", omitted);
    }
    result.close(object);
    if found == 0 {
        return Err(Failure::new(ErrorType::NotFound, format_args!("No document matches '{text}'"))
            .saying(format_args!("I have no document for '{text}'.")));
    }
    if omitted == found {
        return Err(Failure::new(
            ErrorType::TooLarge,
            format_args!("None of the {found} documents of '{text}' fits into an answer"),
        ));
    }
    let instruction = "Not all documents fitted into one answer. Ask again with an expression that selects fewer.";
    Ok(Success { message: None, instruction: (omitted > 0).then_some(instruction) })
}

/// `category/pattern`, also if the two were given apart.
fn expression(arguments: Value<'_>) -> Result<String<{ limits::EXPRESSION }>, Failure> {
    let text = |name| arguments.get(name).and_then(|value| value.as_text());
    let too_long = || {
        let most = limits::EXPRESSION;
        let words = format_args!("The expression is too long; at most {most} bytes are possible");
        Failure::new(ErrorType::InvalidParameters, words)
    };
    let mut expression: String<{ limits::EXPRESSION }> =
        text("expression").and_then(|expression| expression.decode()).ok_or_else(too_long)?;
    let Some(pattern) = text("pattern") else { return Ok(expression) };
    if expression.contains(['/', ',']) {
        return Err(Failure::new(
            ErrorType::InvalidParameters,
            format_args!("With 'pattern', 'expression' must be a category alone, not '{expression}'"),
        ));
    }
    write!(expression, "/{pattern}").map_err(|_| too_long())?;
    Ok(expression)
}
