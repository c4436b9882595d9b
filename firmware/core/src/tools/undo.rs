//! `undo`: takes the last change of a device back. (A tool's parts are explained in this folder's README.md.)

use core::pin::{Pin, pin};

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::ToolCall;
use crate::approval::{Denial, ApprovalPolicy, Unanswered};
use crate::home::{ChangeId, DISTINCT_NAME, DeclaredAction, DeviceId, NotUndone, UndoStep, read_actions, read_back};
use crate::json::{Mark, Value, Writer};
use crate::limits;
use crate::store::Store;
use crate::text::clip;
use crate::tool::{ControllerCall, ErrorType, Example, Failed, Failure, Hints, Implementation, Name, Success, Tool, ToolResult, Withdrawn};

pub(super) static TOOL: Tool<'static> = Tool {
    description: "Takes back the last change of a device.\n\nWhoever made it, a person or a model. Use it when somebody says \"undo \
                  that\" or \"not that one\". It does nothing if the device has changed since.",
    schema: r#"{"type":"object","properties":{}}"#,
    usage: "undo({})",
    examples: &[Example {
        code: "undo({})  ->  {\"device\": \"7-0\", \"name\": \"Kitchen Light\"}",
        explanation: "The kitchen light is as it was before the last call.",
    }],
    // What it calls has its own time limits, and may wait for a person.
    implementation: Implementation::LongRunning("undo"),
    ..Tool::builtin("undo")
};

/// Dropped in the middle, a device with several settings may have some of them back.
pub(super) async fn run<F: MultiwriteNorFlash>(
    undo: &ToolCall<'_, Store<'_, F>>,
    _: Value<'_>,
    result: &mut Writer<'_>,
) -> ToolResult {
    let home = undo.hub.home;
    let settings = undo.approver().settings().await;
    let (change, device, steps) = match home.undo_steps() {
        Ok(steps) => steps,
        Err(why) => return Err(explain(undo, why)),
    };
    let before = result.mark();
    for (number, step) in steps.iter().enumerate() {
        // It may change while somebody is asked; after the first step it has.
        let unless = (number == 0).then_some(change);
        let performed = perform(undo, &settings, &device, step, unless, result).await;
        if let Err(stuck) = performed {
            let failure = stuck.explain(undo, written(result, before));
            result.rewind(before);
            return Err(failure);
        }
    }
    let is_read: Pin<&mut dyn Future<Output = _>> = pin!(read_back(undo.hub.port, home, &device));
    let is_restored = is_read.await && home.is_restored(change);
    home.forget_change(change);
    let name: String<{ limits::DEVICE_NAME }> =
        home.with(&device, |device| clip(&device.name)).unwrap_or_default();
    result.object(|out| {
        out.field("device", device.as_str());
        out.field("name", name.as_str());
    });
    let undone = home.with_distinct(&device, |device| match is_restored {
        true => Success::saying(format_args!("Undone: {device} again.")),
        false => Success::saying(format_args!(
            "I told {} to go back; it has not reported its state yet.",
            device.name
        )),
    });
    Ok(undone.unwrap_or(Success::PLAIN))
}

/// Explains why nothing was taken back. If the last command cannot be undone, this is said only once: the message names
/// the previous change, which the next call takes back.
fn explain<S>(undo: &ToolCall<'_, S>, why: NotUndone) -> Failure {
    let now = undo.hub.home.last_changed(|device| clip::<{ limits::OUTCOME_TEXT }>(&format_args!("{device}")));
    let now = now.unwrap_or_default();
    let failed = |words: core::fmt::Arguments<'_>| {
        let failure = Failure::new(ErrorType::ExecutionError, words);
        failure.saying(words)
    };
    let passed_over = |words: core::fmt::Arguments<'_>| {
        undo.hub.home.pass_over_last_change();
        let next = undo.hub.home.last_changed(|device| clip::<DISTINCT_NAME>(&device.name));
        match next {
            Some(next) => failed(format_args!("{words} Another undo takes back the last change of {next}.")),
            None => failed(words),
        }
    };
    match why {
        NotUndone::Nothing => failed(format_args!("There is nothing to undo.")),
        NotUndone::Running => failed(format_args!(
            "The last command has not ended yet, so I take nothing back. Please try again when it has."
        )),
        NotUndone::Untraceable => passed_over(format_args!(
            "The last command was not for a single device that I can set back, so I take nothing back."
        )),
        NotUndone::Unavailable => {
            failed(format_args!("The state of the device that changed last is unknown, so I take nothing back."))
        }
        NotUndone::ChangedSince => failed(format_args!("It has changed since, so I leave it: {now}.")),
        NotUndone::NoEffectYet => passed_over(format_args!("The last command has changed nothing yet: {now}.")),
        NotUndone::NoEffect => passed_over(format_args!("The last command changed nothing that I can take back.")),
    }
}

/// What the controller says.
type RefusalText = String<{ limits::OUTCOME_TEXT }>;

/// Why a step cannot be done.
enum Stuck {
    /// The controller does not tell how.
    Unread,
    /// The device has changed meanwhile.
    Changed,
    /// It is not admitted.
    Denied(Name, Denial),
    /// The controller refused it, in words.
    Refused(RefusalText),
    /// The controller does not know whether it was done, in words.
    Unknown(RefusalText),
    /// There is no answer.
    Unanswered(Unanswered),
}

impl Stuck {
    #[inline(never)]
    fn explain<S>(self, undo: &ToolCall<'_, S>, arguments: Value<'_>) -> Failure {
        match self {
            Self::Unread => {
                let words =
                    format_args!("The controller does not tell how to set the device back; nothing was sent");
                Failure::new(ErrorType::Unavailable, words)
            }
            Self::Changed => explain(undo, NotUndone::ChangedSince),
            Self::Denied(tool, why) => {
                let call = ControllerCall { tool: &tool, hints: Hints::NONE, arguments };
                why.explain(undo.hub.home, &call)
            }
            Self::Refused(words) => {
                let failure = Failure::failed(format_args!("{words}"));
                failure.saying(format_args!("Sorry, that did not work: {words}"))
            }
            Self::Unknown(words) => Failure::unknown_outcome(&words),
            Self::Unanswered(why) => why.failure(undo.hub.home, TOOL.name),
        }
    }
}

/// The arguments that were written where the result will be.
fn written<'a>(result: &'a Writer<'_>, before: Mark) -> Value<'a> {
    Value::parse(result.since(before).as_bytes()).unwrap_or(Value::EMPTY_OBJECT)
}

/// Does one step. It is a call like any other: judged, and sent once. Its arguments are in `result` until it is done.
async fn perform<F: MultiwriteNorFlash>(
    undo: &ToolCall<'_, Store<'_, F>>,
    settings: &ApprovalPolicy,
    device: &DeviceId,
    step: &UndoStep,
    unless_changed: Option<ChangeId>,
    result: &mut Writer<'_>,
) -> Result<(), Stuck> {
    let before = result.mark();
    let definitions = undo.hub.registry.version();
    let found = read_actions(undo.hub.port, undo.hub.home, device, |actions| {
        let action = actions.get(step.action)?;
        let mut value = [0; 32];
        let mut writer = Writer::new(&mut value);
        step.value.write(&mut writer);
        let length = writer.finish().ok()?;
        let action = DeclaredAction(action);
        action.write_arguments(Value::parse(value.get(..length)?).ok()?, result);
        action.tool()?.decode()
    });
    let tool: Name = found.await.ok().flatten().ok_or(Stuck::Unread)?;
    let admitted = {
        let call = ControllerCall { tool: &tool, hints: Hints::NONE, arguments: written(result, before) };
        let approver = undo.approver();
        let admitting: Pin<&mut dyn Future<Output = _>> = pin!(approver.admit_exactly(settings, &call));
        admitting.await
    };
    let admitted = match admitted {
        // Undoing it would do again what was just taken back.
        Ok(admitted) => admitted.unrecorded(),
        Err(why) => return Err(Stuck::Denied(tool, why)),
    };
    if unless_changed.is_some_and(|change| undo.hub.home.has_changed_since(change)) {
        return Err(Stuck::Changed);
    }
    let compose = |params: &mut Writer<'_>| {
        params.object(|params| {
            params.field("name", tool.as_str());
            params.field("arguments", written(result, before));
        });
        // The tools may have changed while somebody was asked.
        if undo.hub.registry.version() == definitions { Ok(()) } else { Err(Withdrawn::Redefined) }
    };
    let mut words = RefusalText::new();
    match admitted.call(undo.hub.port, compose, |answer| answer.refusal(&mut words)).await {
        Ok(Ok(_)) => {
            result.rewind(before);
            Ok(())
        }
        Ok(Err(Failed { is_unknown: true })) => Err(Stuck::Unknown(words)),
        Ok(Err(Failed { is_unknown: false })) => Err(Stuck::Refused(words)),
        Err(why) => Err(Stuck::Unanswered(why)),
    }
}
