//! The session with the broker: dials, announces the hub, takes requests and sends replies, for ever.

use embassy_time::{Instant, Timer, with_timeout};
use minimq::{Buffers, ConfigBuilder, ConfigError, Error, PeerError, ReasonCode, Will};

use super::Backoff;
use super::desk::Desk;
use super::sieve::{Margin, Sieve};
use super::slot::Slots;
use super::topic::Topics;
use crate::config::Config;
use crate::limits;
use crate::link::Status;
use crate::log::{debug, error, info, warn};
use crate::notice::Notices;
use crate::seam::{Dial, Platform};
use crate::service::Services;
use crate::talk::Talks;
use crate::tool::Registry;

/// The buffers of one session.
#[derive(Debug)]
pub struct Memory {
    receive: [u8; limits::MQTT_RECEIVE],
    send: [u8; limits::MQTT_SEND],
}

impl Memory {
    /// Empty.
    pub const fn new() -> Self {
        Self { receive: [0; limits::MQTT_RECEIVE], send: [0; limits::MQTT_SEND] }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// What is inside the hub, as the session sees it.
pub struct Inside<'a> {
    /// Where requests go, and replies come from.
    pub slots: &'a Slots,
    /// Where questions to others come from, and their answers go.
    pub services: &'a Services,
    /// The conversations, which questions to models are made of.
    pub talks: &'a Talks,
    /// Where people are told things.
    pub notices: &'a Notices,
    /// The controller, as announced.
    pub link: &'a Status,
    /// The tools, which are counted in the announcement.
    pub registry: &'a Registry,
}

/// Keeps a session with the broker for ever, and serves what is `inside` through it. Whatever the broker does, it comes
/// back, after a wait that grows with each failure.
pub async fn run<D: Dial, P: Platform>(
    memory: &mut Memory,
    config: &Config<'_>,
    dial: &mut D,
    platform: &P,
    inside: &Inside<'_>,
) -> ! {
    let mut session = match open(memory, config) {
        Ok(session) => session,
        Err(_) => {
            error!("mqtt: the settings of the broker do not fit; the hub stays offline");
            core::future::pending().await
        }
    };
    let margin = Margin::new();
    let mut backoff = Backoff::new(platform.seed());
    let mut desk = Desk::new(config, inside);
    let broker = &config.broker;
    let mut last_failure = "";
    // Connections in a row that did not hold.
    let mut short_ones = 0u8;
    loop {
        debug!("mqtt: dialling {}:{}", broker.host, broker.port);
        let failure = match dial.dial(broker.host, broker.port).await {
            Ok(io) => {
                match with_timeout(limits::MQTT_TIMEOUT, session.connect(Sieve::new(io, &margin))).await {
                    Ok(Ok(mut connection)) => {
                        let start = Instant::now();
                        info!("mqtt: connected to {}:{} as {}", broker.host, broker.port, config.id.as_str());
                        last_failure = "";
                        let Err(lost) = desk.attend(&mut connection, &margin).await;
                        inside.services.disconnected();
                        let was_good = start.elapsed() >= limits::RECONNECT_SETTLED;
                        if was_good {
                            backoff.reset();
                        }
                        short_ones = if was_good { 0 } else { short_ones.saturating_add(1) };
                        let silent = match lost {
                            // Not every broker says why it hangs up.
                            Lost::Closed if short_ones > 1 => TWO_HUBS,
                            lost => lost.text(),
                        };
                        margin.goodbye().and_then(farewell).unwrap_or(silent)
                    }
                    Ok(Err(error)) => {
                        desk.doubt();
                        explain(&error)
                    }
                    Err(_) => {
                        desk.doubt();
                        "it takes connections but does not speak MQTT 5; check the port"
                    }
                }
            }
            Err(error) => error.text(),
        };
        let wait = backoff.next_wait();
        let seconds = wait.as_secs().max(1);
        // The same again is news to nobody.
        if failure == last_failure {
            debug!("mqtt: {}:{}: still {}; again in {} s", broker.host, broker.port, failure, seconds);
        } else {
            warn!("mqtt: {}:{}: {}; again in {} s", broker.host, broker.port, failure, seconds);
        }
        last_failure = failure;
        Timer::after(wait).await;
    }
}

/// What is likely if a connection is lost again and again.
const TWO_HUBS: &str =
    "connection lost again, by the broker or the network; another hub may have the same id";

fn open<'m>(memory: &'m mut Memory, config: &Config<'m>) -> Result<minimq::Session<'m>, ConfigError> {
    let mut client_id = heapless::String::<{ limits::CLIENT_ID }>::new();
    for part in ["hearthwave-", config.id.as_str()] {
        client_id.push_str(part).map_err(|_| ConfigError::ClientIdTooLong)?;
    }
    // At QoS 0, which every broker takes. It is retained, so that nobody misses it.
    let will = Will::new(&Topics::new(config.id).availability(), b"offline", &[])?.retained();
    let mut builder = ConfigBuilder::new(Buffers::new(&mut memory.receive, &mut memory.send))
        .client_id(&client_id)?
        .keepalive_interval(limits::MQTT_KEEPALIVE)
        .session_expiry_interval(limits::MQTT_SESSION_EXPIRY)
        .autodowngrade_qos()
        .will(will)?;
    if let Some((user, password)) = config.broker.login {
        builder = builder.auth(user, password.as_bytes())?;
    }
    Ok(minimq::Session::new(builder))
}

/// Why a connection ended.
#[derive(Debug)]
pub(super) enum Lost {
    /// The stream broke, or the broker closed it.
    Closed,
    /// The broker does not take what is sent.
    Stalled,
    /// The broker does not let the hub subscribe to its requests.
    Deaf,
    /// The broker sent nonsense.
    Nonsense,
}

impl Lost {
    const fn text(&self) -> &'static str {
        match self {
            Self::Closed => "connection lost, by the broker or the network",
            Self::Stalled => "connection lost: the broker takes nothing any more",
            Self::Deaf => "it does not let the hub subscribe; check its access rules",
            Self::Nonsense => "connection lost: it sent something that is not MQTT 5",
        }
    }
}

impl<E> From<Error<E>> for Lost {
    fn from(error: Error<E>) -> Self {
        match error {
            Error::Peer(_) => Self::Nonsense,
            _ => Self::Closed,
        }
    }
}

/// What to tell a person about a connection that the broker ended for this reason.
fn farewell(reason: ReasonCode) -> Option<&'static str> {
    match reason {
        ReasonCode::SessionTakenOver => Some("another hub with the same id connected; give each its own"),
        ReasonCode::KeepAliveTimeout => Some("connection lost: it heard nothing from the hub for too long"),
        ReasonCode::QuotaExceeded | ReasonCode::MessageRateTooHigh => {
            Some("it closed the connection: too many messages")
        }
        ReasonCode::NotAuthorized | ReasonCode::AdministrativeAction => {
            Some("it closed the connection on purpose")
        }
        _ => None,
    }
}

/// What to tell a person about a refused connection.
pub fn explain<E: embedded_io_async::Error>(error: &Error<E>) -> &'static str {
    match error {
        Error::Peer(PeerError::Rejected(reason)) => match reason {
            ReasonCode::BadUsernameOrPassword | ReasonCode::NotAuthorized => {
                "it refused the login; check user name and password"
            }
            ReasonCode::UnsupportedProtocol => "it does not speak MQTT 5",
            ReasonCode::ClientIdentifierInvalid => "it refused the hub's id",
            ReasonCode::ServerBusy | ReasonCode::ServerUnavailable | ReasonCode::QuotaExceeded => {
                "it is overloaded"
            }
            ReasonCode::ConnectionRateExceeded => "it wants the hub to come back more slowly",
            _ => "it refused the connection",
        },
        Error::Peer(_) => "it does not speak MQTT 5; check the port",
        Error::Resource(_) => "the user name or password is too long",
        Error::Disconnected => "it closed the connection at once; it may not speak MQTT 5",
        Error::Transport(error) => match error.kind() {
            embedded_io_async::ErrorKind::ConnectionReset => "it broke the connection off",
            _ => "the connection broke",
        },
        _ => "the connection broke",
    }
}
