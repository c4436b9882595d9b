//! The traits that a board and the simulator implement: the network, connections to the broker, and the machine itself.
//!
//! The serial lines need no trait of ours (`embedded_io_async::Read` and `Write`), nor does time
//! (`embassy-time`, whose driver the binary links).

use core::convert::Infallible;
use core::fmt;

use embedded_io_async::{ErrorType, Read, Write};

pub use hub_mqtt::{Destination, Dial, DialError, Tls};

/// A Wi-Fi network, and how to be let in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Credentials<'a> {
    /// The network's name, at most [`SSID`](crate::limits::SSID) bytes; empty for no network.
    pub ssid: &'a str,
    /// Empty for an open network.
    pub password: &'a str,
}

/// Without the password.
impl fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("ssid", &self.ssid).finish_non_exhaustive()
    }
}

/// A Wi-Fi network in range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessPoint<'a> {
    /// The network's name.
    pub ssid: &'a str,
    /// How well it is heard, in dBm.
    pub signal: i8,
    /// Whether it lets anybody in.
    pub is_open: bool,
}

/// Whether the machine is on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkState {
    /// It was told to join none.
    Off,
    /// It is about to join.
    Joining,
    /// It is there, and has an [address](NetworkStatus::address) or waits for one.
    Joined,
    /// It could not join, for this reason, and tries again.
    Failed(&'static str),
}

/// The machine's place on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkStatus {
    /// Whether it is there.
    pub state: NetworkState,
    /// Whether the machine has Wi-Fi, joined or not.
    pub has_wifi: bool,
    /// The signal strength of the access point in dBm. `None` without Wi-Fi, and before the first measurement.
    pub signal: Option<i8>,
    /// Its IPv4 address, once it has one.
    pub address: Option<[u8; 4]>,
}

/// The machine's network: which Wi-Fi it joins, and single datagrams.
#[allow(async_fn_in_trait, reason = "the hub runs in one task: its futures need not be Send")]
pub trait Network {
    /// Joins this network instead of the one before, and again whenever it is lost. With `None` leaves it. Returns at once;
    /// [`status`](Self::status) reports the outcome.
    fn join(&self, credentials: Option<Credentials<'_>>);

    /// Whether the machine is on the network now.
    fn status(&self) -> NetworkStatus;

    /// Tells `found` the networks in range, each name once, the strongest first. Takes some seconds. An error says in words
    /// why nothing can be found.
    async fn scan(&self, found: &mut dyn FnMut(&AccessPoint<'_>)) -> Result<(), &'static str>;

    /// Sends a datagram to `host` (a name or an address) and waits for the first that comes back from there, for ever.
    /// Returns its length; what does not fit into `answer` is lost.
    async fn ask(
        &self,
        host: &str,
        port: u16,
        question: &[u8],
        answer: &mut [u8],
    ) -> Result<usize, DialError>;

    /// The router's IPv4 address, once it is known.
    fn gateway(&self) -> Option<[u8; 4]>;
}

impl<N: Network> Network for &N {
    fn join(&self, credentials: Option<Credentials<'_>>) {
        (**self).join(credentials);
    }

    fn status(&self) -> NetworkStatus {
        (**self).status()
    }

    async fn scan(&self, found: &mut dyn FnMut(&AccessPoint<'_>)) -> Result<(), &'static str> {
        (**self).scan(found).await
    }

    async fn ask(
        &self,
        host: &str,
        port: u16,
        question: &[u8],
        answer: &mut [u8],
    ) -> Result<usize, DialError> {
        (**self).ask(host, port, question, answer).await
    }

    fn gateway(&self) -> Option<[u8; 4]> {
        (**self).gateway()
    }
}

/// The network of a machine that is always on it and needs no Wi-Fi. It knows no address and carries no datagrams.
#[derive(Clone, Copy, Debug)]
pub struct Wired;

impl Network for Wired {
    fn join(&self, _: Option<Credentials<'_>>) {}

    fn status(&self) -> NetworkStatus {
        NetworkStatus { state: NetworkState::Joined, has_wifi: false, signal: None, address: None }
    }

    async fn scan(&self, _: &mut dyn FnMut(&AccessPoint<'_>)) -> Result<(), &'static str> {
        Err("this machine has no Wi-Fi")
    }

    async fn ask(&self, _: &str, _: u16, _: &[u8], _: &mut [u8]) -> Result<usize, DialError> {
        Err(DialError::Unreachable)
    }

    fn gateway(&self) -> Option<[u8; 4]> {
        None
    }
}

/// A serial port at which nobody ever sits.
#[derive(Clone, Copy, Debug)]
pub struct NoConsole;

impl ErrorType for NoConsole {
    type Error = Infallible;
}

impl Read for NoConsole {
    async fn read(&mut self, _: &mut [u8]) -> Result<usize, Infallible> {
        core::future::pending().await
    }
}

impl Write for NoConsole {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// How much of its memory the machine has used at most. Zeros where it does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of stack in use at the deepest moment.
    pub stack_peak: usize,
    /// Bytes of stack that there are.
    pub stack_size: usize,
    /// Bytes of the radio driver's heap in use at the fullest moment.
    pub heap_peak: usize,
    /// Bytes of that heap that there are.
    pub heap_size: usize,
}

/// What a lamp on the machine tells people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Broker and controller are there.
    Well,
    /// The hub waits to be set up, or for its Wi-Fi.
    Waiting,
    /// The hub is on the network, but its broker or its controller is missing.
    Missing,
    /// Safe mode: the last starts failed.
    Safe,
}

/// The machine the hub runs on.
pub trait Platform {
    /// A number that differs from one start to the next and from one hub to the next. It spreads the
    /// reconnects of many hubs; it is not a key.
    fn seed(&self) -> u64;

    /// Seconds since the beginning of 1970, on a machine whose own clock is right; `None` on one that has to be told.
    fn wall_clock(&self) -> Option<i64> {
        None
    }

    /// The volume of the speaker, in percent.
    fn volume(&self) -> u8;

    /// Sets the volume of the speaker, in percent.
    fn set_volume(&self, percent: u8);

    /// Restarts the hub. A board does not return; a simulation may, and ends the hub soon.
    fn restart(&self);

    /// The most memory that was in use so far.
    fn usage(&self) -> Usage {
        Usage::default()
    }

    /// How often the controller's serial line brought more than the machine could take in time.
    fn overruns(&self) -> u32 {
        0
    }

    /// Whether somebody holds the button that resets the settings.
    fn is_button_pressed(&self) -> bool {
        false
    }

    /// Has the lamp show this from now on.
    fn indicate(&self, _: Pattern) {}

    /// The hub has run for long enough for its start to count as a good one.
    fn settled(&self) {}
}
