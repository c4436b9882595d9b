//! The traits that a board and the simulator implement: connections to the broker, and the machine itself.
//!
//! The serial line needs no trait of ours (`embedded_io_async::Read` and `Write`), nor does time
//! (`embassy-time`, whose driver the binary links).

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

    /// Opens a stream to `host` (a name or an address) at `port`.
    ///
    /// Waits as long as there is no network. With one, fails after
    /// [`limits::DIAL_TIMEOUT`](crate::limits::DIAL_TIMEOUT). Dropping the future cancels the attempt.
    async fn dial(&mut self, host: &str, port: u16) -> Result<Self::Io<'_>, DialError>;
}

impl<D: Dial> Dial for &mut D {
    type Io<'a>
        = D::Io<'a>
    where
        Self: 'a;

    async fn dial(&mut self, host: &str, port: u16) -> Result<Self::Io<'_>, DialError> {
        (**self).dial(host, port).await
    }
}

/// `None` waits for ever: a machine without a network.
impl<D: Dial> Dial for Option<D> {
    type Io<'a>
        = D::Io<'a>
    where
        Self: 'a;

    async fn dial(&mut self, host: &str, port: u16) -> Result<Self::Io<'_>, DialError> {
        match self {
            Some(dial) => dial.dial(host, port).await,
            None => core::future::pending().await,
        }
    }
}

/// Why no stream to the broker could be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum DialError {
    /// The name of the broker does not resolve.
    UnknownHost,
    /// The network has no DNS server to resolve the broker's name.
    NoNameServer,
    /// The machine refuses connections to that port.
    Refused,
    /// No route to the machine, or no answer from it.
    Unreachable,
}

impl DialError {
    /// The error in words, with what to check.
    pub const fn text(self) -> &'static str {
        match self {
            Self::UnknownHost => "no such host; check the broker's name",
            Self::NoNameServer => "the network names no DNS server; give the broker's address, not its name",
            Self::Refused => "nothing listens there; check the port and that the broker runs",
            Self::Unreachable => "no answer from that address; check it, and that both are on one network",
        }
    }
}

/// The time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallClock {
    /// Seconds since the beginning of 1970, in UTC.
    pub unix_seconds: i64,
    /// Local time minus UTC.
    pub utc_offset_minutes: i16,
}

/// The machine the hub runs on.
pub trait Platform {
    /// A number that differs from one start to the next and from one hub to the next. It spreads the
    /// reconnects of many hubs; it is not a key.
    fn seed(&self) -> u64;

    /// The time of day; `None` until the clock is set.
    fn wall_clock(&self) -> Option<WallClock>;

    /// The volume of the speaker, in percent.
    fn volume(&self) -> u8;

    /// Sets the volume of the speaker, in percent.
    fn set_volume(&self, percent: u8);

    /// Restarts the hub. A board does not return; a simulation may, and ends the hub soon.
    fn restart(&self);
}
