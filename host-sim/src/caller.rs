//! Somebody who asks a hub something over MQTT.

use std::time::Duration;

use hub_core::Dial;
use minimq::{
    Buffers, ConfigBuilder, Connection, Error, Io, Op, Property, Publication, QoS, SubscriptionOptions,
    TopicFilter,
};
use tokio::time::{Instant, timeout_at};

use crate::hub::Settings;
use crate::network::Network;

/// Packets of this size pass in either direction; a hub sends and takes far less.
const PACKET: usize = 256 * 1024;

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
    mut network: Network,
    settings: &Settings,
    name: &str,
    payload: &[u8],
    patience: Duration,
) -> Result<Vec<u8>, NoAnswer> {
    connected(&mut network, settings, patience, async |connection, id| {
        converse(connection, id, &settings.hub_id, name, payload).await
    })
    .await
}

/// Waits until the hub of `settings` knows whether its controller can be reached.
pub async fn wait_for_controller(
    mut network: Network,
    settings: &Settings,
    patience: Duration,
) -> Result<(), NoAnswer> {
    connected(&mut network, settings, patience, async |connection, _| {
        let info = format!("hearthwave/{}/info", settings.hub_id);
        connection.subscribe(&[TopicFilter::new(&info)], &[]).await.map_err(broken)?;
        loop {
            let message = connection.recv().await.map_err(broken)?;
            let info: serde_json::Value = serde_json::from_slice(message.payload()).unwrap_or_default();
            if info["link"].as_str().is_some_and(|link| link != "connecting") {
                return Ok(());
            }
        }
    })
    .await
}

/// Takes back what the hub of `settings` left at the broker to be found by others, once the broker has noticed that it is
/// gone.
pub async fn forget(mut network: Network, settings: &Settings, patience: Duration) -> Result<(), NoAnswer> {
    connected(&mut network, settings, patience, async |connection, _| {
        let [availability, info] =
            ["availability", "info"].map(|name| format!("hearthwave/{}/{name}", settings.hub_id));
        connection.subscribe(&[TopicFilter::new(&availability)], &[]).await.map_err(broken)?;
        while connection.recv().await.map_err(broken)?.payload() != b"offline" {}
        for topic in [&availability, &info] {
            let nothing = Publication::bytes(topic, b"").qos(QoS::AtLeastOnce).retain();
            let op: Option<Op> =
                connection.publish(nothing).await.map_err(|error| NoAnswer(error.to_string()))?;
            while op.as_ref().is_some_and(|op| connection.is_pending(op)) {
                connection.poll().await.map_err(broken)?;
            }
        }
        Ok(())
    })
    .await
}

/// Does something with a connection to the broker, whose client id it is told.
async fn connected<T>(
    network: &mut Network,
    settings: &Settings,
    patience: Duration,
    act: impl AsyncFnOnce(&mut Connection<'_, '_, <Network as Dial>::Io<'_>>, &str) -> Result<T, NoAnswer>,
) -> Result<T, NoAnswer> {
    let until = Instant::now() + patience;
    let id = format!("hearthwave-caller-{:016x}", crate::hub::random_seed());
    let (mut receive, mut send) = (vec![0; PACKET], vec![0; 2 * PACKET]);
    let mut config =
        ConfigBuilder::new(Buffers::new(&mut receive, &mut send)).client_id(&id).map_err(no_answer)?;
    if let Some((user, password)) = &settings.login {
        config = config.auth(user, password.as_bytes()).map_err(no_answer)?;
    }
    let mut session = minimq::Session::new(config);
    let place = format!("{}:{}", settings.host, settings.port);
    let asking = async {
        let io = network
            .dial(&settings.host, settings.port)
            .await
            .map_err(|error| NoAnswer(format!("cannot reach the broker at {place}: {}", error.text())))?;
        let mut connection = session.connect(io).await.map_err(|error| {
            NoAnswer(format!("the broker at {place}: {}", hub_core::mqtt::explain(&error)))
        })?;
        act(&mut connection, &id).await
    };
    timeout_at(until, asking).await.unwrap_or_else(|_| {
        let hub = &settings.hub_id;
        Err(NoAnswer(format!("the hub '{hub}' at {place} did not answer within {} s", patience.as_secs())))
    })
}

async fn converse<IO: Io>(
    connection: &mut Connection<'_, '_, IO>,
    id: &str,
    hub_id: &str,
    name: &str,
    payload: &[u8],
) -> Result<Vec<u8>, NoAnswer> {
    let availability = format!("hearthwave/{hub_id}/availability");
    let reply_topic = format!("{id}/reply");
    let once = SubscriptionOptions::default().maximum_qos(QoS::AtLeastOnce);
    let filters =
        [TopicFilter::new(&availability).options(once), TopicFilter::new(&reply_topic).options(once)];
    connection.subscribe(&filters, &[]).await.map_err(broken)?;
    loop {
        let message = connection.recv().await.map_err(broken)?;
        if message.topic() == availability && message.payload() == b"online" {
            break;
        }
    }
    let properties = [Property::ResponseTopic(&reply_topic), Property::CorrelationData(b"1")];
    let request = format!("hearthwave/{hub_id}/request/{name}");
    let publication = Publication::bytes(&request, payload).qos(QoS::AtLeastOnce).properties(&properties);
    let _: Option<Op> = connection.publish(publication).await.map_err(|error| NoAnswer(error.to_string()))?;
    loop {
        let message = connection.recv().await.map_err(broken)?;
        if message.topic() == reply_topic && message.correlation_data() == Some(b"1") {
            return Ok(message.payload().to_vec());
        }
    }
}

fn broken<E: embedded_io_async::Error>(error: Error<E>) -> NoAnswer {
    NoAnswer(match error {
        Error::Transport(error) => format!("the connection to the broker broke: {:?}", error.kind()),
        other => format!("the connection to the broker broke: {other}"),
    })
}

fn no_answer(error: impl std::fmt::Display) -> NoAnswer {
    NoAnswer(error.to_string())
}
