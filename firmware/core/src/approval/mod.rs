//! Approval: nothing dangerous happens because a model says so.
//!
//! ```text
//!   tools::execute ─► Approver::assess ──► Approver::admit ──► Admitted::call ──► controller
//!                      which device,        policy, and         sends exactly
//!                      what risk            a person             what was admitted
//! ```
//!
//! Every call of a controller's tool and of a destructive tool of the hub's own passes here, whoever makes it. A call is
//! assessed once: its device is resolved to one that the hub knows, and its risks are those of that device's
//! action. The settings decide what a risk needs. If a person has to decide, the call waits as one of the [`Approvals`].

mod answer;
mod ask;
mod assess;
mod denial;
mod pin;
mod policy;
mod record;
mod risk;
mod unanswered;

#[cfg(test)]
mod tests;

use core::cell::Cell;
use core::pin::{Pin, pin};

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_time::{Duration, Instant, Timer, with_timeout};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

pub(crate) use self::answer::{guess, is_answer, is_no};
pub use self::answer::{has_pin_digits, is_only_a_pin};
pub use self::ask::{
    ApprovalQuestion, Approvals, PendingApproval, Reminder, TooManyPending, Verdict, Waiting,
};
pub use self::assess::Assessment;
pub(crate) use self::assess::guarded_namesake;
use self::assess::{Summary, Unresolved, compare_action};
pub use self::denial::Denial;
pub(crate) use self::pin::forget_wrong_pins;
pub use self::pin::{InWords, LastGuess, PinDigits, PinOutcome};
pub use self::policy::ApprovalPolicy;
pub use self::record::Admitted;
pub use self::risk::Risks;
use self::risk::VerbForm;
pub use self::unanswered::Unanswered;
use crate::config::Config;
use crate::home::{
    Device, DeviceId, Home, Knowledge, NotAddressed, Risk, Unkept, address_unkept, is_address_unique,
    read_actions,
};
use crate::json::Value;
use crate::limits;
use crate::link::Port;
use crate::log::info;
use crate::settings::Policy;
use crate::store::Store;
use crate::text::one_line;
use crate::tool::{Addressed, Caller, ControllerCall, Registry};

/// What a person is asked to approve, in words.
type ActionText = heapless::String<{ limits::APPROVAL }>;

/// Decides about calls on behalf of a caller.
pub struct Approver<'a, S> {
    /// What the hub was started with.
    pub config: &'a Config<'a>,
    /// The settings.
    pub store: &'a Mutex<NoopRawMutex, S>,
    /// The controller.
    pub port: &'a Port,
    /// The tools.
    pub registry: &'a Registry,
    /// The devices.
    pub home: &'a Home,
    /// The pending approvals.
    pub approvals: &'a Approvals,
    /// On whose behalf.
    pub caller: Caller<'a>,
    /// The time that people have spent deciding about the call. It does not count as execution time.
    pub decision_time: Option<&'a Cell<Duration>>,
}

/// Measures how long a person takes to decide: the time until this is dropped.
struct Deciding<'a> {
    since: Instant,
    total: Option<&'a Cell<Duration>>,
}

impl Drop for Deciding<'_> {
    fn drop(&mut self) {
        if let Some(total) = self.total {
            total.set(total.get() + self.since.elapsed());
        }
    }
}

impl<'a, F: MultiwriteNorFlash> Approver<'a, Store<'_, F>> {
    /// The settings that decide about a call of this caller.
    pub async fn settings(&self) -> ApprovalPolicy {
        ApprovalPolicy::read(&self.caller, self.store, self.config).await
    }

    /// Finds out which device a call is about and what it puts at risk. The second value is the argument that has to be
    /// replaced before the call is [admitted](Self::admit).
    ///
    /// While the hub does not know the devices, a call that may change something waits a little and is then refused.
    pub async fn assess(
        &self,
        settings: &ApprovalPolicy,
        call: &ControllerCall<'_>,
    ) -> Result<(Assessment, Option<Addressed>), Denial> {
        let is_guarded = settings.is_guarded;
        let is_settled = !is_guarded || self.is_readable_now(call) || self.settle().await;
        let (mut assessment, replaced) = self.assess_now(call, is_guarded).await?;
        // A tool that controls no known device may control an unknown one. Its hint counts only here.
        let may_change = !assessment.device.is_empty() || call.hints.read_only != Some(true);
        if is_guarded && may_change && !(is_settled && self.is_known(&assessment)) {
            return Err(Denial::HomeUnknown);
        }
        if assessment.risks == Risks::of(Risk::Destructive) && !assessment.device.is_empty() {
            let is_action = {
                let replaced = replaced.as_ref();
                let checking: Pin<&mut dyn Future<Output = _>> =
                    pin!(self.is_action(call, &assessment.device, replaced));
                checking.await
            };
            if is_action {
                assessment.risks = Risks::NONE;
            }
        }
        Ok((assessment, replaced))
    }

    /// Whether a call that only reads need not wait for the devices: they are not on their way.
    fn is_readable_now(&self, call: &ControllerCall<'_>) -> bool {
        let is_stuck = matches!(self.home.knowledge(), Knowledge::ListFailed | Knowledge::Incomplete);
        is_stuck && call.hints.read_only == Some(true)
    }

    /// Assesses a call by what the hub knows now.
    async fn assess_now(
        &self,
        call: &ControllerCall<'_>,
        is_guarded: bool,
    ) -> Result<(Assessment, Option<Addressed>), Denial> {
        let denied = |unresolved| match unresolved {
            Unresolved::Several => Denial::Ambiguous,
            Unresolved::Shared => Denial::Shared,
            Unresolved::Unknown => Denial::HomeUnknown,
        };
        // The device whose address has to be checked, or none if the hub does not know the device. The assessment is
        // large, so it is not kept while the controller is asked.
        let device = {
            match assess::assess(self.home, call) {
                Ok(assessed) if self.has_known_address(&assessed.0.device, is_guarded) => {
                    return Ok(assessed);
                }
                Ok((assessment, _)) => Some(assessment.device),
                Err(Unresolved::Unknown) if self.home.knowledge() == Knowledge::Complete => None,
                // The controller knows its devices, and people may call it.
                Err(Unresolved::Unknown) if !is_guarded => {
                    return Ok((Assessment { is_change: true, ..Assessment::default() }, None));
                }
                Err(unresolved) => return Err(denied(unresolved)),
            }
        };
        let Some(device) = device else {
            let finding: Pin<&mut dyn Future<Output = _>> = pin!(self.assess_unkept(call));
            return finding.await;
        };
        let is_unique = {
            let asking: Pin<&mut dyn Future<Output = _>> =
                pin!(is_address_unique(self.port, self.home, &device));
            asking.await
        };
        if is_unique { assess::assess(self.home, call).map_err(denied) } else { Err(Denial::HomeUnknown) }
    }

    /// Whether the hub can rule out that an unread or unkept device has the same address. If such a device may be a
    /// lock, garage door or siren, the hub has to ask the controller for its list.
    fn has_known_address(&self, device: &DeviceId, is_guarded: bool) -> bool {
        // The cheapest checks come first: every call passes here.
        !is_guarded
            || device.is_empty()
            || self.home.knowledge() != Knowledge::Incomplete && !self.home.may_leave_out_guarded()
    }

    /// Assesses a call about a device that the hub has no room for. One that is guarded counts as the most dangerous action.
    async fn assess_unkept(
        &self,
        call: &ControllerCall<'_>,
    ) -> Result<(Assessment, Option<Addressed>), Denial> {
        let is_action = |action: Value<'_>, address: &Addressed| {
            compare_action(action, &|value| address.is(value), call, Some(address)).is_some()
        };
        let unkept = address_unkept(self.port, self.home, (call.tool, call.arguments), &is_action).await;
        let Unkept { kind, address, is_action } = unkept.map_err(|why| match why {
            NotAddressed::Unknown => Denial::NotFound,
            NotAddressed::Shared => Denial::Shared,
        })?;
        let mut risks = Risks::worst(kind);
        if call.hints.destructive == Some(true) && !is_action {
            risks = risks.and(Risks::of(Risk::Destructive));
        }
        let assessment = Assessment { risks, is_change: true, ..Assessment::default() };
        Ok((assessment, Some(address).filter(|address| !address.is_in(call.arguments))))
    }

    /// Whether the hub knows the device that a call is about, or all devices if it is about none.
    fn is_known(&self, assessment: &Assessment) -> bool {
        let knowledge = self.home.knowledge();
        if assessment.device.is_empty() {
            matches!(knowledge, Knowledge::NoController | Knowledge::NoDevices | Knowledge::Complete)
        } else {
            knowledge == Knowledge::NoController || self.home.is_read(&assessment.device)
        }
    }

    /// Waits a little until the hub knows the devices as they are now. Returns whether it does.
    async fn settle(&self) -> bool {
        let settling = async {
            self.home.settled().await;
            self.home.refreshed().await;
        };
        with_timeout(limits::HOME_SETTLES, settling).await.is_ok()
    }

    /// Whether a call is exactly one of the actions of its device, which are read for that: those of devices without a guard
    /// are not kept.
    async fn is_action(
        &self,
        call: &ControllerCall<'_>,
        device: &DeviceId,
        replaced: Option<&Addressed>,
    ) -> bool {
        let compare = |actions: Value<'_>| {
            let compare = |device: &Device<'_>| {
                let is_address = |value: Value<'_>| device.is_addressed_by(value);
                let mut all = actions.members().map(|(_, action)| action);
                all.any(|action| compare_action(action, &is_address, call, replaced).is_some())
            };
            self.home.with(device, compare).unwrap_or_default()
        };
        read_actions(self.port, self.home, device, compare).await.unwrap_or_default()
    }

    /// Decides whether an assessed call may be made, and asks a person if need be. Nothing has been sent if it may not, or if
    /// the future is dropped.
    pub async fn admit(
        &self,
        settings: &ApprovalPolicy,
        call: &ControllerCall<'_>,
        assessment: &Assessment,
    ) -> Result<Admitted<'a>, Denial> {
        if self.judge(settings, call, assessment).await? {
            let checking: Pin<&mut dyn Future<Output = _>> = pin!(self.is_unchanged(call, assessment));
            if !checking.await {
                return Err(Denial::Changed);
            }
        }
        Ok(Admitted::new(self.home, assessment))
    }

    /// Assesses and admits a call that has the device's own arguments. If these do not name the device any more, it has changed.
    pub async fn admit_exactly(
        &self,
        settings: &ApprovalPolicy,
        call: &ControllerCall<'_>,
    ) -> Result<Admitted<'a>, Denial> {
        let (assessment, is_replaced) = {
            let (assessment, replaced) = self.assess(settings, call).await?;
            (assessment, replaced.is_some())
        };
        if is_replaced {
            return Err(Denial::Changed);
        }
        self.admit(settings, call, &assessment).await
    }

    /// Decides whether a destructive tool of the hub's own may run, and asks a person if need be.
    pub async fn admit_builtin(
        &self,
        settings: &ApprovalPolicy,
        call: &ControllerCall<'_>,
    ) -> Result<(), Denial> {
        let risks = assess::tool_risks(call.hints, false);
        self.judge(settings, call, &Assessment { risks, ..Assessment::default() }).await.map(drop)
    }

    /// Applies the settings to a call with risks. Returns whether a person was asked, who has allowed it.
    async fn judge(
        &self,
        settings: &ApprovalPolicy,
        call: &ControllerCall<'_>,
        assessment: &Assessment,
    ) -> Result<bool, Denial> {
        match settings.strictest(assessment.risks) {
            _ if !settings.is_guarded => return Ok(false),
            Policy::Allow => return Ok(false),
            Policy::Ask => {}
            Policy::Deny => return Err(Denial::Policy),
        }
        let asked = {
            let words = summarise(self.home, call, assessment, VerbForm::Infinitive);
            info!("approval: needed to {}", words.as_str());
            self.approvals.ask(&self.caller, &words, call.tool, settings.patience, settings.has_pin)
        };
        let asked = asked.map_err(|TooManyPending| Denial::TooManyPending)?;
        let verdict = {
            let _deciding = Deciding { since: Instant::now(), total: self.decision_time };
            asked.decided().await
        };
        match verdict {
            Verdict::Allowed => {
                info!("approval: a person allowed it");
                Ok(true)
            }
            Verdict::Denied => Err(Denial::Refused),
            Verdict::Waiting | Verdict::Expired | Verdict::Cancelled => Err(Denial::NoReply),
        }
    }

    /// Whether a call still means what it meant when it was assessed: the device may have become another one, or the controller
    /// may have restarted, while a person was asked.
    async fn is_unchanged(&self, call: &ControllerCall<'_>, assessment: &Assessment) -> bool {
        // If a tool has changed, it is not called.
        let listing = async {
            while self.registry.is_outdated() {
                Timer::after(limits::HOME_POLL_SETTLED).await;
            }
        };
        with_timeout(limits::TOOLS_SETTLE, listing).await.is_ok()
            && self.settle().await
            && self.is_known(assessment)
            && matches!(self.assess_now(call, true).await, Ok((now, None)) if now == *assessment)
    }
}

/// What a call does, in words.
fn summarise(home: &Home, call: &ControllerCall<'_>, assessment: &Assessment, form: VerbForm) -> ActionText {
    let words = |device: Option<Device<'_>>| {
        let has_namesake = device.is_some_and(|device| home.has_namesake(&device));
        one_line(&Summary { assessment, device, has_namesake, call, form })
    };
    let Assessment { device, endangered, .. } = assessment;
    let shown = if endangered.is_empty() { device } else { endangered };
    home.with(shown, |device| words(Some(*device))).unwrap_or_else(|| words(None))
}
