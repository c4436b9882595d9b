//! The hub's session with the broker: hands over what arrives, and has published what the hub has to say.

use core::convert::Infallible;
use core::pin::{Pin, pin};

use embassy_futures::select::{Either, Either5, select, select3, select5};
use embassy_futures::yield_now;
use embassy_time::with_timeout;
use hub_contract::RELAY_AVAILABILITY;
use minimq::{
    Buffers, ConfigBuilder, ConfigError, Io, QoS, RetainHandling, SubscriptionOptions, TopicFilter, Will,
};

use super::outbox::Outbox;
use crate::context::{HubContext, Identity};
use crate::discovery;
use crate::json::Value;
use crate::limits;
use crate::log::{debug, error, info, warn};
use crate::mqtt::{Client, Connection, Lost, Received, Role, SessionBuffers, Topics};
use crate::notice::{Level, Notice};
use crate::pending::Id;
use crate::platform::Dial;

const ROLE: Role = Role {
    log: "mqtt",
    refused: "it does not let the hub subscribe; check its access rules",
    taken_over: "another hub with the same id connected; give each its own",
    unsteady: "connection lost again, by the broker or the network; another hub may have the same id",
    cuts_oversize: true,
};

/// Keeps a session with the broker for ever. Whatever the broker does, it comes back, after a wait that grows with each
/// failure.
pub(super) async fn run<D: Dial, S>(
    memory: &mut SessionBuffers,
    dial: &mut D,
    seed: u64,
    hub: &HubContext<'_, S>,
) -> ! {
    let identity = hub.identity;
    let mut client = match config(memory, identity) {
        Ok(config) => Client::new(config, ROLE, seed),
        Err(_) => {
            error!("mqtt: the login at the broker is too long; the hub stays offline");
            core::future::pending().await
        }
    };
    let mut outbox = Outbox::new(hub);
    loop {
        let Some(broker) = &identity.destination(hub.now().map(|now| now.unix_seconds)) else {
            error!("mqtt: the broker's address is malformed; set broker.url. The hub stays offline");
            core::future::pending().await
        };
        let lost = match client.connect(dial, broker).await {
            // By reference: moved out of its result, the future would hold it twice.
            Ok(ref mut connection) => {
                hub.broker.connected();
                info!("mqtt: connected to {}:{} as {}", broker.host, broker.port, identity.id().as_str());
                warn_of_limits(connection);
                let Err(lost) = {
                    // Behind a pointer, for a stack frame of its own: the handshake of TLS needs the room.
                    let serving: Pin<&mut dyn Future<Output = _>> = pin!(serve(connection, &mut outbox, hub));
                    serving.await
                };
                if lost == Lost::Congested {
                    tell_of_congestion(hub);
                    // Otherwise the broker would announce that the hub is gone.
                    let _ = with_timeout(limits::FAREWELL, connection.disconnect()).await;
                }
                outbox.is_lost = lost != Lost::Congested;
                hub.questions.disconnected();
                lost
            }
            Err(lost) => lost,
        };
        let failure = client.explain_loss(lost);
        if hub.broker.lost(failure) {
            hub.notices.note(Level::Warning, format_args!("broker {}: {failure}", broker.host));
        }
        client.wait(broker, failure).await;
    }
}

/// Tells people that requests were dropped.
#[inline(never)]
fn tell_of_congestion<S>(hub: &HubContext<'_, S>) {
    let text = "Too many requests at once: those that still waited at the broker were dropped.";
    hub.notices.push(Notice::new(Level::Warning, format_args!("{text}")));
}

/// Says what will not work with this broker, and which of its settings to change.
#[inline(never)]
fn warn_of_limits<IO: Io>(connection: &Connection<'_, '_, IO>) {
    if !connection.is_retaining() {
        warn!(
            "mqtt: the broker keeps no retained messages: who comes later does not see whether the hub is online until \
             that changes; allow them (mosquitto: retain_available true)"
        );
    }
    if let Some(limit) = connection.packet_limit()
        && (limit as usize) < limits::MQTT_SEND
    {
        warn!(
            "mqtt: the broker takes packets of at most {} bytes, the hub sends up to {}; raise its limit (mosquitto: \
             max_packet_size)",
            limit,
            limits::MQTT_SEND
        );
    }
}

#[inline(never)]
fn config<'m>(
    memory: &'m mut SessionBuffers,
    identity: &'m Identity,
) -> Result<ConfigBuilder<'m>, ConfigError> {
    let mut client_id = heapless::String::<{ limits::CLIENT_ID }>::new();
    for part in ["hearthwave-", identity.id().as_str()] {
        client_id.push_str(part).map_err(|_| ConfigError::ClientIdTooLong)?;
    }
    // At QoS 0, which every broker takes. It is retained, so that nobody misses it.
    let will = Will::new(&Topics::new(identity.id()).own("availability"), b"offline", &[])?.retained();
    let builder = ConfigBuilder::new(Buffers::new(&mut memory.receive, &mut memory.send))
        .client_id(&client_id)?
        .keepalive_interval(limits::MQTT_KEEPALIVE)
        .session_expiry_interval(limits::MQTT_SESSION_EXPIRY)
        .autodowngrade_qos()
        .will(will)?;
    match identity.login() {
        Some((user, password)) => builder.auth(user, password.as_bytes()),
        None => Ok(builder),
    }
}

/// Serves one connection until it ends.
async fn serve<IO: Io, S>(
    connection: &mut Connection<'_, '_, IO>,
    outbox: &mut Outbox<'_, S>,
    hub: &HubContext<'_, S>,
) -> Result<Infallible, Lost> {
    outbox.connected(connection.is_fresh());
    hub.questions.connected(connection.is_fresh());
    let mut relay_is_wanted = true;
    loop {
        outbox.release_replies();
        if connection.needs_subscribing() {
            subscribe(connection, &outbox.topics).await?;
        }
        // Whoever reads "online" may ask at once, so the hub listens first.
        if connection.is_subscribed() {
            outbox.publish(connection).await?;
            loop {
                // Borrowed, because a pattern that moves the value would keep a second copy in the future.
                let refused = outbox.take_waiting();
                let Some(refused) = &refused else { break };
                outbox.reply_now(connection, refused).await?;
            }
        }
        if connection.is_subscribed() && connection.is_retaining() && outbox.has_swept() {
            sweep(connection, &outbox.topics, hub).await?;
        }
        if connection.is_subscribed() && outbox.status_is_wanted && hub.discovery.is_on() {
            outbox.status_is_wanted = !listen_for_home_assistant(connection).await?;
        }
        if connection.is_subscribed() && relay_is_wanted {
            relay_is_wanted = !listen_for_relays(connection).await?;
        }
        // What waits for room is published when there is some, and not before.
        let can_publish = connection.is_subscribed() && !outbox.has_backlog();
        let news = async {
            match can_publish {
                true => {
                    // `health` needs no timer: the signs of life that broker and hub exchange come often enough.
                    let home = select(hub.home.changed(), hub.approvals.changed());
                    let _ = select3(hub.events.ready(), hub.notices.ready(), home).await;
                }
                false => core::future::pending().await,
            }
        };
        let woken = select5(
            connection.receive(),
            hub.slots.answered(),
            select(hub.port.status().changed(), hub.speaker.changed()),
            select(hub.questions.due(), outbox.callers_returned()),
            news,
        );
        let mut size = 0;
        let reply = match woken.await {
            Either5::First(received) => match received? {
                Some(received) if outbox.topics.is_answer(received.message.topic()) => {
                    hub.questions.ready().await;
                    take_answer(&received, hub);
                    None
                }
                Some(received) if outbox.topics.device_in(received.message.topic()).is_some() => {
                    let message = &received.message;
                    let id = outbox.topics.device_in(message.topic()).unwrap_or_default();
                    outbox.found_state(id, message.payload());
                    None
                }
                Some(received)
                    if hub.discovery.announced_on(hub.identity.id(), received.message.topic()).is_some() =>
                {
                    outbox.found_announcement(received.message.topic(), received.message.payload());
                    None
                }
                Some(received) if received.message.topic() == RELAY_AVAILABILITY => {
                    let told = Value::parse(received.message.payload()).ok();
                    let state = told.and_then(|told| told.get("state")?.as_text());
                    hub.questions.on_relay(state.map(|state| state != *"offline"));
                    None
                }
                Some(received) if received.message.topic() == discovery::STATUS => {
                    // It has started, and has forgotten what was not retained.
                    if received.message.payload() == b"online" {
                        info!("mqtt: Home Assistant has started");
                        outbox.announce_all();
                    }
                    None
                }
                Some(received) => {
                    size = received.size;
                    outbox.intake.take(&received, &outbox.topics, hub.slots, hub.approvals)
                }
                None => None,
            },
            Either5::Second(slot) => {
                outbox.on_written(connection, slot).await;
                None
            }
            Either5::Third(changed) => {
                match changed {
                    Either::First(()) => outbox.info_is_due = true,
                    Either::Second(()) => outbox.volume_is_due = true,
                }
                None
            }
            // Published in the next round.
            Either5::Fourth(_) | Either5::Fifth(_) => None,
        };
        if connection.is_congested() {
            return Err(Lost::Congested);
        }
        // A broker can send many requests at once: the workers come first, or the slots would run out.
        yield_now().await;
        if let Some(reply) = &reply {
            if reply.answer.is_err() {
                connection.note_refusal(size);
            }
            outbox.reply_now(connection, reply).await?;
        }
    }
}

async fn subscribe<IO: Io>(connection: &mut Connection<'_, '_, IO>, topics: &Topics<'_>) -> Result<(), Lost> {
    let options = SubscriptionOptions::default()
        // Exactly once, for callers who ask for it.
        .maximum_qos(QoS::ExactlyOnce)
        // A request that somebody retained by mistake must not run at every reconnect.
        .retain_behavior(RetainHandling::Never)
        .ignore_local_messages();
    let (requests, [search, model]) = (topics.requests(), topics.answers());
    let filters = [&requests, &search, &model].map(|topic| TopicFilter::new(topic).options(options));
    connection.subscribe(&filters).await
}

/// If due, has the broker send its retained messages: states and announcements of devices that left while the hub was
/// offline, and announcements of things that are no longer announced.
async fn sweep<IO: Io, S>(
    connection: &mut Connection<'_, '_, IO>,
    topics: &Topics<'_>,
    hub: &HubContext<'_, S>,
) -> Result<(), Lost> {
    let options = SubscriptionOptions::default()
        .maximum_qos(QoS::AtMostOnce)
        .retain_behavior(RetainHandling::Immediately)
        .ignore_local_messages();
    let is_due = hub.home.take_sweep();
    if is_due && hub.home.is_confirmed() {
        hub.discovery.sweep_later();
    }
    // Announcements first: a device has to leave Home Assistant before its state disappears.
    if hub.discovery.take_sweep() {
        let announcements = hub.discovery.topics(hub.identity.id());
        if !connection.subscribe_besides(TopicFilter::new(&announcements).options(options)).await? {
            hub.discovery.sweep_later();
            if is_due {
                hub.home.sweep_later();
            }
            return Ok(());
        }
    }
    if is_due {
        let states = topics.devices();
        if !connection.subscribe_besides(TopicFilter::new(&states).options(options)).await? {
            hub.home.sweep_later();
        }
    }
    Ok(())
}

/// Has the broker tell when Home Assistant starts. `false` if there is no room for that now.
async fn listen_for_home_assistant<IO: Io>(connection: &mut Connection<'_, '_, IO>) -> Result<bool, Lost> {
    let options = SubscriptionOptions::default()
        .maximum_qos(QoS::AtMostOnce)
        // The hub has just announced everything.
        .retain_behavior(RetainHandling::Never);
    connection.subscribe_besides(TopicFilter::new(discovery::STATUS).options(options)).await
}

/// Subscribes to the relays' availability, including the retained message. Returns `false` if there is no room for that
/// now.
async fn listen_for_relays<IO: Io>(connection: &mut Connection<'_, '_, IO>) -> Result<bool, Lost> {
    let options = SubscriptionOptions::default()
        .maximum_qos(QoS::AtMostOnce)
        .retain_behavior(RetainHandling::Immediately);
    connection.subscribe_besides(TopicFilter::new(RELAY_AVAILABILITY).options(options)).await
}

/// Takes the answer to a question.
fn take_answer<S>(received: &Received<'_>, hub: &HubContext<'_, S>) {
    let message = &received.message;
    let id = message.correlation_data().and_then(|data| data.try_into().ok()).map(Id::from_be_bytes);
    match id {
        None => {
            warn!(
                "mqtt: an answer on {} without the question's Correlation Data was dropped",
                message.topic()
            )
        }
        Some(id) if hub.questions.answer(id, message.payload(), received.size) => {}
        Some(_) => debug!("mqtt: an answer on {} came too late", message.topic()),
    }
}
