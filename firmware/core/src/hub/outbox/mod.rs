//! Publishes everything that the hub has to say, most urgent first, as far as the broker takes it.
//!
//! [`Outbox::outgoing`] is the list of topics in order of priority. To add a topic, add a row.

mod leftovers;
mod questions;
mod replies;

use core::cell::Cell;

use embassy_time::Instant;
use minimq::{Io, Property, Publication, QoS};

use super::self_report;
use crate::config::Config;
use crate::context::{HubContext, HubEvent};
use crate::discovery::About;
use crate::home::{DeviceId, Remains};
use crate::json::{Overflow, Writer};
use crate::limits;
use crate::log::{debug, warn};
use crate::mqtt::{Connection, Lost, Payload, Sent, Topic, Topics, copy};
use crate::notice::Notice;
use crate::request::Intake;

/// Exactly once, so that a caller gets one answer even if the connection breaks while it is sent.
const REPLY_QOS: QoS = QoS::ExactlyOnce;

/// Device states published per pass. Then more urgent messages have their turn.
const DEVICES_AT_ONCE: usize = 4;

/// A row of [`Outbox::outgoing`].
enum Row<S> {
    /// Messages of one kind.
    Topic(Outgoing<S>),
    /// The replies to requests, and what others have to know of them: `event/answer` and `speech`.
    Replies,
    /// Questions to models and services: `llm/request/<provider>` and `service/search/request`.
    Questions,
}

/// Messages of one kind: their topic, what makes one due, and who writes it.
struct Outgoing<S> {
    /// The topic.
    topic: TopicName<S>,
    /// How the broker acknowledges it. Without acknowledgement it takes no room from replies.
    qos: QoS,
    /// Whether the broker keeps it for clients that connect later.
    is_retained: bool,
    /// The number of messages per pass, if more urgent ones have to get their turn in between.
    at_once: Option<usize>,
    /// Whether the row waits while the one above it waits for room.
    follows: bool,
    /// Whether the outbox ignores news while this row waits for room.
    has_backlog: bool,
    /// Takes the next message that is due.
    due: fn(&mut Outbox<'_, S>) -> Option<Item>,
    /// Seconds after which the broker drops the message.
    expiry: fn(&Outbox<'_, S>, &Item) -> Option<u32>,
    /// Writes the payload.
    write: Write<S>,
    /// Notes the outcome. A message that is still due has to be put back here.
    end: fn(&mut Outbox<'_, S>, &Item, &Attempt),
}

/// Writes a payload, and returns its length.
type Write<S> = fn(&Outbox<'_, S>, &Item, &mut [u8]) -> Result<usize, Overflow>;

/// Where messages of one kind go.
enum TopicName<S> {
    /// Below `hearthwave/<hub-id>/`.
    Own(&'static str),
    /// It depends on the message.
    Of(fn(&Outbox<'_, S>, &Item) -> Topic),
}

/// Identifies one of the messages of a row.
enum Item {
    /// The row has only one, or the outbox holds it.
    Next,
    Flag(bool),
    Number(u32),
    Device(DeviceId),
}

impl Item {
    fn flag(&self) -> bool {
        matches!(self, Self::Flag(true))
    }

    fn number(&self) -> u32 {
        if let Self::Number(number) = self { *number } else { 0 }
    }

    fn device(&self) -> &str {
        if let Self::Device(id) = self { id } else { "" }
    }
}

/// The outcome of sending a message.
struct Attempt {
    sent: Result<Sent, Lost>,
    bytes: usize,
    started: Instant,
}

impl Attempt {
    /// Whether there was no room for it.
    fn is_late(&self) -> bool {
        matches!(self.sent, Ok(Sent::Later))
    }

    /// Whether the session has it, or will never have room for it.
    fn is_over(&self) -> bool {
        matches!(self.sent, Ok(Sent::Now(_) | Sent::Never))
    }
}

impl<S> Outgoing<S> {
    /// Something that happens: sent once.
    const EVENT: Self = Self {
        topic: TopicName::Own(""),
        qos: QoS::AtLeastOnce,
        is_retained: false,
        at_once: None,
        follows: false,
        has_backlog: false,
        due: |_| None,
        expiry: |_, _| None,
        write: |_, _, _| Ok(0),
        end: |_, _, _| {},
    };

    /// A state: whoever connects later gets the last one.
    const STATE: Self = Self { is_retained: true, ..Self::EVENT };

    /// A state of which there are many. Without acknowledgement, which would take the room of replies: what is lost with a
    /// connection is published again with the next.
    const BULK: Self = Self { qos: QoS::AtMostOnce, has_backlog: true, ..Self::STATE };

    /// The hub's description of itself.
    const INFO: Self = Self {
        topic: TopicName::Own("info"),
        due: |outbox| outbox.take_info(),
        write: |outbox, _, buffer| self_report::write_info(outbox.hub, buffer),
        end: |outbox, _, attempt| outbox.info_is_due = !attempt.is_over(),
        ..Self::STATE
    };
}

impl<S> Outbox<'_, S> {
    /// Every topic on which the hub publishes, most urgent first.
    fn outgoing<'t>() -> &'t [Row<S>]
    where
        S: 't,
    {
        const {
            &[
                // Whether the states of devices are of this run. Before the hub is online: until then those of an earlier
                // run are not taken for what is now.
                Row::Topic(Outgoing {
                    topic: TopicName::Own("home"),
                    due: |outbox| {
                        let is_current = outbox.hub.home.is_current();
                        (outbox.home_told != Some(is_current)).then_some(Item::Flag(is_current))
                    },
                    write: |_, item, buffer| copy(if item.flag() { b"online" } else { b"offline" }, buffer),
                    end: |outbox, item, attempt| {
                        if attempt.is_over() {
                            outbox.home_told = Some(item.flag());
                        }
                    },
                    ..Outgoing::STATE
                }),
                Row::Topic(Outgoing {
                    topic: TopicName::Own("availability"),
                    due: |outbox| (outbox.online_is_due && outbox.home_told.is_some()).then_some(Item::Next),
                    write: |_, _, buffer| copy(b"online", buffer),
                    end: |outbox, _, attempt| outbox.online_is_due = !attempt.is_over(),
                    ..Outgoing::STATE
                }),
                Row::Replies,
                Row::Topic(Outgoing::INFO),
                Row::Topic(Outgoing {
                    topic: TopicName::Own("volume"),
                    due: |outbox| (outbox.volume_is_due && !outbox.info_is_due).then_some(Item::Next),
                    write: |outbox, _, buffer| {
                        let mut writer = Writer::new(buffer);
                        let level = u32::from(outbox.hub.speaker.level());
                        writer.object(|volume| volume.field("level", level));
                        writer.finish()
                    },
                    end: |outbox, _, attempt| outbox.volume_is_due = !attempt.is_over(),
                    ..Outgoing::STATE
                }),
                // A pending approval, and then its outcome.
                Row::Topic(Outgoing {
                    topic: TopicName::Of(|outbox, item| outbox.topics.approval(item.number())),
                    has_backlog: true,
                    due: |outbox| outbox.hub.approvals.take_due().map(Item::Number),
                    // Nobody decides about a call that no longer waits.
                    expiry: |outbox, item| {
                        Some(outbox.hub.approvals.seconds_left(item.number()).unwrap_or(1))
                    },
                    write: |outbox, item, buffer| outbox.hub.approvals.write(item.number(), buffer),
                    end: |outbox, item, attempt| match attempt.is_over() {
                        true => outbox.tell_of_approval(item.number()),
                        false => outbox.hub.approvals.unpublished(item.number()),
                    },
                    ..Outgoing::EVENT
                }),
                // The approval that an app shows.
                Row::Topic(Outgoing {
                    topic: TopicName::Own("approval"),
                    has_backlog: true,
                    follows: true,
                    due: |outbox| outbox.hub.approvals.take_shown_due().then_some(Item::Next),
                    // Not kept for longer than it waits, whatever becomes of the hub.
                    expiry: |outbox, _| outbox.hub.approvals.shown_seconds(),
                    write: |outbox, _, buffer| outbox.hub.approvals.write_shown(buffer),
                    end: |outbox, _, attempt| {
                        if !attempt.is_over() {
                            outbox.hub.approvals.unshown();
                        }
                    },
                    ..Outgoing::STATE
                }),
                // A pending approval, spoken by the satellite of its conversation.
                Row::Topic(Outgoing {
                    topic: TopicName::Own("speech"),
                    qos: REPLY_QOS,
                    has_backlog: true,
                    follows: true,
                    due: |outbox| outbox.hub.approvals.next_unspoken().map(Item::Number),
                    write: |outbox, item, buffer| outbox.hub.approvals.write_speech(item.number(), buffer),
                    end: |outbox, item, attempt| {
                        if attempt.is_over() {
                            outbox.hub.approvals.spoken(item.number());
                        }
                    },
                    ..Outgoing::EVENT
                }),
                // Before events and notices: a question wants all of the buffer.
                Row::Questions,
                // Again, if a question had no room for all tools.
                Row::Topic(Outgoing {
                    due: |outbox| {
                        let has_changed = outbox.take_left_out_tools();
                        if has_changed { outbox.take_info() } else { None }
                    },
                    ..Outgoing::INFO
                }),
                // `event/tool` and `event/chat`.
                Row::Topic(Outgoing {
                    topic: TopicName::Of(|outbox, _| match &outbox.event {
                        Some(event) => event.topic(&outbox.topics),
                        None => Topic::new(),
                    }),
                    due: |outbox| {
                        if outbox.event.is_none() {
                            outbox.event = outbox.hub.events.pop();
                        }
                        outbox.event.is_some().then_some(Item::Next)
                    },
                    write: |outbox, _, buffer| {
                        outbox.event.as_ref().map_or(Ok(0), |event| event.write(buffer))
                    },
                    end: |outbox, _, attempt| {
                        if !attempt.is_late() {
                            outbox.event = None;
                        }
                    },
                    ..Outgoing::EVENT
                }),
                // Notices for people.
                Row::Topic(Outgoing {
                    topic: TopicName::Own("log"),
                    due: |outbox| {
                        if outbox.notice.is_none() {
                            outbox.notice = outbox.hub.notices.pop();
                        }
                        outbox.notice.is_some().then_some(Item::Next)
                    },
                    write: |outbox, _, buffer| {
                        outbox.notice.as_ref().map_or(Ok(0), |notice| notice.write(buffer))
                    },
                    end: |outbox, _, attempt| {
                        if !attempt.is_late() {
                            outbox.notice = None;
                        }
                    },
                    ..Outgoing::EVENT
                }),
                // `event/device/<id>`: presses of buttons.
                Row::Topic(Outgoing {
                    topic: TopicName::Of(|outbox, item| outbox.topics.pressed(item.device())),
                    has_backlog: true,
                    due: |outbox| outbox.hub.home.take_pressed().map(Item::Device),
                    write: |outbox, item, buffer| outbox.hub.home.write_press(item.device(), buffer),
                    end: |outbox, item, attempt| {
                        if attempt.is_late() {
                            outbox.hub.home.untold(item.device());
                        }
                    },
                    ..Outgoing::EVENT
                }),
                // The hub's announcement to Home Assistant, to which those of devices refer.
                Row::Topic(Outgoing {
                    topic: TopicName::Of(|outbox, _| {
                        outbox.hub.discovery.hub_topic(outbox.hub.identity.id())
                    }),
                    due: |outbox| outbox.hub.discovery.take_hub(outbox.is_retaining).then_some(Item::Next),
                    write: |outbox, _, buffer| outbox.write_hub_announcement(buffer),
                    end: |outbox, _, attempt| match attempt.sent {
                        Ok(Sent::Now(_)) | Err(_) => {}
                        Ok(Sent::Later) => outbox.hub.discovery.hub_is_left(),
                        Ok(Sent::Never) => {
                            warn!(
                                "mqtt: the hub's announcement to Home Assistant is larger than the broker takes"
                            );
                        }
                    },
                    ..Outgoing::BULK
                }),
                // The announcement of a device. It is long, and nothing is to wait for it.
                Row::Topic(Outgoing {
                    topic: TopicName::Of(|outbox, item| {
                        outbox.hub.discovery.device_topic(outbox.hub.identity.id(), item.device())
                    }),
                    at_once: Some(1),
                    follows: true,
                    due: |outbox| outbox.take_announcement(),
                    write: |outbox, item, buffer| outbox.write_announcement(item.device(), buffer),
                    end: |outbox, item, attempt| outbox.end_announcement(item.device(), attempt),
                    ..Outgoing::BULK
                }),
                // A retained device state or announcement of an earlier run.
                Row::Topic(Outgoing {
                    topic: TopicName::Of(|outbox, _| outbox.leftover_topic()),
                    due: |outbox| outbox.has_leftover().then_some(Item::Next),
                    write: |outbox, _, buffer| {
                        outbox.leftover.as_ref().map_or(Ok(0), |remains| remains.write(buffer))
                    },
                    end: |outbox, _, attempt| {
                        if attempt.is_over() {
                            outbox.leftover = None;
                        }
                    },
                    ..Outgoing::BULK
                }),
                // `device/<id>`: the state of a device.
                Row::Topic(Outgoing {
                    topic: TopicName::Of(|outbox, item| outbox.topics.device(item.device())),
                    at_once: Some(DEVICES_AT_ONCE),
                    follows: true,
                    due: |outbox| outbox.hub.home.take_due().map(Item::Device),
                    write: |outbox, item, buffer| outbox.hub.home.write(item.device(), buffer),
                    end: |outbox, item, attempt| match attempt.sent {
                        Ok(Sent::Later) => outbox.hub.home.unpublished(item.device()),
                        Ok(Sent::Now(_) | Sent::Never) => outbox.hub.home.published(item.device()),
                        // The next connection publishes all of them.
                        Err(_) => {}
                    },
                    ..Outgoing::BULK
                }),
                // Figures for graphs. If there is no room, the next ones follow soon.
                Row::Topic(Outgoing {
                    topic: TopicName::Own("health"),
                    qos: QoS::AtMostOnce,
                    due: |outbox| {
                        let now = Instant::now();
                        let is_due = outbox.hub.discovery.is_on() && now >= outbox.health_is_due;
                        is_due.then(|| {
                            outbox.health_is_due = now + limits::HEALTH_INTERVAL;
                            Item::Next
                        })
                    },
                    write: |outbox, _, buffer| self_report::write_health_summary(outbox.hub, buffer),
                    ..Outgoing::EVENT
                }),
            ]
        }
    }
}

/// Publishes what the hub has to say. Outlives connections.
pub(super) struct Outbox<'a, S> {
    pub(super) topics: Topics<'a>,
    hub: &'a HubContext<'a, S>,
    /// Takes requests, and keeps account of their replies.
    pub(super) intake: Intake,
    /// Whether the broker of this connection keeps retained messages.
    is_retaining: bool,
    online_is_due: bool,
    pub(super) info_is_due: bool,
    pub(super) volume_is_due: bool,
    /// An event for which there was no room.
    event: Option<HubEvent>,
    /// A notice for which there was no room.
    notice: Option<Notice>,
    /// A retained device state or announcement of an earlier run, which has to be cleared.
    leftover: Option<Remains>,
    /// How many devices `info` tells of.
    devices: (usize, usize),
    /// A row with a backlog waits for room.
    has_backlog: bool,
    /// What was told of the home.
    home_told: Option<bool>,
    /// When `health` is published next.
    health_is_due: Instant,
    /// Home Assistant's start has to be listened for.
    pub(super) status_is_wanted: bool,
    /// Until when nobody is told again that the broker denies replies, and the hub's own messages.
    denials: [Instant; 2],
    /// Until when nobody is told again that the hub is busy.
    busy_told_until: Instant,
    /// The hub did not end the last connection, so callers may have lost theirs as well.
    pub(super) is_lost: bool,
    /// The end of the time for which replies to earlier requests wait for their callers to reconnect.
    callers_return_at: Instant,
}

impl<'a, S> Outbox<'a, S> {
    // It is large and made once, so its stack frame is not that of its caller.
    #[inline(never)]
    pub(super) fn new(hub: &'a HubContext<'a, S>) -> Self {
        Self {
            topics: Topics::new(hub.identity.id()),
            hub,
            intake: Intake::new(),
            is_retaining: false,
            online_is_due: true,
            info_is_due: true,
            volume_is_due: true,
            event: None,
            notice: None,
            leftover: None,
            devices: (0, 0),
            has_backlog: false,
            home_told: None,
            health_is_due: Instant::MIN,
            status_is_wanted: true,
            denials: [Instant::MIN; 2],
            busy_told_until: Instant::MIN,
            is_lost: false,
            callers_return_at: Instant::MIN,
        }
    }

    /// A connection begins, in a `fresh` session or not.
    pub(super) fn connected(&mut self, fresh: bool) {
        self.intake.connected(fresh);
        if core::mem::take(&mut self.is_lost) {
            self.callers_return_at = Instant::now() + limits::CALLERS_RETURN;
        }
        self.home_told = None;
        self.online_is_due = true;
        self.info_is_due = true;
        self.volume_is_due = true;
        self.hub.home.connected(fresh);
        self.hub.discovery.sweep_if_off();
        self.status_is_wanted |= fresh;
        self.announce_all();
    }

    /// Everything has to be announced again, also pending approvals. If discovery is off, removed again: that may have been
    /// lost with a connection.
    pub(super) fn announce_all(&mut self) {
        self.hub.discovery.announce_hub();
        self.hub.home.announce_all();
        self.hub.approvals.publish_again();
        self.health_is_due = Instant::MIN;
    }

    /// Whether something waits for room.
    pub(super) const fn has_backlog(&self) -> bool {
        self.event.is_some() || self.notice.is_some() || self.has_backlog
    }

    /// Publishes everything that is due, as far as there is room.
    pub(super) async fn publish<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
    ) -> Result<(), Lost> {
        while let Some(slot) = self.hub.slots.try_answered() {
            self.on_written(connection, slot).await;
        }
        self.is_retaining = connection.is_retaining();
        let devices = self.hub.home.announced();
        self.info_is_due |= devices != self.devices && self.hub.home.is_known();
        self.has_backlog = false;
        let mut waits_for_room = false;
        for row in Self::outgoing() {
            waits_for_room = match row {
                Row::Topic(outgoing) if waits_for_room && outgoing.follows => true,
                Row::Topic(outgoing) => !self.publish_row(connection, outgoing).await?,
                Row::Replies => {
                    self.publish_replies(connection).await?;
                    false
                }
                Row::Questions => {
                    self.publish_questions(connection).await?;
                    false
                }
            };
        }
        Ok(())
    }

    /// Publishes what is due in a row. Returns `false` if there was no room for all of it.
    async fn publish_row<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
        row: &Outgoing<S>,
    ) -> Result<bool, Lost> {
        let mut count = 0;
        while row.at_once != Some(count) {
            let Some(item) = (row.due)(self) else { return Ok(true) };
            let attempt = self.send(connection, row, &item).await;
            (row.end)(self, &item, &attempt);
            if let Sent::Later = attempt.sent? {
                self.has_backlog |= row.has_backlog;
                return Ok(false);
            }
            count += 1;
        }
        // The rest has its turn after what is more urgent.
        self.hub.home.publish_soon();
        Ok(true)
    }

    /// Publishes one message.
    async fn send<IO: Io>(
        &self,
        connection: &mut Connection<'_, '_, IO>,
        row: &Outgoing<S>,
        item: &Item,
    ) -> Attempt {
        let (started, bytes) = (Instant::now(), Cell::new(0));
        let topic = match row.topic {
            TopicName::Own(name) => self.topics.own(name),
            TopicName::Of(topic) => topic(self, item),
        };
        let expiry = (row.expiry)(self, item).map(Property::MessageExpiryInterval);
        let mut payload = |buffer: &mut [u8]| {
            let written = (row.write)(self, item, buffer);
            written.inspect(|length| bytes.set(*length))
        };
        let message = Publication::new(&topic, Payload(&mut payload)).qos(row.qos);
        let message = message.properties(expiry.as_slice());
        let message = if row.is_retained && self.is_retaining { message.retain() } else { message };
        let sent = connection.publish(message).await;
        Attempt { sent, bytes: bytes.get(), started }
    }

    /// Takes `info`, if it is due. The hub is online before.
    fn take_info(&mut self) -> Option<Item> {
        let is_due = self.info_is_due && !self.online_is_due;
        is_due.then(|| {
            self.devices = self.hub.home.announced();
            Item::Next
        })
    }

    /// Takes the news that questions have left out other tools than before. `info` names them.
    fn take_left_out_tools(&mut self) -> bool {
        let HubContext { conversations, registry, notices, .. } = self.hub;
        let has_changed = conversations.take_change();
        if has_changed {
            if let Some(notice) = conversations.take_news(registry) {
                notices.push(notice);
            }
            self.info_is_due = true;
        }
        has_changed
    }

    /// Tells satellites that the call of their conversation waits for approval, if it still does.
    fn tell_of_approval(&self, number: u32) {
        self.hub.approvals.with_waiting(number, |conversation, tool| {
            let conversation = conversation.try_into().unwrap_or_default();
            let event = HubEvent::Chat { conversation, state: "approval", tool: Some(tool.clone()) };
            self.hub.events.push(event);
        });
    }

    fn write_hub_announcement(&self, buffer: &mut [u8]) -> Result<usize, Overflow> {
        let HubContext { config, identity, platform, network, discovery, .. } = self.hub;
        let about = About {
            id: identity.id(),
            name: identity.name(),
            is_nameless: identity.name() == Config::DEFAULT.name,
            target: config.target,
            has_signal: network().has_wifi,
            has_stack: platform.usage().stack_size > 0,
        };
        discovery.write_hub(&about, buffer)
    }

    /// Takes the next device to announce or, if it has left, to remove.
    fn take_announcement(&self) -> Option<Item> {
        let HubContext { home, discovery, .. } = self.hub;
        let id = home.take_unannounced()?;
        let is_announced = match home.with(&id, |device| discovery.keeps_announcement(device)) {
            // A retained announcement is removed when the sweep finds it.
            _ if !discovery.announces_devices() => !self.is_retaining,
            Some(keeps) => !keeps,
            None => home.with_left(&id, |device| !discovery.keeps_announcement(device)) == Some(true),
        };
        if !is_announced {
            home.publish_soon();
            return None;
        }
        Some(Item::Device(id))
    }

    fn write_announcement(&self, id: &str, buffer: &mut [u8]) -> Result<usize, Overflow> {
        let HubContext { home, discovery, identity, .. } = self.hub;
        let written = home.with(id, |device| discovery.write_device(identity.id(), Some(device), buffer));
        written.unwrap_or(Ok(0))
    }

    fn end_announcement(&self, id: &str, attempt: &Attempt) {
        if attempt.sent.is_ok() {
            debug!(
                "mqtt: {} announced in {} bytes, {} us",
                id,
                attempt.bytes,
                attempt.started.elapsed().as_micros()
            );
        }
        if attempt.is_late() {
            self.hub.home.unannounced(id);
        }
    }
}
