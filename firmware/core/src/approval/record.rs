//! An admitted call to the controller: sent once, recorded for `undo`, and followed by a look at the device if no answer comes.

use super::{Assessment, Unanswered};
use crate::home::{ChangeId, DeviceId, Home, read_back};
use crate::json::Writer;
use crate::link::{Method, Port};
use crate::tool::{Answer, Failed, Success, Withdrawn};

/// An admitted call. Dropped before it has ended, it counts as done: its outcome is unknown.
pub struct Admitted<'a> {
    home: &'a Home,
    change: Option<ChangeId>,
    /// The device that the call changes; empty if it is not known, or if there are several.
    device: DeviceId,
    /// The device that it was assessed for, which must still be the same when it is sent.
    assessed: (DeviceId, u64),
}

impl<'a> Admitted<'a> {
    pub(super) fn new(home: &'a Home, assessment: &Assessment) -> Self {
        let device = home.single_device(&assessment.device);
        let change = assessment.is_change.then(|| home.change_begins(&device)).flatten();
        Self { home, change, device, assessed: (assessment.device.clone(), assessment.identity) }
    }

    /// A call that `undo` does not take back.
    #[must_use]
    pub fn unrecorded(mut self) -> Self {
        self.end(false);
        self
    }

    /// Whether the device is still what it was: the call may have waited for others.
    fn is_current(&self) -> bool {
        let (device, identity) = &self.assessed;
        device.is_empty() || self.home.with(device, |device| device.identity()) == Some(*identity)
    }

    fn end(&mut self, is_done: bool) {
        self.home.change_ends(self.change.take(), is_done);
    }

    /// Makes the call. If its outcome is unknown, the device is read again.
    pub async fn call(
        mut self,
        port: &Port,
        compose: impl FnOnce(&mut Writer<'_>) -> Result<(), Withdrawn>,
        read: impl FnOnce(Answer<'_>) -> Result<Success, Failed>,
    ) -> Result<Result<Success, Failed>, Unanswered> {
        let compose = |params: &mut Writer<'_>| match self.is_current() {
            true => compose(params),
            false => Err(Withdrawn::Changed),
        };
        let error = match port.call(Method::CallTool, compose, read).await {
            Ok(outcome) => {
                match outcome {
                    Err(Failed { is_unknown: false }) => self.home.change_fails(self.change.take()),
                    _ => self.end(true),
                }
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
