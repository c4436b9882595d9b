//! A client that asks a hub over MQTT, with a connection of its own for each question.

use std::time::Duration;

use hub_core::Dial;
use minimq::{
    Buffers, ConfigBuilder, Connection, Error, InboundPublish, Io, Op, Property, Publication, QoS,
    SubscriptionOptions, TopicFilter,
};
use tokio::time::timeout;

use crate::hub::Settings;
use crate::network::Network;
use crate::random::random_seed;

/// Packets of this size pass in either direction; a hub sends and takes far less.
const PACKET: usize = 256 * 1024;

/// For the broker to send the states of devices that it keeps.
const STATES: Duration = Duration::from_millis(300);

/// Why there is no answer, for a person to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAnswer(pub String);

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoAnswer {}

/// Sends the request `name` with `payload` to the hub of `settings`, and returns the reply's payload.
///
/// Waits for the hub to be online first; both together take at most `patience`.
pub async fn ask(
    network: Network,
    settings: &Settings,
    name: &str,
    payload: &[u8],
    patience: Duration,
) -> Result<Vec<u8>, NoAnswer> {
    connected(network, settings, patience, async |connection, client_id| {
        let availability = topic(settings, "availability");
        // Among the hub's topics, where a login of the hub's own may read, too.
        let reply = topic(settings, &format!("reply/{client_id}"));
        subscribe(connection, &[&availability, &reply]).await?;
        receive(connection, |message| message.topic() == availability && message.payload() == b"online")
            .await?;
        let properties = [Property::ResponseTopic(&reply), Property::CorrelationData(b"1")];
        let request = topic(settings, &format!("request/{name}"));
        let publication = Publication::bytes(&request, payload).qos(QoS::AtLeastOnce).properties(&properties);
        let _: Option<Op> = connection.publish(publication).await.map_err(no_answer)?;
        receive(connection, |message| message.topic() == reply && message.correlation_data() == Some(b"1"))
            .await
    })
    .await
}

/// Waits until the hub of `settings` is online and knows whether its controller can be reached.
pub async fn wait_for_controller(
    network: Network,
    settings: &Settings,
    patience: Duration,
) -> Result<(), NoAnswer> {
    connected(network, settings, patience, async |connection, _| {
        subscribe(connection, &[&topic(settings, "availability")]).await?;
        receive(connection, |message| message.payload() == b"online").await?;
        // Only now: before, it may be what the hub said in a former run.
        subscribe(connection, &[&topic(settings, "info")]).await?;
        receive(connection, |message| {
            let info: serde_json::Value = serde_json::from_slice(message.payload()).unwrap_or_default();
            info["link"].as_str().is_some_and(|link| link != "connecting")
        })
        .await
    })
    .await?;
    Ok(())
}

/// Hands every payload that the hub of `settings` publishes on `name` to `see`, until the connection ends.
pub async fn watch(
    network: Network,
    settings: &Settings,
    name: &str,
    mut see: impl FnMut(&[u8]),
) -> NoAnswer {
    let watching = connected(network, settings, Duration::MAX, async |connection, _| {
        subscribe(connection, &[&topic(settings, name)]).await?;
        receive(connection, |message| {
            see(message.payload());
            false
        })
        .await
    });
    watching.await.err().unwrap_or_else(|| no_answer("nothing more comes"))
}

/// Removes the retained messages of the hub of `settings`, once the broker has noticed that the hub is gone.
pub async fn remove_retained(
    network: Network,
    settings: &Settings,
    patience: Duration,
) -> Result<(), NoAnswer> {
    connected(network, settings, patience, async |connection, _| {
        let topics = ["availability", "info", "volume", "home"].map(|name| topic(settings, name));
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
    format!("hearthwave/{}/{name}", settings.hub_id)
}

/// Connects to the broker of `settings` and calls `act` with the connection and its client id.
pub async fn connected<T>(
    mut network: Network,
    settings: &Settings,
    patience: Duration,
    act: impl AsyncFnOnce(&mut Connection<'_, '_, <Network as Dial>::Io<'_>>, &str) -> Result<T, NoAnswer>,
) -> Result<T, NoAnswer> {
    let broker = &settings.broker;
    let client_id = format!("hearthwave-caller-{:016x}", random_seed());
    let (mut receive, mut send) = (vec![0; PACKET], vec![0; 2 * PACKET]);
    let mut config =
        ConfigBuilder::new(Buffers::new(&mut receive, &mut send)).client_id(&client_id).map_err(no_answer)?;
    if let Some((user, password)) = &broker.login {
        config = config.auth(user, password.as_bytes()).map_err(no_answer)?;
    }
    let mut session = minimq::Session::new(config);
    let asking = async {
        let io = network
            .dial(&broker.destination())
            .await
            .map_err(|error| NoAnswer(format!("cannot reach the broker at {broker}: {}", error.text())))?;
        let mut connection = session.connect(io).await.map_err(|error| {
            NoAnswer(format!("the broker at {broker}: {}", hub_core::mqtt::explain(&error)))
        })?;
        act(&mut connection, &client_id).await
    };
    timeout(patience, asking).await.unwrap_or_else(|_| {
        let (hub, seconds) = (&settings.hub_id, patience.as_secs());
        Err(NoAnswer(format!("the hub '{hub}' at {broker} did not answer within {seconds} s")))
    })
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
