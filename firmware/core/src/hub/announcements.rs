//! What is published for those who did not ask: Home Assistant's announcements, `health`, presses of buttons, and what
//! somebody else was told.

use core::cell::Cell;

use embassy_time::Instant;
use minimq::{Io, Publication, QoS};

use super::publisher::{Publisher, retain};
use super::{health, turn};
use crate::config::Config;
use crate::discovery::About;
use crate::home::{DeviceId, Leftover, Remains};
use crate::json::{Overflow, Value, Writer};
use crate::limits;
use crate::log::{debug, warn};
use crate::mqtt::{Connection, Lost, Payload, Sent, Topics};
use crate::request::{Job, Request};
use crate::text::spoken::{Spoken, Voice};

impl<S> Publisher<'_, S> {
    /// Everything has to be announced again, also pending approvals. If discovery is off, removed again: that may have been lost with a connection.
    pub(super) fn announce_all(&mut self) {
        self.hub.discovery.announce_hub();
        self.hub.home.announce_all();
        self.hub.approvals.publish_again();
        self.health_is_due = Instant::MIN;
    }

    /// Publishes one announcement: they are long, and nothing is to wait for them. The hub comes first, which the others refer
    /// to. Without acknowledgement, as the states of devices.
    pub(super) async fn publish_announcement<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
    ) -> Result<(), Lost> {
        let (home, discovery, hub) = (self.hub.home, self.hub.discovery, self.hub.identity.id());
        if discovery.take_hub(connection.is_retaining()) {
            let about = About {
                id: hub,
                name: self.hub.identity.name(),
                is_nameless: self.hub.identity.name() == Config::DEFAULT.name,
                target: self.hub.config.target,
                has_signal: (self.hub.network)().has_wifi,
                has_stack: self.hub.platform.usage().stack_size > 0,
            };
            let topic = discovery.hub_topic(hub);
            let mut payload = |buffer: &mut [u8]| discovery.write_hub(&about, buffer);
            match retain(connection, Publication::new(&topic, Payload(&mut payload))).await? {
                Sent::Later => {
                    discovery.hub_is_left();
                    self.home_waits = true;
                    return Ok(());
                }
                Sent::Now(_) => {}
                Sent::Never => {
                    warn!("mqtt: the hub's announcement to Home Assistant is larger than the broker takes")
                }
            }
        }
        if let Some(id) = home.take_unannounced() {
            if !self.announce(&id, connection).await? {
                home.unannounced(&id);
                self.home_waits = true;
                return Ok(());
            }
            home.publish_soon();
        }
        Ok(())
    }

    /// Announces a device, or removes one that has left. Returns `false` if there is no room for that now.
    async fn announce<IO: Io>(
        &self,
        id: &str,
        connection: &mut Connection<'_, '_, IO>,
    ) -> Result<bool, Lost> {
        let (home, discovery, hub) = (self.hub.home, self.hub.discovery, self.hub.identity.id());
        let is_announced = match home.with(id, |device| discovery.keeps_announcement(device)) {
            // A retained announcement is removed when the sweep finds it.
            _ if !discovery.announces_devices() => !connection.is_retaining(),
            Some(keeps) => !keeps,
            None => home.with_left(id, |device| !discovery.keeps_announcement(device)) == Some(true),
        };
        if !is_announced {
            return Ok(true);
        }
        let topic = discovery.device_topic(hub, id);
        let (started, size) = (Instant::now(), Cell::new(0));
        let mut payload = |buffer: &mut [u8]| {
            let written = home.with(id, |device| discovery.write_device(hub, Some(device), buffer));
            written.unwrap_or(Ok(0)).inspect(|bytes| size.set(*bytes))
        };
        let sent = retain(connection, Publication::new(&topic, Payload(&mut payload))).await?;
        debug!("mqtt: {} announced in {} bytes, {} us", id, size.get(), started.elapsed().as_micros());
        Ok(!matches!(sent, Sent::Later))
    }

    /// Handles an announcement that the broker retains.
    pub(super) fn found_announcement(&mut self, topic: &str, payload: &[u8]) {
        let (home, discovery, hub) = (self.hub.home, self.hub.discovery, self.hub.identity.id());
        let Some(of) = discovery.announced_on(hub, topic).filter(|_| !payload.is_empty()) else { return };
        if of.is_empty() {
            if !discovery.is_on() {
                discovery.hub_is_left();
            }
            return;
        }
        // A topic does not contain every id unchanged. For an unknown device, the id is taken from the topic as it is.
        let known = home.id_where(|id| *discovery.device_topic(hub, id) == *topic);
        match known.or_else(|| DeviceId::try_from(of).ok()) {
            Some(id) if !self.is_to_be_announced(&id) => {
                if self.leftover.is_none() {
                    self.leftover = Some(Remains::new(id, Leftover::Unannounce, b"{}"));
                } else {
                    // One at a time: the next sweep receives the others again.
                    discovery.sweep_later();
                }
            }
            Some(_) => {}
            None => debug!("mqtt: the broker keeps the announcement of a device whose id is too long"),
        }
    }

    /// Whether the announcement of a device may stay at the broker.
    pub(super) fn is_to_be_announced(&self, id: &str) -> bool {
        self.hub.discovery.announces_devices() && self.hub.home.leftover(id, b"{}") != Leftover::Clear
    }

    /// Publishes how the hub has been, if it is time.
    pub(super) async fn publish_health<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
    ) -> Result<(), Lost> {
        let now = Instant::now();
        if self.hub.discovery.is_on() && now >= self.health_is_due {
            self.health_is_due = now + limits::HEALTH_INTERVAL;
            let topic = self.topics.own("health");
            let mut payload = |buffer: &mut [u8]| health::write_summary(self.hub, buffer);
            // The next one comes soon.
            connection.publish(Publication::new(&topic, Payload(&mut payload))).await?;
        }
        Ok(())
    }

    /// Publishes which devices were pressed.
    pub(super) async fn publish_presses<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
    ) -> Result<(), Lost> {
        let home = self.hub.home;
        while let Some(id) = home.take_pressed() {
            let topic = self.topics.pressed(&id);
            let mut payload = |buffer: &mut [u8]| home.write_press(&id, buffer);
            let press = Publication::new(&topic, Payload(&mut payload)).qos(QoS::AtLeastOnce);
            if let Sent::Later = connection.publish(press).await? {
                home.untold(&id);
                self.home_waits = true;
                break;
            }
        }
        Ok(())
    }
}

/// Whether others have to know of such a request.
pub(super) const fn concerns_others(request: Request) -> bool {
    matches!(request, Request::Chat | Request::Transcript | Request::Speak)
}

/// Publishes what others have to know of a job that is done: what was answered to a person, and what somebody wants to have
/// said.
pub(super) async fn tell_others<IO: Io>(
    topics: &Topics<'_>,
    job: &Job,
    connection: &mut Connection<'_, '_, IO>,
) -> Result<Sent, Lost> {
    let (name, qos, source) = match job.request {
        Request::Chat | Request::Transcript => ("event/answer", QoS::AtLeastOnce, job.reply()),
        Request::Speak => ("speech", QoS::ExactlyOnce, job.payload()),
        _ => return Ok(Sent::Never),
    };
    let source = Value::parse(source).unwrap_or(Value::EMPTY_OBJECT);
    let text = source.get("content").or_else(|| source.get("text")).and_then(|text| text.as_text());
    let Some(text) = text.filter(|_| is_success(job)) else { return Ok(Sent::Never) };
    let topic = topics.own(name);
    let mut payload = |buffer: &mut [u8]| -> Result<usize, Overflow> {
        let mut writer = Writer::new(buffer);
        writer.object(|out| {
            let voice = match job.request {
                Request::Speak => turn::voice(source),
                _ => Voice::None,
            };
            if voice == Voice::None {
                out.field("event_type", "answer");
            }
            out.field("text", format_args!("{}", Spoken { text: &text, voice }));
            for name in ["conversation", "satellite"] {
                if let Some(value) = source.get(name) {
                    out.field(name, value);
                }
            }
        });
        writer.finish()
    };
    connection.publish(Publication::new(&topic, Payload(&mut payload)).qos(qos)).await
}

/// Whether a job was done. Conversations do not say so.
fn is_success(job: &Job) -> bool {
    let reply = Value::parse(job.reply()).ok();
    reply.is_some_and(|reply| reply.get("success").is_none_or(|success| success.text() == "true"))
}
