//! The home at the broker: what has to be published of the devices, and what an earlier run left there.

use heapless::String;

use super::table::Flags;
use super::{Device, DeviceId, Home, Knowledge};
use crate::json::{Overflow, Value, Writer};
use crate::limits;

/// What to do with a device state that the broker has retained since an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftover {
    /// Leave it: it is right, or nobody knows yet.
    Keep,
    /// Replace it by an unavailable one: the device may exist, but the hub does not follow it.
    Unavailable,
    /// Remove it: the device does not exist any more.
    Clear,
    /// Remove the announcement for Home Assistant.
    Unannounce,
}

/// A device whose state the broker has retained since an earlier run, and that is not in the table.
pub(crate) struct Remains {
    pub(crate) id: DeviceId,
    pub(crate) leftover: Leftover,
    name: String<{ limits::DEVICE_NAME }>,
    room: String<{ limits::DEVICE_ROOM }>,
    kind: String<16>,
}

impl Remains {
    /// Takes the name, room and kind from the retained state.
    pub(crate) fn new(id: DeviceId, leftover: Leftover, payload: &[u8]) -> Self {
        fn text<const N: usize>(state: Value<'_>, name: &str) -> String<N> {
            state.get(name).and_then(|value| value.as_text()?.decode()).unwrap_or_default()
        }
        let state = Value::parse(payload).unwrap_or(Value::EMPTY_OBJECT);
        Self { id, leftover, name: text(state, "name"), room: text(state, "room"), kind: text(state, "kind") }
    }

    /// Writes what replaces the state: nothing if the device does not exist any more, or else that it is unavailable.
    pub(crate) fn write(&self, buffer: &mut [u8]) -> Result<usize, Overflow> {
        if matches!(self.leftover, Leftover::Clear | Leftover::Unannounce) {
            return Ok(0);
        }
        let mut writer = Writer::new(buffer);
        writer.object(|out| {
            out.field("id", self.id.as_str());
            for (name, text) in [("name", &*self.name), ("room", &*self.room), ("kind", &*self.kind)] {
                if !text.is_empty() || name == "room" {
                    out.field(name, text);
                }
            }
            out.field("state", Value::EMPTY_OBJECT);
            out.field("available", false);
        });
        writer.finish()
    }
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

    /// A connection to the broker begins. Everything is published again; in a `fresh` session what the broker has retained is
    /// compared with the devices.
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

    /// Whether the broker's retained states have to be compared with the devices: once all devices have been read, and again
    /// when a second list has confirmed which devices exist.
    pub(crate) fn take_sweep(&self) -> bool {
        self.is_known() && self.sweep_is_due.take()
    }

    /// Whether a second list has confirmed which devices exist.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.is_confirmed.get()
    }

    /// That could not be done yet.
    pub(crate) fn sweep_later(&self) {
        self.sweep_is_due.set(true);
    }

    /// What to do with a device state that the broker has retained since an earlier run.
    pub(crate) fn leftover(&self, id: &str, payload: &[u8]) -> Leftover {
        let is_available = || {
            let state = Value::parse(payload).ok();
            state.and_then(|state| state.get("available")).is_none_or(|is| is.text() != "false")
        };
        let is_kept = self.look(|table| table.place(id).is_some()) != Some(false);
        if is_kept || payload.is_empty() {
            return Leftover::Keep;
        }
        match self.knowledge() {
            Knowledge::Complete if self.is_confirmed.get() && self.left_out() == 0 => Leftover::Clear,
            // The next list may have it, it may have no room, or be in a part of the list that cannot be read.
            Knowledge::Complete | Knowledge::Incomplete if is_available() => Leftover::Unavailable,
            _ => Leftover::Keep,
        }
    }

    /// Whether what is retained of devices is of this run: all have been read once. Then each tells for itself.
    pub(crate) fn is_current(&self) -> bool {
        self.is_current.get()
    }

    /// Takes the id of a device whose state has to be published. [`published`](Self::published) or
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

    /// All devices have to be announced to Home Assistant again.
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

    /// Takes the id of a device that has to be announced to Home Assistant.
    pub(crate) fn take_unannounced(&self) -> Option<DeviceId> {
        self.take(Flags::UNANNOUNCED)
    }

    /// Calls `look` with a device that has left and was described before.
    pub(crate) fn with_left<T>(&self, id: &str, look: impl FnOnce(&Device<'_>) -> T) -> Option<T> {
        self.look(|table| {
            let place = table.place(id).filter(|place| table.has(*place, Flags::GONE))?;
            table.get(place).filter(|device| !device.state.is_empty()).map(|device| look(&device))
        })?
    }

    /// The first device id for which `is_it` holds.
    pub(crate) fn id_where(&self, is_it: impl Fn(&str) -> bool) -> Option<DeviceId> {
        self.look(|table| {
            let (_, device) = table.devices().find(|(_, device)| is_it(device.id))?;
            DeviceId::try_from(device.id).ok()
        })?
    }

    /// Home Assistant could not be told.
    pub(crate) fn unannounced(&self, id: &str) {
        self.mark(id, Flags::UNANNOUNCED);
    }

    /// Takes the id of a device that a command was lost to before it woke up.
    pub(super) fn take_loss(&self) -> Option<DeviceId> {
        self.take(Flags::LOSS_UNTOLD)
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
        let write = |device: &Device<'_>| {
            writer.object(|out| {
                // Of one that was never read, nothing is known but that.
                if device.state.is_empty() {
                    out.field("state", Value::EMPTY_OBJECT);
                    out.field("available", false);
                } else {
                    device.write(out);
                }
            });
        };
        match self.with(id, write) {
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
                if table.left_out() > 0 && self.knowledge.get() == Knowledge::Complete {
                    self.knowledge.set(Knowledge::Unlisted);
                    self.wake.signal(());
                }
            }
        });
    }
}
