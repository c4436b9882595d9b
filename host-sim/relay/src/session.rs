//! The relay's session with the broker, until the relay is stopped.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use hub_mqtt::Dial;
use hub_mqtt::{Client, Role};
use minimq::{Buffers, ConfigBuilder, ConfigError, Will};

use super::Settings;
use super::jobs::Jobs;
use super::presence;
use super::request;
use super::work::Work;

const ROLE: Role = Role {
    log: "relay",
    refused: "it does not let the relay subscribe; check its access rules, and that it has shared subscriptions",
    taken_over: "another client with the same id connected",
    unsteady: "connection lost again, by the broker or the network",
    cuts_oversize: false,
};

/// The largest packet from the broker: what brokers usually pass at most. Requests of hubs have some ten KiB.
const RECEIVE: usize = 1024 * 1024;
/// Replies that wait for the broker's acknowledgement, and room to reconnect with them.
const SEND: usize = 2 * 1024 * 1024;
/// Seconds between two signs of life.
const KEEPALIVE: u16 = 30;
/// Seconds that the broker keeps requests for a relay that lost its connection. Long enough to come back; short, since
/// other relays cannot have them meanwhile.
const SESSION_EXPIRY: u32 = 15;

/// Settings that no session can be made of: the client id is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit(pub(crate) ConfigError);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the settings of the broker do not fit: {}", self.0)
    }
}

impl std::error::Error for Unfit {}

/// Runs a relay until `stop` is ready. Whatever the broker does, it comes back, after a wait that grows with
/// each failure.
///
/// Once stopped, it takes no more requests, and has five seconds to finish those in work; the rest is told that the
/// relay was stopped. Dropping the future gives everything up at once.
///
/// It belongs into a current-thread runtime of tokio, as everything with the clock of `host-desktop` does.
pub async fn run(
    mut dial: impl Dial,
    settings: &Settings,
    stop: impl Future<Output = ()>,
) -> Result<(), Unfit> {
    let mut stop = pin!(stop);
    let (mut receive, mut send) = (vec![0; RECEIVE], vec![0; SEND]);
    let broker = &settings.broker;
    let mut config = ConfigBuilder::new(Buffers::new(&mut receive, &mut send))
        .client_id(&settings.client_id)
        .map_err(Unfit)?
        .keepalive_interval(KEEPALIVE)
        .session_expiry_interval(SESSION_EXPIRY)
        .autodowngrade_qos()
        .will(Will::new(presence::TOPIC, presence::OFFLINE.as_bytes(), &[]).map_err(Unfit)?.retained())
        .map_err(Unfit)?;
    if let Some((user, password)) = &broker.login {
        config = config.auth(user, password.as_bytes()).map_err(Unfit)?;
    }
    let mut client = Client::new(config, ROLE, settings.seed);
    let mut jobs = Jobs::new(
        Arc::new(Work::new(settings)),
        request::shared(&settings.group),
        presence::online(&settings.models),
    );
    loop {
        let broker = &settings.broker.destination();
        let lost = match tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            connected = client.connect(&mut dial, broker) => connected,
        } {
            Ok(mut connection) => {
                log::info!("relay: connected to {}:{}; serves {}", broker.host, broker.port, settings.models);
                match jobs.serve(&mut connection, stop.as_mut()).await {
                    Ok(()) => {
                        // Without a connection there is nobody to answer.
                        if jobs.finish(&mut connection).await.is_err() {
                            log::warn!("relay: the connection was lost before everything was answered");
                        }
                        return Ok(());
                    }
                    Err(lost) => lost,
                }
            }
            Err(lost) => lost,
        };
        let failure = client.explain_loss(lost);
        tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            () = client.wait(broker, failure) => {}
        }
    }
}
