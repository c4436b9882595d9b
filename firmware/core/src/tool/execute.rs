//! One call of a tool, from its name and arguments to the result object.

use core::fmt;

use embassy_time::{Instant, with_timeout};

use super::definition::Implementation;
use super::outcome::{ErrorType, Failure, Success};
use super::registry::Name;
use super::{Registry, Tool};
use crate::json::{Value, Writer};
use crate::limits;
use crate::log::{debug, error, info, trace, warn};
use crate::schema::{self, Unknown};

/// Room in a reply for what follows the result. A tool whose result is a list stops before it.
pub(crate) const EPILOGUE: usize = 2 * limits::OUTCOME_TEXT + limits::TOOL_NAME + limits::TRANSACTION + 128;

/// Runs handlers by name.
#[allow(async_fn_in_trait, reason = "the hub runs in one task: its futures need not be Send")]
pub trait Handlers {
    /// Runs the handler `name`: it reads the arguments, an object that fits the tool's schema, and writes one value as
    /// the result. `None` if there is no such handler.
    ///
    /// Dropping the future cancels the call; a handler says in its own documentation what that leaves behind.
    async fn run(
        &self,
        name: &str,
        arguments: Value<'_>,
        result: &mut Writer<'_>,
    ) -> Option<Result<Success, Failure>>;
}

/// What is told about an executed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The tool, as it was called.
    pub name: Name,
    /// Whether it succeeded.
    pub success: bool,
    /// How long it took, checks included.
    pub milliseconds: u64,
}

impl Event {
    /// Whether that was longer than it should.
    pub const fn is_slow(&self) -> bool {
        self.milliseconds > limits::TOOL_SLOW.as_millis()
    }
}

/// Calls the tool `name`, and writes the members of the result object into the open object of `reply`: `success`,
/// `result` or `error` and `error_type`, what else the outcome has to say, `tool_name`, `execution_time_ms`.
///
/// Always ends, within [`limits::TOOL_TIMEOUT`]; dropping it cancels the call.
pub async fn execute<H: Handlers>(
    registry: &Registry,
    handlers: &H,
    name: &Name,
    arguments: Value<'_>,
    reply: &mut Writer<'_>,
) -> Event {
    let start = Instant::now();
    let before = reply.mark();
    let called = match registry.find(name) {
        Some(tool) => {
            trace!("Tool called: {}", name.as_str());
            run(tool, handlers, name, arguments, reply).await
        }
        None => {
            warn!("Tool {} is not known", name.as_str());
            Err(Failure::new(ErrorType::NotFound, format_args!("Tool '{name}' not found")))
        }
    };
    let outcome = match called {
        Ok(_) if reply.room() < EPILOGUE => Err(Failure::new(
            ErrorType::TooLarge,
            format_args!("The result of '{name}' is too large to send"),
        )),
        other => other,
    };
    let milliseconds = start.elapsed().as_millis();
    let arguments = excerpt(arguments.text());
    match &outcome {
        Ok(success) => {
            let result = excerpt(reply.since(before));
            info!("tool {} {} in {} ms: {}", name.as_str(), arguments, milliseconds, result);
            success.write(reply);
        }
        Err(failure) => {
            error!("Tool {} failed: {}", name.as_str(), failure.error.as_str());
            info!("tool {} {} in {} ms: failed", name.as_str(), arguments, milliseconds);
            reply.rewind(before);
            failure.write(reply);
        }
    }
    let event = Event { name: name.clone(), success: outcome.is_ok(), milliseconds };
    if event.is_slow() {
        warn!("tool {} is slow: {} ms", name.as_str(), milliseconds);
    }
    reply.field("tool_name", name.as_str());
    reply.field("execution_time_ms", milliseconds);
    event
}

async fn run<H: Handlers>(
    tool: &Tool,
    handlers: &H,
    name: &Name,
    arguments: Value<'_>,
    reply: &mut Writer<'_>,
) -> Result<Success, Failure> {
    check(tool, arguments)?;
    reply.field("success", true);
    reply.key("result");
    let (handler, kind) = match tool.implementation {
        Implementation::Mock(response) => {
            debug!(
                "tool {} is a mock; its arguments {} are not used",
                name.as_str(),
                excerpt(arguments.text())
            );
            let response = Value::parse(response.as_bytes())
                .map_err(|error| Failure::failed(format_args!("The mock of '{name}' is broken: {error}")))?;
            reply.value(response);
            debug!("Tool {} completed successfully", name.as_str());
            return Ok(Success::PLAIN);
        }
        Implementation::Builtin(handler) => (handler, "Builtin"),
        Implementation::Internal(handler) => (handler, "Internal"),
        Implementation::Mcp => {
            return Err(Failure::new(
                ErrorType::Unavailable,
                format_args!("The controller is not connected"),
            ));
        }
    };
    let running = with_timeout(limits::TOOL_TIMEOUT, handlers.run(handler, arguments, reply));
    let success = match running.await {
        Ok(Some(outcome)) => outcome?,
        Ok(None) => return Err(Failure::failed(format_args!("{kind} handler '{handler}' not found"))),
        Err(_) => {
            let seconds = limits::TOOL_TIMEOUT.as_secs();
            let failure = format_args!("Tool '{name}' timed out after {seconds} s and was cancelled");
            return Err(Failure::new(ErrorType::Timeout, failure));
        }
    };
    // Those that ask others are told apart: they are many, and their partners log too.
    match tool.implementation {
        Implementation::Internal(_) => trace!("Tool {} completed successfully", name.as_str()),
        _ => debug!("Tool {} completed successfully", name.as_str()),
    }
    Ok(success)
}

/// Whether the arguments fit.
fn check(tool: &Tool, arguments: Value<'_>) -> Result<(), Failure> {
    let schema = Value::parse(tool.schema.as_bytes())
        .map_err(|error| Failure::failed(format_args!("The schema of '{}' is broken: {error}", tool.name)))?;
    let unknown = if tool.forbids_unknown() { Unknown::Forbid } else { Unknown::Ignore };
    schema::validate(schema, arguments, unknown).map_err(|invalid| {
        let error = format_args!("Invalid parameters: {invalid}");
        let failure = Failure::new(ErrorType::InvalidParameters, error);
        match schema.get("required").filter(|required| required.items().next().is_some()) {
            Some(required) => {
                failure.saying(format_args!("Invalid parameters: {invalid}. Required: {}", List(required)))
            }
            None => failure,
        }
    })
}

/// The texts in an array, with commas.
struct List<'a>(Value<'a>);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, name) in self.0.items().filter_map(|item| item.as_text()).enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{name}")?;
        }
        Ok(())
    }
}

/// The beginning of a text, for the log.
fn excerpt(text: &str) -> &str {
    text.get(..text.floor_char_boundary(limits::QUOTE)).unwrap_or_default()
}
