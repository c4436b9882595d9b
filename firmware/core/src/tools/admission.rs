//! Whether a call to the controller may be made, and what becomes of it: the gate, the record for `undo`, the second look.

use core::pin::{Pin, pin};

use embassy_time::{Duration, with_timeout};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::Toolbox;
use crate::home::gate::Concern;
use crate::home::{ChangeId, DeviceId, TooManyWait, Verdict, Weighed, read_back};
use crate::limits;
use crate::log::{info, warn};
use crate::platform::Platform;
use crate::settings::{
    GATE_CLOSE, GATE_DIRECT, GATE_LOCK, GATE_OPEN, GATE_PIN, GATE_SECONDS, GATE_SIREN, GATE_TOOLS,
    GATE_UNLOCK, Policy, Setting,
};
use crate::store::Store;
use crate::text::clip;
use crate::tool::{CallEnding, Caller, ControllerCall, ErrorType, Failure, Name};

/// An admitted call.
#[derive(Debug)]
pub struct Admitted {
    change: Option<ChangeId>,
    device: DeviceId,
}

/// Decides whether a call may be made, and has a person asked if need be.
pub(super) async fn admit<P: Platform, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    call: &ControllerCall<'_>,
) -> Result<Admitted, Failure> {
    let home = toolbox.home;
    let is_judged = match toolbox.caller {
        Caller::Model { .. } => true,
        Caller::Person => policy(toolbox, &GATE_DIRECT).await == "on",
    };
    if is_judged && call.hints.read_only != Some(true) {
        // By devices that are not known yet nothing can be judged.
        if with_timeout(limits::HOME_SETTLES, home.settled()).await.is_err() {
            let words = format_args!("The hub is still reading the list of devices; nothing was sent");
            return Err(Failure::new(ErrorType::Unavailable, words)
                .saying(format_args!("I do not know all devices yet. Please try again in a moment.")));
        }
    }
    let weighed = home.weigh(call.tool, call.hints, call.arguments);
    if is_judged && !weighed.concerns.is_empty() {
        let judging: Pin<&mut dyn Future<Output = _>> = pin!(judge(toolbox, call, &weighed));
        judging.await?;
    }
    Ok(Admitted { change: home.change_begins(&weighed), device: weighed.device })
}

/// Applies the policy of the home to a call that raises concerns.
async fn judge<P: Platform, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    call: &ControllerCall<'_>,
    weighed: &Weighed,
) -> Result<(), Failure> {
    let mut strictest = Policy::Allow;
    for concern in weighed.concerns.each() {
        let text = policy(toolbox, row(concern)).await;
        strictest = strictest.max(Policy::named(&text).unwrap_or(Policy::Ask));
    }
    if strictest == Policy::Allow {
        return Ok(());
    }
    let home = toolbox.home;
    let what = home.explain(weighed, call.tool, call.arguments, |what| clip::<{ limits::APPROVAL }>(what));
    let what = what.unwrap_or_default();
    if strictest == Policy::Deny {
        warn!("gate: denied by the settings: {}", what.as_str());
        let failure = Failure::new(
            ErrorType::Denied,
            format_args!("The settings of the hub do not allow a model to {what}; nothing was done"),
        );
        return Err(failure
            .saying(format_args!("I may not {what}: the settings do not allow it."))
            .instructing(NO_WAY_ROUND));
    }
    let seconds = policy(toolbox, &GATE_SECONDS).await.parse().unwrap_or(60);
    let can_use_pin = !policy(toolbox, &GATE_PIN).await.is_empty();
    let tool = Name::try_from(call.tool).unwrap_or_default();
    info!("gate: approval is needed to {}", what.as_str());
    let patience = Duration::from_secs(seconds);
    let verdict = home.approvals.ask(&toolbox.caller, &what, &tool, patience, can_use_pin).await;
    let (error, spoken): (&str, &str) = match verdict {
        Ok(Verdict::Allowed) => {
            info!("gate: a person allowed to {}", what.as_str());
            return Ok(());
        }
        Ok(Verdict::Denied) => ("A person did not allow to", "you did not allow it."),
        Err(TooManyWait) => (
            "As much waits for approval as can; nobody was asked whether to",
            "too much waits for approval already.",
        ),
        Ok(_) => ("Nobody approved in time to", "nobody allowed it in time."),
    };
    warn!("gate: {} {}", error, what.as_str());
    Err(Failure::new(ErrorType::Denied, format_args!("{error} {what}; nothing was done"))
        .saying(format_args!("I did not {what}: {spoken}"))
        .instructing(NO_WAY_ROUND))
}

/// For the model.
const NO_WAY_ROUND: &str = "Do not try it in another way. Tell the person that it was not done, and why.";

/// The setting that says what is done about a concern.
const fn row(concern: Concern) -> &'static Setting {
    match concern {
        Concern::Unlock => &GATE_UNLOCK,
        Concern::Lock => &GATE_LOCK,
        Concern::Open => &GATE_OPEN,
        Concern::Close => &GATE_CLOSE,
        Concern::Alarm => &GATE_SIREN,
        Concern::Destructive => &GATE_TOOLS,
    }
}

async fn policy<P, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    row: &Setting,
) -> heapless::String<{ limits::PIN }> {
    clip(&row.value(&mut *toolbox.store.lock().await, toolbox.config).await)
}

/// A call has ended. If its outcome is unknown, the device is read again, and the failure says how it is now.
pub(super) async fn ended<P, S>(toolbox: &Toolbox<'_, P, S>, admitted: Admitted, ending: CallEnding<'_>) {
    let Admitted { change, device } = admitted;
    let is_done = match &ending {
        CallEnding::Done => true,
        CallEnding::Refused => false,
        CallEnding::Failed(failure) => failure.is_unknown,
    };
    toolbox.home.change_ends(change, is_done);
    let CallEnding::Failed(failure) = ending else { return };
    if !failure.is_unknown || device.is_empty() {
        return;
    }
    let reading: Pin<&mut dyn Future<Output = _>> = pin!(read_back(toolbox.port, toolbox.home, &device));
    if let Some(now) = reading.await {
        let is_available = toolbox.home.with(&device, |device| device.is_available).unwrap_or_default();
        let but = if is_available { "but" } else { "and" };
        info!("home: after a call with an unknown outcome, {}", now.as_str());
        failure.message = Some(clip(&format_args!("The controller did not answer, {but} {now}.")));
        failure.instruction =
            Some("Do not repeat the call. The message tells how the device is now; tell the person.");
    }
}
