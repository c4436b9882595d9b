//! Waits for the controller at the far end of the line until its tools are known.

use std::cell::Cell;
use std::time::Duration;

use host_sim::caller::{ControllerState, wait_for_controller};
use host_sim::hub::Settings;
use host_sim::link::{FarEnd, Spec};
use host_sim::network::Network;
use tokio::time::{Instant, interval_at};

use crate::prompt::tell;

/// How long a line waits for the controller: the quick attempts, and the time for its list of tools.
const PATIENCE: Duration = Duration::from_secs(25);

/// How long a line at the prompt waits while a command runs at the far end. `npx` and `uvx` may have to download it first.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// The interval of the messages that the controller is still starting.
const PROGRESS: Duration = Duration::from_secs(5);

/// The same after an earlier wait was in vain.
const LATE_PATIENCE: Duration = Duration::from_secs(2);

/// The controller of this hub.
pub(crate) struct Controller {
    network: Network,
    settings: Settings,
    link: Spec,
    far_end: FarEnd,
    /// The controller has been ready, so the hub knows which names belong to it.
    pub(crate) was_ready: Cell<bool>,
    /// The controller was still starting when the last wait ended.
    is_late: Cell<bool>,
}

impl Controller {
    pub(crate) fn new(network: &Network, settings: &Settings, link: &Spec, far_end: FarEnd) -> Self {
        let (network, settings, link) = (network.clone(), settings.clone(), link.clone());
        Self { network, settings, link, far_end, was_ready: Cell::new(false), is_late: Cell::new(false) }
    }

    /// Waits until the controller is ready or missing, or the patience is over. If its state cannot be determined, it
    /// counts as missing.
    pub(crate) async fn wait(&self) -> ControllerState {
        let patience = if self.is_late.get() { LATE_PATIENCE } else { self.patience() };
        self.wait_for(patience).await
    }

    const fn patience(&self) -> Duration {
        match self.link {
            Spec::Exec(_) => START_PATIENCE,
            _ => PATIENCE,
        }
    }

    async fn wait_for(&self, patience: Duration) -> ControllerState {
        let is_starting = || self.far_end.is_running();
        let waiting = wait_for_controller(self.network.clone(), &self.settings, patience, is_starting);
        let state = waiting.await.unwrap_or(ControllerState::Missing);
        self.is_late.set(state == ControllerState::Starting);
        self.was_ready.set(self.was_ready.get() || state == ControllerState::Ready);
        state
    }

    /// Waits in the same way, but for as long as the command at the far end runs, and prints progress messages.
    pub(crate) async fn wait_while_running(&self) -> ControllerState {
        let waiting = async {
            loop {
                match self.wait_for(self.patience()).await {
                    ControllerState::Starting => {}
                    state => break state,
                }
            }
        };
        self.aloud(waiting).await
    }

    /// Prints progress messages until `waiting` ends.
    async fn aloud(&self, waiting: impl Future<Output = ControllerState>) -> ControllerState {
        let begun = Instant::now();
        let telling = async {
            let mut ticks = interval_at(begun + PROGRESS, PROGRESS);
            loop {
                ticks.tick().await;
                if self.far_end.is_running() {
                    let (link, seconds) = (&self.link, begun.elapsed().as_secs());
                    tell(&format!(
                        "  ... waiting for the controller, which is still starting ({link}, {seconds} s)"
                    ));
                }
            }
        };
        tokio::select! {
            state = waiting => state,
            () = telling => ControllerState::Missing,
        }
    }

    /// Tells the person at the prompt about a command that takes long to start.
    pub(crate) async fn tell_start(&self) -> ! {
        let begun = Instant::now();
        let state = self.aloud(self.wait()).await;
        let seconds = begun.elapsed().as_secs();
        match state {
            ControllerState::Ready if begun.elapsed() >= PROGRESS => tell("  The controller is ready."),
            ControllerState::Starting => {
                tell(&format!(
                    "  The controller is not ready after {seconds} s. The hub uses it as soon as it is."
                ));
            }
            ControllerState::Ready | ControllerState::Missing => {}
        }
        std::future::pending().await
    }
}
