//! `undo`: takes the last change of a device back. (A tool's parts are explained in this folder's README.md.)

use core::pin::{Pin, pin};

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::admission::{self, Denial, Unanswered};
use super::Toolbox;
use crate::home::{ChangeId, DeviceId, NotUndone, Step, read_actions, write_arguments};
use crate::json::{Mark, Value, Writer};
use crate::limits;
use crate::platform::Platform;
use crate::store::Store;
use crate::text::clip;
use crate::tool::{ControllerCall, ErrorType, Example, Failure, Hints, Implementation, Name, Success, Tool};

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
    implementation: Implementation::Patient("undo"),
    ..Tool::builtin("undo")
};

/// Dropped in the middle, a device with several settings may have some of them back.
pub(super) async fn run<P: Platform, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    _: Value<'_>,
    result: &mut Writer<'_>,
) -> Result<Success, Failure> {
    let home = toolbox.home;
    let (change, device, steps) = match home.undo_steps() {
        Ok(steps) => steps,
        Err(why) => return Err(explain(toolbox, why)),
    };
    let before = result.mark();
    let mut words = String::new();
    for (number, step) in steps.iter().enumerate() {
        // It may change while somebody is asked; after the first step it has.
        let unless = (number == 0).then_some(change);
        let performed = perform(toolbox, &device, step, unless, &mut words, result).await;
        if let Err(stuck) = performed {
            let failure = stuck.explain(toolbox, written(result, before), &words);
            result.rewind(before);
            return Err(failure);
        }
    }
    home.forget_change(change);
    let name: String<{ limits::DEVICE_NAME }> =
        home.with(&device, |device| clip(&device.name)).unwrap_or_default();
    result.object(|out| {
        out.field("device", device.as_str());
        out.field("name", name.as_str());
    });
    Ok(Success::saying(format_args!("{name} is as it was before.")))
}

fn explain<P, S>(toolbox: &Toolbox<'_, P, S>, why: NotUndone) -> Failure {
    let now = toolbox.home.last_changed(|device| clip::<{ limits::OUTCOME_TEXT }>(&format_args!("{device}")));
    let now = now.unwrap_or_default();
    let failed = |words: core::fmt::Arguments<'_>| {
        let failure = Failure::new(ErrorType::ExecutionError, words);
        failure.saying(words)
    };
    match why {
        NotUndone::Nothing => failed(format_args!("There is nothing to undo.")),
        NotUndone::Untraceable => failed(format_args!(
            "The last change was not of a single device, so I cannot take it back. Nothing was changed."
        )),
        NotUndone::Unavailable => failed(format_args!("The device that changed last cannot be reached. Nothing was changed.")),
        NotUndone::ChangedSince => failed(format_args!("It has changed since, so I leave it: {now}.")),
        NotUndone::NoEffect => failed(format_args!("The last call changed nothing, so there is nothing to undo: {now}.")),
    }
}

/// Why a step cannot be done.
enum Stuck {
    /// The controller does not tell how.
    Unread,
    /// The device has changed meanwhile.
    Changed,
    /// It is not admitted.
    Denied(Name, Denial),
    /// The controller refused it, in words.
    Refused,
    /// There is no answer.
    Unanswered(Unanswered),
}

impl Stuck {
    #[inline(never)]
    fn explain<P, S>(self, toolbox: &Toolbox<'_, P, S>, arguments: Value<'_>, words: &str) -> Failure {
        match self {
            Self::Unread => {
                let words =
                    format_args!("The controller does not tell how to set the device back; nothing was sent");
                Failure::new(ErrorType::Unavailable, words)
            }
            Self::Changed => explain(toolbox, NotUndone::ChangedSince),
            Self::Denied(tool, why) => {
                let call = ControllerCall { tool: &tool, hints: Hints::NONE, arguments };
                why.explain(toolbox.home, &call)
            }
            Self::Refused => {
                let failure = Failure::failed(format_args!("{words}"));
                failure.saying(format_args!("Sorry, that did not work: {words}"))
            }
            Self::Unanswered(why) => why.explain(toolbox.home, TOOL.name),
        }
    }
}

/// The arguments that were written where the result will be.
fn written<'a>(result: &'a Writer<'_>, before: Mark) -> Value<'a> {
    Value::parse(result.since(before).as_bytes()).unwrap_or(Value::EMPTY_OBJECT)
}

/// Does one step. It is a call like any other: judged, and sent once. Its arguments are in `result` until it is done.
async fn perform<P: Platform, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    device: &DeviceId,
    step: &Step,
    unless_changed: Option<ChangeId>,
    words: &mut String<{ limits::OUTCOME_TEXT }>,
    result: &mut Writer<'_>,
) -> Result<(), Stuck> {
    let before = result.mark();
    let found = read_actions(toolbox.port, toolbox.home, device, |actions| {
        let action = actions.get(step.action)?;
        let mut value = [0; 32];
        let mut writer = Writer::new(&mut value);
        step.value.write(&mut writer);
        let length = writer.finish().ok()?;
        write_arguments(action, Value::parse(value.get(..length)?).ok()?, result);
        action.get("tool")?.as_text()?.decode()
    });
    let tool: Name = found.await.ok().flatten().ok_or(Stuck::Unread)?;
    let admitted = {
        let call = ControllerCall { tool: &tool, hints: Hints::NONE, arguments: written(result, before) };
        let admitting: Pin<&mut dyn Future<Output = _>> = pin!(admission::admit(toolbox, &call));
        admitting.await
    };
    let admitted = match admitted {
        // Undoing it would do again what was just taken back.
        Ok(admitted) => admitted.unrecorded(),
        Err(why) => return Err(Stuck::Denied(tool, why)),
    };
    if unless_changed.is_some_and(|change| toolbox.home.has_changed_since(change)) {
        return Err(Stuck::Changed);
    }
    let compose = |params: &mut Writer<'_>| {
        params.object(|params| {
            params.field("name", tool.as_str());
            params.field("arguments", written(result, before));
        });
        Ok(())
    };
    match admitted.call(toolbox.port, compose, |answer| answer.refusal(words)).await {
        Ok(Ok(_)) => {
            result.rewind(before);
            Ok(())
        }
        Ok(Err(_)) => Err(Stuck::Refused),
        Err(why) => Err(Stuck::Unanswered(why)),
    }
}
