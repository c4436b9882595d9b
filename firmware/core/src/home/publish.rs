//! The home at the broker: what has to be published of the devices, and what an earlier run left there.

use super::table::{Flags, Table};
use super::{DeviceId, Home, Phase};
use crate::json::{Overflow, Value, Writer};

/// What has to become of the state that the broker keeps of a device from an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftover {
    /// It is right, or will be soon.
    Keep,
    /// Nobody knows how the device is.
    Unavailable,
    /// There is no such device.
    Clear,
}

impl Home {
    /// There may be more to publish.
    pub(crate) fn publish_soon(&self) {
        self.changed.signal(());
    }

    /// Waits until there is something to publish.
    pub(crate) async fn changed(&self) {
        self.changed.wait().await;
    }

    /// A connection to the broker begins. It has to be told everything again; what it keeps from earlier runs is looked at in
    /// a `fresh` session.
    pub(crate) fn connected(&self, fresh: bool) {
        self.change(|table| {
            for place in 0..table.len() {
                // Of one that was never read there is nothing to tell.
                let is_described = table.get(place).is_some_and(|device| !device.state.is_empty());
                table.set(place, Flags::DUE, is_described || table.has(place, Flags::GONE));
            }
        });
        self.sweep_is_due.set(fresh || self.sweep_is_due.get());
    }

    /// Whether what the broker keeps of earlier runs has to be looked at, once.
    pub(crate) fn take_sweep(&self) -> bool {
        self.sweep_is_due.take()
    }

    /// That could not be done yet.
    pub(crate) fn sweep_later(&self) {
        self.sweep_is_due.set(true);
    }

    /// What has to become of the state that the broker keeps of a device from an earlier run.
    pub(crate) fn leftover(&self, id: &str, payload: &[u8]) -> Leftover {
        // Of one that is here and was not read yet, nobody knows how it stands.
        let place = self.look(|table| table.place(id).map(|place| table.has(place, Flags::KNOWN)));
        let Some(place) = place else { return Leftover::Keep };
        let is_available = || {
            Value::parse(payload)
                .ok()
                .and_then(|state| state.get("available"))
                .is_none_or(|is| is.text() != "false")
        };
        if place == Some(true) || payload.is_empty() {
            Leftover::Keep
        } else if place.is_none() && (self.is_known() || self.is_unsupported()) {
            Leftover::Clear
        } else if is_available() {
            Leftover::Unavailable
        } else {
            Leftover::Keep
        }
    }

    /// Whether a device of this id has been read since the controller was last lost.
    pub(crate) fn knows(&self, id: &str) -> bool {
        let place = |table: &Table| table.place(id).is_some_and(|place| table.has(place, Flags::KNOWN));
        self.look(place).unwrap_or_default()
    }

    /// Whether what is retained of devices is of this run: all have been read once. Then each tells for itself.
    pub(crate) fn is_current(&self) -> bool {
        self.is_current.get()
    }

    /// Takes the id of a device of which the broker has to be told. [`published`](Self::published) or
    /// [`unpublished`](Self::unpublished) follows.
    pub(crate) fn take_due(&self) -> Option<DeviceId> {
        self.change(|table| {
            let place = table.first_due()?;
            // What changes from now on is told again.
            table.set(place, Flags::DUE, false);
            DeviceId::try_from(table.get(place)?.id).ok()
        })?
    }

    /// The broker could not be told.
    pub(crate) fn unpublished(&self, id: &str) {
        self.mark(id, Flags::DUE);
    }

    /// Home Assistant has to be told of all devices again.
    pub(crate) fn announce_all(&self) {
        self.change(|table| {
            for place in 0..table.len() {
                // One that was never read is announced when it is.
                let is_described = table.get(place).is_some_and(|device| !device.state.is_empty());
                table.set(place, Flags::UNANNOUNCED, is_described || table.has(place, Flags::GONE));
            }
        });
        self.changed.signal(());
    }

    /// Takes the id of a device of which Home Assistant has to be told.
    pub(crate) fn take_unannounced(&self) -> Option<DeviceId> {
        self.take(Flags::UNANNOUNCED)
    }

    /// Home Assistant could not be told.
    pub(crate) fn unannounced(&self, id: &str) {
        self.mark(id, Flags::UNANNOUNCED);
    }

    /// Takes the id of a device that somebody has pressed.
    pub(crate) fn take_pressed(&self) -> Option<DeviceId> {
        self.take(Flags::PRESSED)
    }

    /// Nobody could be told of that.
    pub(crate) fn untold(&self, id: &str) {
        self.mark(id, Flags::PRESSED);
    }

    fn take(&self, flag: Flags) -> Option<DeviceId> {
        self.change(|table| {
            let place = table.first(flag, None)?;
            // What changes from now on is told again.
            table.set(place, flag, false);
            DeviceId::try_from(table.get(place)?.id).ok()
        })?
    }

    fn mark(&self, id: &str, flag: Flags) {
        self.change(|table| {
            if let Some(place) = table.place(id) {
                table.set(place, flag, true);
            }
        });
    }

    /// Writes the payload of `event/device/<id>`: how the device was pressed.
    pub(crate) fn write_press(&self, id: &str, buffer: &mut [u8]) -> Result<usize, Overflow> {
        let mut writer = Writer::new(buffer);
        self.with(id, |device| {
            let state = device.state();
            writer.object(|out| {
                out.field("event_type", state.get("press"));
                out.field("button", state.get("button"));
            });
        });
        writer.finish()
    }

    /// Writes the payload of `device/<id>`; nothing if the device has left.
    pub(crate) fn write(&self, id: &str, buffer: &mut [u8]) -> Result<usize, Overflow> {
        let mut writer = Writer::new(buffer);
        match self.with(id, |device| writer.object(|out| device.write(out))) {
            Some(()) => writer.finish(),
            None => Ok(0),
        }
    }

    /// The broker has been told.
    pub(crate) fn published(&self, id: &str) {
        self.change(|table| {
            let gone = table.place(id).filter(|place| table.has(*place, Flags::GONE));
            if let Some(place) = gone.filter(|place| !table.has(*place, Flags::DUE)) {
                table.remove(place);
                // There is room for one that was left out.
                if self.left_out.get() > 0 && self.phase.get() == Phase::Known {
                    self.phase.set(Phase::Unlisted);
                    self.wake.signal(());
                }
            }
        });
    }
}
