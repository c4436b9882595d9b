//! A client that sends a hub a request over MQTT, with a separate session for each request.

use std::time::Duration;

use host_desktop::random::random_seed;
use hub_contract::ROOT;
use hub_core::Dial;
use minimq::{
    Buffers, ConfigBuilder, ConnectEvent, Connection, Error, InboundPublish, Io, Op, Property, PubError,
    Publication, QoS, SubscriptionOptions, TopicFilter,
};
use tokio::time::{sleep, timeout};

use crate::hub::Settings;
use crate::network::Network;

/// Packets of this size pass in either direction; a hub sends and takes far less.
const PACKET: usize = 256 * 1024;

/// For the broker to send the states of devices that it keeps.
const STATES: Duration = Duration::from_millis(300);

/// The pause between two connection attempts.
const AGAIN: Duration = Duration::from_millis(500);

/// The seconds for which the broker keeps replies after the connection broke.
const SESSION_EXPIRY: u32 = 20;

/// The interval at which a starting controller is checked.
const STARTING_POLL: Duration = Duration::from_millis(250);

/// Why there is no answer, for a person to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAnswer(pub String);

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoAnswer {}

/// Why a connection brought no reply.
enum Failure {
    /// There is no connection any more, or there never was one. Another connection may bring the reply.
    Lost(NoAnswer),
    /// There will be no reply.
    Final(NoAnswer),
}

/// A request to a hub, over as many connections as it needs.
struct Question<'a> {
    settings: &'a Settings,
    /// The topic of the request.
    request: String,
    payload: &'a [u8],
    /// The topic of the reply.
    reply: String,
    was_connected: bool,
    /// The session may have taken the request, so it is never published again.
    is_asked: bool,
}

/// Sends the request `name` with `payload` to the hub of `settings`, and returns the reply's payload.
///
/// First waits for the hub to be online; both waits together take at most `patience`. After a broken connection, waits
/// for the reply on the next one: the hub keeps replies for callers that reconnect. The request is published only once.
pub async fn ask(
    mut dial: impl Dial,
    settings: &Settings,
    name: &str,
    payload: &[u8],
    patience: Duration,
) -> Result<Vec<u8>, NoAnswer> {
    let client_id = client_id();
    let (mut receive, mut send) = (vec![0; PACKET], vec![0; 2 * PACKET]);
    let config = config(settings, &client_id, &mut receive, &mut send)?;
    // The broker keeps replies for a moment while the connection is broken.
    let config = config.session_expiry_interval(SESSION_EXPIRY).autodowngrade_qos();
    let mut session = minimq::Session::new(config);
    let mut question = Question {
        settings,
        request: topic(settings, &format!("request/{name}")),
        payload,
        // Among the hub's topics, where a login of the hub's own may read, too.
        reply: topic(settings, &format!("reply/{client_id}")),
        was_connected: false,
        is_asked: false,
    };
    let mut lost = None;
    let asking = async {
        loop {
            match question.ask(&mut dial, &mut session).await {
                Ok(reply) => return Ok(reply),
                Err(Failure::Lost(why)) if question.was_connected => lost = Some(why),
                Err(Failure::Lost(why) | Failure::Final(why)) => return Err(why),
            }
            sleep(AGAIN).await;
        }
    };
    let answered = timeout(patience, asking).await;
    answered.unwrap_or_else(|_| Err(lost.unwrap_or_else(|| silent(settings, patience))))
}

impl Question<'_> {
    /// Publishes the request, or keeps waiting for its reply, over a new connection.
    async fn ask(
        &mut self,
        dial: &mut impl Dial,
        session: &mut minimq::Session<'_>,
    ) -> Result<Vec<u8>, Failure> {
        let mut connection = connect(dial, session, self.settings).await.map_err(Failure::Lost)?;
        self.was_connected = true;
        let availability = topic(self.settings, "availability");
        if !self.is_asked {
            subscribe(&mut connection, &[&availability, &self.reply]).await.map_err(Failure::Lost)?;
            let is_online = |message: &InboundPublish<'_>| {
                message.topic() == availability && message.payload() == b"online"
            };
            receive(&mut connection, is_online).await.map_err(Failure::Lost)?;
            let properties = [Property::ResponseTopic(&self.reply), Property::CorrelationData(b"1")];
            // QoS 2, because a resumed session may repeat the publication.
            let publication = Publication::bytes(&self.request, self.payload).qos(QoS::ExactlyOnce);
            self.is_asked = true;
            match connection.publish(publication.properties(&properties)).await {
                Ok(_) => {}
                Err(PubError::Session(error @ (Error::Transport(_) | Error::Disconnected))) => {
                    return Err(Failure::Lost(broken(error)));
                }
                Err(error) => return Err(Failure::Final(no_answer(error))),
            }
        } else if connection.connect_event() == ConnectEvent::Connected {
            subscribe(&mut connection, &[&self.reply]).await.map_err(Failure::Lost)?;
        }
        let is_reply = |message: &InboundPublish<'_>| {
            message.topic() == self.reply && message.correlation_data() == Some(b"1")
        };
        receive(&mut connection, is_reply).await.map_err(Failure::Lost)
    }
}

/// The state of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerState {
    /// The controller can be called.
    Ready,
    /// The controller is not connected, and it is unknown when it will be.
    Missing,
    /// The controller is not connected, but still starting.
    Starting,
}

/// Waits until the hub of `settings` is online and its controller is ready or missing. While `is_starting` holds, waits
/// for as long as `patience` lasts, even if the hub reports that the controller is missing.
pub async fn wait_for_controller(
    network: Network,
    settings: &Settings,
    patience: Duration,
    is_starting: impl Fn() -> bool,
) -> Result<ControllerState, NoAnswer> {
    let mut is_online = false;
    let waited = connected(network, settings, patience, async |connection, _| {
        subscribe(connection, &[&topic(settings, "availability")]).await?;
        receive(connection, |message| message.payload() == b"online").await?;
        is_online = true;
        // Only now: before, it may be what the hub said in a former run.
        subscribe(connection, &[&topic(settings, "info")]).await?;
        let mut is_degraded = false;
        loop {
            // The hub publishes nothing when the program ends, so check regularly.
            if let Ok(message) = timeout(STARTING_POLL, connection.recv()).await {
                let info: serde_json::Value =
                    serde_json::from_slice(message.map_err(broken)?.payload()).unwrap_or_default();
                match info["link"].as_str() {
                    Some("ready") => return Ok(ControllerState::Ready),
                    Some(link) => is_degraded = link == "degraded",
                    None => {}
                }
            }
            if is_degraded && !is_starting() {
                return Ok(ControllerState::Missing);
            }
        }
    });
    let waited = waited.await;
    waited.or_else(|why| if is_online && is_starting() { Ok(ControllerState::Starting) } else { Err(why) })
}

/// Calls `see` with every payload that the hub of `settings` publishes on `name`, also after a broken connection.
/// Returns only if no connection was ever made.
pub async fn watch(
    network: Network,
    settings: &Settings,
    name: &str,
    mut see: impl FnMut(&[u8]),
) -> NoAnswer {
    let mut was_connected = false;
    loop {
        let watching = connected(network.clone(), settings, Duration::MAX, async |connection, _| {
            was_connected = true;
            subscribe(connection, &[&topic(settings, name)]).await?;
            receive(connection, |message| {
                see(message.payload());
                false
            })
            .await
        });
        let ended = watching.await.err().unwrap_or_else(|| no_answer("the connection has ended"));
        if !was_connected {
            return ended;
        }
        sleep(AGAIN).await;
    }
}

/// Removes the retained messages of the hub of `settings`, once the broker has noticed that the hub is gone.
pub async fn remove_retained(
    network: Network,
    settings: &Settings,
    patience: Duration,
) -> Result<(), NoAnswer> {
    connected(network, settings, patience, async |connection, _| {
        let topics = ["availability", "info", "volume", "home", "approval"].map(|name| topic(settings, name));
        subscribe(connection, &[&topics[0]]).await?;
        receive(connection, |message| message.payload() == b"offline").await?;
        let states = retained_states(connection, settings).await?;
        for topic in topics.iter().chain(&states) {
            let empty = Publication::bytes(topic, b"").qos(QoS::AtLeastOnce).retain();
            let op: Option<Op> = connection.publish(empty).await.map_err(no_answer)?;
            while op.as_ref().is_some_and(|op| connection.is_pending(op)) {
                connection.poll().await.map_err(broken)?;
            }
        }
        Ok(())
    })
    .await
}

/// The topics on which the broker keeps states of devices.
async fn retained_states<IO: Io>(
    connection: &mut Connection<'_, '_, IO>,
    settings: &Settings,
) -> Result<Vec<String>, NoAnswer> {
    let prefix = topic(settings, "device/");
    let mut topics = Vec::new();
    subscribe(connection, &[&format!("{prefix}+")]).await?;
    // They come at once, one after the other.
    let coming = receive(connection, |message| {
        if message.topic().starts_with(&prefix) && !message.payload().is_empty() {
            topics.push(message.topic().to_owned());
        }
        false
    });
    match timeout(STATES, coming).await {
        Ok(broken) => broken.map(|_| topics),
        Err(_) => Ok(topics),
    }
}

fn topic(settings: &Settings, name: &str) -> String {
    format!("{ROOT}{}/{name}", settings.hub_id)
}

/// Connects to the broker of `settings` and calls `act` with the connection and its client id.
pub async fn connected<T>(
    mut network: Network,
    settings: &Settings,
    patience: Duration,
    act: impl AsyncFnOnce(&mut Connection<'_, '_, <Network as Dial>::Io<'_>>, &str) -> Result<T, NoAnswer>,
) -> Result<T, NoAnswer> {
    let client_id = client_id();
    let (mut receive, mut send) = (vec![0; PACKET], vec![0; 2 * PACKET]);
    let mut session = minimq::Session::new(config(settings, &client_id, &mut receive, &mut send)?);
    let asking = async {
        let mut connection = connect(&mut network, &mut session, settings).await?;
        act(&mut connection, &client_id).await
    };
    timeout(patience, asking).await.unwrap_or_else(|_| Err(silent(settings, patience)))
}

fn client_id() -> String {
    format!("hearthwave-caller-{:016x}", random_seed())
}

fn config<'a>(
    settings: &'a Settings,
    client_id: &str,
    receive: &'a mut [u8],
    send: &'a mut [u8],
) -> Result<ConfigBuilder<'a>, NoAnswer> {
    let config = ConfigBuilder::new(Buffers::new(receive, send)).client_id(client_id).map_err(no_answer)?;
    match &settings.broker.login {
        Some((user, password)) => config.auth(user, password.as_bytes()).map_err(no_answer),
        None => Ok(config),
    }
}

/// Connects once to the broker of `settings`.
async fn connect<'c, 'm, D: Dial>(
    dial: &'c mut D,
    session: &'c mut minimq::Session<'m>,
    settings: &Settings,
) -> Result<Connection<'c, 'm, D::Io<'c>>, NoAnswer> {
    let broker = &settings.broker;
    let io = dial
        .dial(&broker.destination())
        .await
        .map_err(|error| NoAnswer(format!("cannot reach the broker at {broker}: {}", error.text())))?;
    session
        .connect(io)
        .await
        .map_err(|error| NoAnswer(format!("the broker at {broker}: {}", hub_core::mqtt::explain(&error))))
}

fn silent(settings: &Settings, patience: Duration) -> NoAnswer {
    let (hub, broker, seconds) = (&settings.hub_id, &settings.broker, patience.as_secs());
    NoAnswer(format!("the hub '{hub}' at {broker} did not answer within {seconds} s"))
}

/// Subscribes, and does not wait for the broker's answer.
pub async fn subscribe<IO: Io>(
    connection: &mut Connection<'_, '_, IO>,
    topics: &[&str],
) -> Result<(), NoAnswer> {
    let options = SubscriptionOptions::default().maximum_qos(QoS::AtLeastOnce);
    let filters: Vec<_> = topics.iter().map(|topic| TopicFilter::new(topic).options(options)).collect();
    connection.subscribe(&filters, &[]).await.map_err(broken)?;
    Ok(())
}

/// Waits for the first message that is wanted, and returns its payload.
async fn receive<IO: Io>(
    connection: &mut Connection<'_, '_, IO>,
    mut is_wanted: impl FnMut(&InboundPublish<'_>) -> bool,
) -> Result<Vec<u8>, NoAnswer> {
    loop {
        let message = connection.recv().await.map_err(broken)?;
        if is_wanted(&message) {
            return Ok(message.payload().to_vec());
        }
    }
}

/// The connection broke.
pub fn broken<E: embedded_io_async::Error>(error: Error<E>) -> NoAnswer {
    NoAnswer(match error {
        Error::Transport(error) => format!("the connection to the broker broke: {:?}", error.kind()),
        other => format!("the connection to the broker broke: {other}"),
    })
}

/// Something else went wrong.
pub fn no_answer(error: impl std::fmt::Display) -> NoAnswer {
    NoAnswer(error.to_string())
}
