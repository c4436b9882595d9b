//! `math_eval`: arithmetic, and nothing but arithmetic. (A tool's parts are explained in this folder's README.md.)

use super::ToolCall;
use crate::json::{Value, Writer};
use crate::tool::{Example, Failure, Success, Tool, ToolResult};
use crate::{limits, math};

pub(super) static TOOL: Tool<'static> = Tool {
    description: "Evaluates an arithmetic expression.\n\nUse it for every calculation instead of calculating yourself: \
                  sums, averages, percentages. It does not convert units: write \
                  conversions as arithmetic. It supports + - * / % ^, parentheses, constants such as pi and e, and \
                  the usual functions such as sqrt, round, min, max, mean([1, 2]), sin and log.",
    schema: r#"{"type":"object","properties":{"expression":{"type":"string","minLength":1,"description":"The expression, like (2 + 3) * 4 or sqrt(2)"}},"required":["expression"]}"#,
    usage: "math_eval({\"expression\": \"...\"})",
    examples: &[
        Example {
            code: "math_eval({\"expression\": \"2+2\"})  ->  {\"result\": 4}",
            explanation: "A plain sum.",
        },
        Example {
            code: "math_eval({\"expression\": \"round((72 - 32) * 5 / 9, 1)\"})  ->  {\"result\": 22.2}",
            explanation: "72 degrees Fahrenheit in Celsius, with one digit after the point.",
        },
    ],
    ..Tool::builtin("math_eval")
};

pub(super) async fn run<S>(
    _: &ToolCall<'_, S>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> ToolResult {
    let expression = arguments.get("expression").and_then(|expression| expression.as_text());
    let decoded = expression.and_then(|expression| expression.decode::<{ limits::MATH_EXPRESSION }>());
    let Some(expression) = decoded else {
        let most = limits::MATH_EXPRESSION;
        return Err(Failure::failed(format_args!("The expression is too long; at most {most} bytes are possible")));
    };
    match math::evaluate(&expression) {
        Ok(value) => {
            result.object(|object| object.field("result", value));
            Ok(Success::PLAIN)
        }
        Err(error) => Err(Failure::failed(format_args!("Cannot evaluate '{expression}': {error}"))
            .saying(format_args!("I cannot calculate that: {error}"))
            .caused_by("MathError", format_args!("{error}"))),
    }
}
