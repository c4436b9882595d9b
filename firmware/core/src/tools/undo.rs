//! `undo`: takes the last change of a device back. (A tool's parts are explained in this folder's README.md.)

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::{Toolbox, admission, controller};
use crate::home::{DeviceId, NotUndone, Step, read_actions};
use crate::json::{Value, Writer};
use crate::limits;
use crate::link::Method;
use crate::platform::Platform;
use crate::store::Store;
use crate::text::clip;
use crate::tool::{Answer, CallEnding, ControllerCall, ErrorType, Example, Failure, Hints, Name, Success, Tool};

pub(super) static TOOL: Tool<'static> = Tool {
    description: "Takes back the last change of a device that a person or a model made.\n\nUse it when somebody says \"undo \
                  that\" or \"not that one\". It does nothing if the device has changed since.",
    schema: r#"{"type":"object","properties":{}}"#,
    usage: "undo({})",
    examples: &[Example {
        code: "undo({})  ->  {\"device\": \"7-0\", \"name\": \"Kitchen Light\"}",
        explanation: "The kitchen light is as it was before the last call.",
    }],
    ..Tool::builtin("undo")
};

/// Dropped in the middle, a device with several settings may have some of them back.
pub(super) async fn run<P: Platform, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    _: Value<'_>,
    result: &mut Writer<'_>,
) -> Result<Success, Failure> {
    let home = toolbox.home;
    let (device, steps) = home.undo_steps().map_err(|why| explain(toolbox, why))?;
    for step in &steps {
        perform(toolbox, &device, step).await?;
    }
    home.forget_change();
    let name: heapless::String<{ limits::DEVICE_NAME }> =
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

/// The arguments of a call that undoes something: those that the controller gave, and a value.
const ARGUMENTS: usize = 256;

/// Does one step. It is a call like any other: judged, and sent once.
async fn perform<P: Platform, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    device: &DeviceId,
    step: &Step,
) -> Result<(), Failure> {
    let mut text = [0; ARGUMENTS];
    let found = read_actions(toolbox.port, toolbox.home, device, |actions| {
        let action = actions.get(step.action)?;
        let tool: Name = action.get("tool")?.as_text()?.decode()?;
        let mut value = [0; 32];
        let mut writer = Writer::new(&mut value);
        step.value.write(&mut writer);
        let length = writer.finish().ok()?;
        let value = Value::parse(value.get(..length)?).ok()?;
        let mut writer = Writer::new(&mut text);
        crate::home::write_arguments(action, value, &mut writer);
        Some((tool, writer.finish().ok()?))
    });
    let (tool, length) = found.await.ok().flatten().ok_or_else(|| {
        let words = format_args!("The controller does not tell how to set the device back; nothing was sent");
        Failure::new(ErrorType::Unavailable, words)
    })?;
    let arguments = text.get(..length).and_then(|text| Value::parse(text).ok()).unwrap_or(Value::EMPTY_OBJECT);
    let call = ControllerCall { tool: &tool, hints: Hints::NONE, arguments };
    let admitted = admission::admit(toolbox, &call).await?;
    let compose = |params: &mut Writer<'_>| {
        params.object(|params| {
            params.field("name", tool.as_str());
            params.field("arguments", arguments);
        });
        Ok(())
    };
    let read = |answer: Answer<'_>| answer.refusal();
    let mut outcome = match toolbox.port.call(Method::CallTool, compose, read).await {
        Ok(Some(refusal)) => Err(refusal),
        Ok(None) => Ok(()),
        Err(error) => Err(controller::explain(error)),
    };
    let ending = match &mut outcome {
        // It is no change of its own: undoing it would do again what was just taken back.
        Ok(()) => CallEnding::Refused,
        Err(failure) => CallEnding::Failed(failure),
    };
    admission::ended(toolbox, admitted, ending).await;
    outcome
}
