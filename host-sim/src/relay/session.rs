//! The session with the broker: dials, and has the desk attended, until the relay is stopped.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hub_core::Dial;
use hub_core::limits::RECONNECT_SETTLED;
use hub_core::mqtt::{Backoff, explain};
use minimq::{Buffers, ConfigBuilder, ConfigError};
use tokio::time::{Instant, sleep, timeout};

use super::Settings;
use super::desk::{Desk, Lost};
use super::work::Work;
use super::write_timeout::WriteTimeout;
use crate::network::Network;

/// The largest packet from the broker: what brokers usually pass at most. Requests of hubs have some ten KiB.
const RECEIVE: usize = 1024 * 1024;
/// Replies that wait for the broker's acknowledgement, and room to reconnect with them.
const SEND: usize = 2 * 1024 * 1024;
/// Seconds between two signs of life.
const KEEPALIVE: u16 = 30;
/// Seconds that the broker keeps requests for a relay that lost its connection. Long enough to come back; short, since
/// other relays cannot have them meanwhile.
const SESSION_EXPIRY: u32 = 15;
/// From CONNECT to CONNACK.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Settings that no session can be made of: the client id is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit(ConfigError);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the settings of the broker do not fit: {}", self.0)
    }
}

impl std::error::Error for Unfit {}

/// Runs a relay over `network` until `stop` is ready. Whatever the broker does, it comes back, after a wait that grows with
/// each failure.
///
/// Once stopped, it takes no more requests, and has five seconds to finish those in work; the rest is told that the
/// relay was stopped. Dropping the future gives everything up at once.
///
/// It belongs into a current-thread runtime of tokio, as everything with `crate::clock` does.
pub async fn run(network: Network, settings: &Settings, stop: impl Future<Output = ()>) -> Result<(), Unfit> {
    let mut stop = pin!(stop);
    let mut network = network;
    let (mut receive, mut send) = (vec![0; RECEIVE], vec![0; SEND]);
    let broker = &settings.broker;
    let mut config = ConfigBuilder::new(Buffers::new(&mut receive, &mut send))
        .client_id(&settings.client_id)
        .map_err(Unfit)?
        .keepalive_interval(KEEPALIVE)
        .session_expiry_interval(SESSION_EXPIRY)
        .autodowngrade_qos();
    if let Some((user, password)) = &broker.login {
        config = config.auth(user, password.as_bytes()).map_err(Unfit)?;
    }
    let mut session = minimq::Session::new(config);
    let mut desk = Desk::new(Arc::new(Work::new(settings)));
    let mut backoff = Backoff::new(settings.seed);
    let mut last_failure = "";
    let place = format!("{}:{}", broker.host, broker.port);
    loop {
        let connecting = async {
            let io = network.dial(&broker.host, broker.port).await.map_err(|error| error.text())?;
            match timeout(CONNECT_WITHIN, session.connect(WriteTimeout(io))).await {
                Ok(Ok(connection)) => Ok(connection),
                Ok(Err(error)) => Err(explain(&error)),
                Err(_) => Err("it takes connections but does not speak MQTT 5; check the port"),
            }
        };
        let connected = tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            connected = connecting => connected,
        };
        let failure = match connected {
            Ok(mut connection) => {
                let start = Instant::now();
                log::info!("relay: connected to {place}; serves {}", settings.models);
                last_failure = "";
                let lost = match desk.attend(&mut connection, stop.as_mut()).await {
                    Ok(()) => {
                        // Without a connection there is nobody to answer.
                        if let Err(lost) = desk.finish(&mut connection).await {
                            log::warn!("relay: {}; it could not finish", lost.text());
                        }
                        return Ok(());
                    }
                    Err(lost) => lost,
                };
                if start.elapsed() >= RECONNECT_SETTLED.into() {
                    backoff.reset();
                }
                lost.text()
            }
            Err(failure) => {
                desk.doubt();
                failure
            }
        };
        let wait: Duration = backoff.next_wait().into();
        let seconds = wait.as_secs().max(1);
        // The same again is news to nobody.
        if failure == last_failure {
            log::debug!("relay: {place}: still {failure}; again in {seconds} s");
        } else {
            log::warn!("relay: {place}: {failure}; again in {seconds} s");
        }
        last_failure = failure;
        tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            () = sleep(wait) => {}
        }
    }
}

impl Lost {
    const fn text(&self) -> &'static str {
        match self {
            Self::Closed => "connection lost, by the broker or the network",
            Self::Stalled => "connection lost: the broker does not answer",
            Self::Deaf => {
                "it does not let the relay subscribe; check its access rules, and that it has shared subscriptions"
            }
            Self::Nonsense => "connection lost: it sent something that is not MQTT 5",
        }
    }
}
