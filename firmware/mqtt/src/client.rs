//! A client of the broker that comes back, whatever happens to its connections.

use embassy_time::{Instant, Timer, with_timeout};
use minimq::{ConfigBuilder, Error, PeerError, ReasonCode, Session};

use super::Backoff;
use super::connection::{Connection, Lost, Subscription};
use super::transport::{PacketInfo, Transport};
use crate::dial::{Destination, Dial};
use crate::limits;
use crate::log::{debug, warn};

/// Who the client is.
#[derive(Clone, Copy, Debug)]
pub struct Role {
    /// At the beginning of its lines in the log.
    pub log: &'static str,
    /// What to tell a person if the broker refuses its subscription.
    pub refused: &'static str,
    /// What to tell a person if another client connected with its id.
    pub taken_over: &'static str,
    /// What to tell a person if its connections are lost again and again, and nobody says why.
    pub unsteady: &'static str,
    /// Whether packets that do not fit are taken in part.
    pub cuts_oversize: bool,
}

/// A client of the broker.
pub struct Client<'m> {
    session: Session<'m>,
    role: Role,
    info: PacketInfo,
    subscription: Subscription,
    backoff: Backoff,
    connected: Instant,
    /// Connections in a row that did not hold.
    short_connections: u8,
    last_failure: &'static str,
    /// The broker closed the last connection, or refused it, because of a retained message: the next is without.
    refused_retained: bool,
    /// The broker had queued more than the hub can take: the next connection begins without.
    is_congested: bool,
}

impl<'m> Client<'m> {
    /// With the session that `config` describes. The seed decides about the waits between attempts.
    // It is large and made once, so its stack frame is not that of its caller.
    #[inline(never)]
    pub fn new(config: ConfigBuilder<'m>, role: Role, seed: u64) -> Self {
        Self {
            session: Session::new(config),
            role,
            info: PacketInfo::new(),
            subscription: Subscription::Missing,
            backoff: Backoff::new(seed),
            connected: Instant::MIN,
            short_connections: 0,
            last_failure: "",
            refused_retained: false,
            is_congested: false,
        }
    }

    /// Dials the broker and connects, once. If that fails, and when the connection ends, [`wait`](Self::wait).
    pub async fn connect<'c, D: Dial>(
        &'c mut self,
        dial: &'c mut D,
        broker: &Destination<'_>,
    ) -> Result<Connection<'c, 'm, D::Io<'c>>, Lost> {
        debug!("{}: dialling {}:{}", self.role.log, broker.host, broker.port);
        let dialled = dial.dial(broker).await;
        let io = dialled.map_err(|error| Lost::Unreached(error.text()))?;
        // The one after it tries with them again: the broker may have been set up in another way.
        let is_retaining = !core::mem::take(&mut self.refused_retained);
        let transport = Transport::new(io, &self.info, self.role.cuts_oversize);
        let transport = if is_retaining { transport } else { transport.without_retained_will() };
        let transport = if self.is_congested { transport.with_clean_start() } else { transport };
        let connecting = with_timeout(limits::MQTT_TIMEOUT, self.session.connect(transport));
        let failure = match connecting.await {
            Ok(Ok(connection)) => {
                self.connected = Instant::now();
                self.last_failure = "";
                self.is_congested = false;
                let is_retaining = is_retaining && self.info.takes_retained();
                let (log, subscription) = (self.role.log, &mut self.subscription);
                return Ok(Connection::new(connection, log, &self.info, subscription, is_retaining));
            }
            Ok(Err(error)) => {
                self.refused_retained =
                    matches!(error, Error::Peer(PeerError::Rejected(ReasonCode::RetainNotSupported)));
                explain(&error)
            }
            Err(_) => "it takes connections but does not speak MQTT 5; check the port",
        };
        // Nobody knows whether the broker has a session of this client's, and which.
        self.subscription = Subscription::Missing;
        Err(Lost::Unreached(failure))
    }

    /// Logs why there is no connection, and waits before the next attempt, for longer after each.
    pub async fn wait(&mut self, broker: &Destination<'_>, failure: &'static str) {
        let wait = self.backoff.next_wait();
        let seconds = wait.as_secs().max(1);
        let (who, host, port) = (self.role.log, broker.host, broker.port);
        // The same again is news to nobody.
        if failure == self.last_failure {
            debug!("{}: {}:{}: still {}; again in {} s", who, host, port, failure, seconds);
        } else {
            warn!("{}: {}:{}: {}; again in {} s", who, host, port, failure, seconds);
        }
        self.last_failure = failure;
        Timer::after(wait).await;
    }

    /// What to tell a person. Takes note of how well the connection held: call it once for each loss.
    pub fn explain_loss(&mut self, lost: Lost) -> &'static str {
        if let Lost::Unreached(why) = lost {
            return why;
        }
        self.is_congested |= lost == Lost::Congested;
        // The broker and the way to it are well.
        let was_good = self.connected.elapsed() >= limits::RECONNECT_SETTLED || lost == Lost::Congested;
        if was_good {
            self.backoff.reset();
        }
        self.short_connections = if was_good { 0 } else { self.short_connections.saturating_add(1) };
        let reason = self.info.disconnect_reason();
        self.refused_retained = matches!(reason, Some(ReasonCode::RetainNotSupported));
        match (reason, lost) {
            (Some(ReasonCode::RetainNotSupported), _) => NO_RETAIN,
            (Some(ReasonCode::PacketTooLarge), _) => {
                "it closed the connection: a message was too large; raise its limit (mosquitto: max_packet_size)"
            }
            (Some(ReasonCode::SessionTakenOver), _) => self.role.taken_over,
            (Some(ReasonCode::KeepAliveTimeout), _) => "connection lost: it heard nothing for too long",
            (Some(ReasonCode::QuotaExceeded | ReasonCode::MessageRateTooHigh), _) => {
                "it closed the connection: too many messages"
            }
            (Some(ReasonCode::NotAuthorized | ReasonCode::AdministrativeAction), _) => {
                "it closed the connection on purpose"
            }
            // Not every broker says why it disconnects.
            (_, Lost::Closed) if self.short_connections > 1 => self.role.unsteady,
            (_, Lost::Stalled) => "connection lost: the broker does not react any more",
            (_, Lost::Refused) => self.role.refused,
            (_, Lost::Congested) => {
                "too many requests at once: the hub drops those that the broker still has; see who sends them"
            }
            (_, Lost::Nonsense) => "connection lost: it sent something that is not MQTT 5",
            (_, Lost::Closed | Lost::Unreached(_)) => "connection lost, by the broker or the network",
        }
    }
}

/// The broker takes no retained messages.
const NO_RETAIN: &str =
    "it refuses retained messages (mosquitto: retain_available); the hub tries without them";

/// The broker asks for a certificate of the client's. With TLS 1.3 it says so only after the handshake.
const CERTIFICATE_REQUIRED: &str = "the broker wants a certificate of the hub's, which has none; turn that off (mosquitto: require_certificate false)";

/// What to tell a person about a refused connection.
pub fn explain<E: embedded_io_async::Error>(error: &Error<E>) -> &'static str {
    match error {
        Error::Peer(PeerError::Rejected(reason)) => match reason {
            ReasonCode::BadUsernameOrPassword | ReasonCode::NotAuthorized => {
                "it refused the login; check user name and password"
            }
            ReasonCode::UnsupportedProtocol => "it does not speak MQTT 5",
            ReasonCode::ClientIdentifierInvalid => "it refused the client id",
            ReasonCode::ServerBusy | ReasonCode::ServerUnavailable | ReasonCode::QuotaExceeded => {
                "it is overloaded"
            }
            ReasonCode::RetainNotSupported => NO_RETAIN,
            ReasonCode::PacketTooLarge => {
                "it takes only smaller packets than CONNECT; raise its limit (mosquitto: max_packet_size)"
            }
            ReasonCode::ConnectionRateExceeded => "it wants the hub to come back more slowly",
            _ => "it refused the connection",
        },
        Error::Peer(_) => "it does not speak MQTT 5; check the port",
        Error::Resource(_) | Error::InvalidRequest => "the user name or password is too long",
        Error::Disconnected => "it closed the connection at once; it may not speak MQTT 5",
        Error::Transport(error) => match error.kind() {
            embedded_io_async::ErrorKind::ConnectionReset => "it broke the connection off",
            embedded_io_async::ErrorKind::PermissionDenied => CERTIFICATE_REQUIRED,
            _ => "the connection broke",
        },
        _ => "the connection broke",
    }
}
