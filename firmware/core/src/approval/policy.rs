//! The settings that decide about a call. They are read once, when the call begins, and hold for it.

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_time::Duration;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::{Risk, Risks};
use crate::config::Config;
use crate::settings::{GATE_DIRECT, GATE_PIN, GATE_SECONDS, Policy};
use crate::store::Store;
use crate::tool::Caller;

/// The settings that decide about a call.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalPolicy {
    /// Whether calls of the caller may need approval. If not, the rest does not matter.
    pub(super) is_guarded: bool,
    policies: [Policy; Risk::ALL.len()],
    /// How long an approval stays pending.
    pub(super) patience: Duration,
    /// Whether there is a PIN.
    pub(super) has_pin: bool,
}

impl ApprovalPolicy {
    /// Reads them.
    pub(super) async fn read<F: MultiwriteNorFlash>(
        caller: &Caller<'_>,
        store: &Mutex<NoopRawMutex, Store<'_, F>>,
        config: &Config<'_>,
    ) -> Self {
        let mut this =
            Self { is_guarded: true, policies: [Policy::Ask; _], patience: Duration::MIN, has_pin: false };
        if let Caller::Person = caller
            && !GATE_DIRECT.get(&mut *store.lock().await, config).await
        {
            return Self { is_guarded: false, ..this };
        }
        for (policy, risk) in this.policies.iter_mut().zip(Risk::ALL) {
            *policy = risk.setting().get(&mut *store.lock().await, config).await;
        }
        let seconds = GATE_SECONDS.get(&mut *store.lock().await, config).await;
        this.patience = Duration::from_secs(seconds.into());
        this.has_pin = !GATE_PIN.get(&mut *store.lock().await, config).await.is_empty();
        this
    }

    /// The strictest policy for these risks.
    pub(super) fn strictest(&self, risks: Risks) -> Policy {
        let policies = risks.each().filter_map(|risk| self.policies.get(risk as usize).copied());
        policies.max().unwrap_or(Policy::Allow)
    }
}
