//! Whether a call to the controller may be made, and what becomes of it: the gate, the record for `undo`, the second look.

use core::pin::{Pin, pin};

use embassy_time::{Duration, with_timeout};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::{Toolbox, controller};
use crate::home::gate::Concern;
use crate::home::{ChangeId, DeviceId, Home, TooManyWait, Verdict, Weighed, read_back};
use crate::json::Writer;
use crate::limits;
use crate::link::{CallError, Method, Port};
use crate::log::{info, warn};
use crate::platform::Platform;
use crate::settings::{
    GATE_CLOSE, GATE_DIRECT, GATE_LOCK, GATE_OPEN, GATE_PIN, GATE_SECONDS, GATE_SIREN, GATE_TOOLS,
    GATE_UNLOCK, Policy, Setting,
};
use crate::store::Store;
use crate::text::clip;
use crate::tool::{Answer, Caller, ControllerCall, ErrorType, Failed, Failure, Gone, Success};

/// What is to be done, in words.
type What = heapless::String<{ limits::APPROVAL }>;

/// The value of a setting of the gate.
type Short = heapless::String<{ limits::PIN }>;

/// For the model.
const NO_WAY_ROUND: &str = "Do not try it in another way. Tell the person that it was not done, and why.";

/// Decides whether a call may be made, and has a person asked if need be.
pub(super) async fn admit<'a, P: Platform, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'a, P, Store<'_, F>>,
    call: &ControllerCall<'_>,
) -> Result<Admitted<'a>, Denial> {
    let home = toolbox.home;
    let is_judged = call.hints.read_only != Some(true)
        && match toolbox.caller {
            Caller::Model { .. } => true,
            Caller::Person => value(toolbox, &GATE_DIRECT).await == "on",
        };
    if is_judged {
        // By devices that are not known yet nothing can be judged.
        with_timeout(limits::HOME_SETTLES, home.settled()).await.map_err(|_| Denial::Unsettled)?;
        let weighed = home.weigh(call.tool, call.hints, call.arguments);
        if !weighed.concerns.is_empty() {
            let judging: Pin<&mut dyn Future<Output = _>> = pin!(judge(toolbox, call, &weighed));
            judging.await?;
        }
    }
    Ok(Admitted::new(home, call))
}

/// Applies the policy of the home to a call that raises concerns.
async fn judge<P: Platform, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    call: &ControllerCall<'_>,
    weighed: &Weighed,
) -> Result<(), Denial> {
    let mut strictest = Policy::Allow;
    for concern in weighed.concerns.each() {
        let policy = value(toolbox, row(concern)).await;
        strictest = strictest.max(Policy::named(&policy).unwrap_or(Policy::Ask));
    }
    match strictest {
        Policy::Allow => return Ok(()),
        Policy::Ask => {}
        Policy::Deny => return Err(Denial::Policy),
    }
    let patience = Duration::from_secs(value(toolbox, &GATE_SECONDS).await.parse().unwrap_or(60));
    let can_use_pin = !value(toolbox, &GATE_PIN).await.is_empty();
    let asked = {
        let what = in_words(toolbox.home, call);
        info!("gate: approval is needed to {}", what.as_str());
        toolbox.home.approvals.ask(&toolbox.caller, &what, call.tool, patience, can_use_pin)
    };
    match asked.map_err(|TooManyWait| Denial::Crowd)?.decided().await {
        // While somebody was asked, the same words may have come to mean something else.
        Verdict::Allowed if toolbox.home.weigh(call.tool, call.hints, call.arguments) == *weighed => {
            info!("gate: a person allowed it");
            Ok(())
        }
        Verdict::Allowed => Err(Denial::Changed),
        Verdict::Denied => Err(Denial::Person),
        Verdict::Waiting | Verdict::Expired | Verdict::Cancelled => Err(Denial::Silence),
    }
}

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

async fn value<P, F: MultiwriteNorFlash>(toolbox: &Toolbox<'_, P, Store<'_, F>>, row: &Setting) -> Short {
    clip(&row.value(&mut *toolbox.store.lock().await, toolbox.config).await)
}

/// What a call is to do.
fn in_words(home: &Home, call: &ControllerCall<'_>) -> What {
    let weighed = home.weigh(call.tool, call.hints, call.arguments);
    home.explain(&weighed, call.tool, call.arguments, |what| clip(what)).unwrap_or_default()
}

/// Why a call is not made. Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The devices are not known yet.
    Unsettled,
    /// The settings do not allow it.
    Policy,
    /// A person does not allow it.
    Person,
    /// Nobody said anything in time.
    Silence,
    /// What was approved is not what the call would do now.
    Changed,
    /// Too much waits for approval already.
    Crowd,
}

impl Denial {
    /// The failure that a caller sees.
    pub(super) fn explain(self, home: &Home, call: &ControllerCall<'_>) -> Failure {
        let (error, spoken) = match self {
            Self::Unsettled => {
                let words = format_args!("The hub is still reading the list of devices; nothing was sent");
                let failure = Failure::new(ErrorType::Unavailable, words);
                return failure
                    .saying(format_args!("I do not know all devices yet. Please try again in a moment."));
            }
            Self::Policy => {
                ("The settings of the hub do not allow a model to", "the settings do not allow it.")
            }
            Self::Person => ("A person did not allow to", "you did not allow it."),
            Self::Silence => ("Nobody approved in time to", "nobody allowed it in time."),
            Self::Changed => {
                ("The devices changed before it was allowed to", "the devices changed meanwhile.")
            }
            Self::Crowd => (
                "As much waits for approval as can; nobody was asked whether to",
                "too much waits for approval already.",
            ),
        };
        let what = in_words(home, call);
        warn!("gate: {} {}", error, what.as_str());
        Failure::new(ErrorType::Denied, format_args!("{error} {what}; nothing was done"))
            .saying(format_args!("I did not {what}: {spoken}"))
            .instructing(NO_WAY_ROUND)
    }
}

/// An admitted call. Dropped before it has ended, it counts as done: nobody knows.
pub struct Admitted<'a> {
    home: &'a Home,
    change: Option<ChangeId>,
    device: DeviceId,
}

impl<'a> Admitted<'a> {
    fn new(home: &'a Home, call: &ControllerCall<'_>) -> Self {
        let weighed = home.weigh(call.tool, call.hints, call.arguments);
        Self { home, change: home.change_begins(&weighed), device: weighed.device }
    }

    /// A call that is not to be undone itself.
    pub(super) fn unrecorded(mut self) -> Self {
        self.end(false);
        self
    }

    fn end(&mut self, is_done: bool) {
        self.home.change_ends(self.change.take(), is_done);
    }

    /// Makes the call. If its outcome is unknown, the device is read again.
    pub(super) async fn call(
        mut self,
        port: &Port,
        compose: impl FnOnce(&mut Writer<'_>) -> Result<(), Gone>,
        read: impl FnOnce(Answer<'_>) -> Result<Success, Failed>,
    ) -> Result<Result<Success, Failed>, Unanswered> {
        let error = match port.call(Method::CallTool, compose, read).await {
            Ok(outcome) => {
                self.end(!matches!(outcome, Err(Failed { is_unknown: false })));
                return Ok(outcome);
            }
            Err(error) => error,
        };
        self.end(error.is_unknown());
        let is_read =
            error.is_unknown() && !self.device.is_empty() && read_back(port, self.home, &self.device).await;
        let now = if is_read { core::mem::take(&mut self.device) } else { DeviceId::new() };
        Err(Unanswered { error, now })
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.end(true);
    }
}

/// A call that has no answer.
pub struct Unanswered {
    error: CallError<Gone>,
    /// The device that was read again; empty if none was.
    now: DeviceId,
}

impl Unanswered {
    /// The failure that a caller sees.
    pub(super) fn explain(self, home: &Home, name: &str) -> Failure {
        let mut failure = controller::explain(name, self.error);
        home.with(&self.now, |device| {
            let but = if device.is_available { "but" } else { "and" };
            failure.message = Some(clip(&format_args!("The controller did not answer, {but} {device}.")));
            failure.instruction =
                Some("Do not repeat the call. The message tells how the device is now; tell the person.");
        });
        failure
    }
}
