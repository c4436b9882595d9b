//! The way to the broker: what is dialled, and who dials it.

/// Where the broker is, and how to know that it is the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination<'a> {
    /// A name or an address.
    pub host: &'a str,
    /// Usually 1883, with TLS 8883.
    pub port: u16,
    /// `None` for a connection that anybody on the network can read.
    pub tls: Option<Tls<'a>>,
}

/// What a broker's certificate is checked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tls<'a> {
    /// The certificate of the authority that issued the broker's, or the broker's own, as DER. Empty if none was set.
    pub trusted: &'a [u8],
    /// Seconds since the beginning of 1970, if the time is known.
    pub now: Option<i64>,
}

/// Opens byte streams to the MQTT broker. DNS, TCP and TLS live behind it.
///
/// The stream's contract, on top of [`minimq::Io`]: dropping a pending `read` or `write` future loses no
/// bytes, and `flush` does not wait for the peer.
#[allow(async_fn_in_trait, reason = "the hub runs in one task: its futures need not be Send")]
pub trait Dial {
    /// An open stream. It may borrow the dialler, so there is at most one at a time.
    type Io<'a>: minimq::Io
    where
        Self: 'a;

    /// Opens a stream.
    ///
    /// Waits as long as there is no network. With one, fails after
    /// [`limits::DIAL_TIMEOUT`](crate::limits::DIAL_TIMEOUT). Dropping the future cancels the attempt.
    async fn dial(&mut self, to: &Destination<'_>) -> Result<Self::Io<'_>, DialError>;
}

impl<D: Dial> Dial for &mut D {
    type Io<'a>
        = D::Io<'a>
    where
        Self: 'a;

    async fn dial(&mut self, to: &Destination<'_>) -> Result<Self::Io<'_>, DialError> {
        (**self).dial(to).await
    }
}

/// `None` waits for ever: a machine without a network.
impl<D: Dial> Dial for Option<D> {
    type Io<'a>
        = D::Io<'a>
    where
        Self: 'a;

    async fn dial(&mut self, to: &Destination<'_>) -> Result<Self::Io<'_>, DialError> {
        match self {
            Some(dial) => dial.dial(to).await,
            None => core::future::pending().await,
        }
    }
}

/// Why no stream to the broker could be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialError {
    /// The name of the broker does not resolve.
    UnknownHost,
    /// The network has no DNS server to resolve the broker's name.
    NoNameServer,
    /// The machine refuses connections to that port.
    Refused,
    /// No route to the machine, or no answer from it.
    Unreachable,
    /// The connection is there, but cannot be trusted, for this reason.
    Tls(&'static str),
}

impl DialError {
    /// The error in words, with what to check.
    pub const fn text(self) -> &'static str {
        match self {
            Self::UnknownHost => "no such host; check the broker's name",
            Self::NoNameServer => "the network names no DNS server; give the broker's address, not its name",
            Self::Refused => "nothing listens there; check the port and that the broker runs",
            Self::Unreachable => "no answer from that address; check it, and that both are on one network",
            Self::Tls(why) => why,
        }
    }
}
