//! Connections that a story can cut: to the broker, and the serial line.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use embedded_io_adapters::tokio_1::FromTokio;
use embedded_io_async::{ErrorType, Read, Write};
use host_desktop::broker::BrokerStream;
use host_sim::link;
use host_sim::network::Network;
use hub_core::{Destination, Dial, DialError};
use hub_tls::{StreamError, TlsStream};
use support::line::LineTap;
use tokio::io::{DuplexStream, ReadHalf, WriteHalf};
use tokio::time::{Duration, Instant, sleep_until};

use crate::tls::{self, Segments};

/// What happens when the hub dials the broker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It connects.
    Open,
    /// It fails with this error.
    Fails(DialError),
    /// It connects to a peer that sends nothing but what the story writes: see [`World::mute`](crate::World::mute).
    Mute,
    /// It connects, and what the broker sends is lost.
    OneWay,
}

/// One dial of the hub.
pub struct Dialled {
    pub at: Instant,
    pub sent: Vec<u8>,
}

impl Dialled {
    /// How often the hub subscribed.
    pub fn subscriptions(&self) -> usize {
        const SUBSCRIBE: u8 = 8;
        self.packet_types().iter().filter(|packet| **packet == SUBSCRIBE).count()
    }

    /// The types of the packets that the hub sent, as MQTT numbers them.
    pub fn packet_types(&self) -> Vec<u8> {
        let mut types = Vec::new();
        let mut rest = self.sent.as_slice();
        while let [first, after @ ..] = rest {
            types.push(first >> 4);
            let digits = after.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
            let length = after[..digits].iter().rev().fold(0, |sum, byte| sum << 7 | usize::from(byte & 127));
            rest = &after[digits + length..];
        }
        types
    }
}

/// The size of an acknowledgement in bytes.
const ACKNOWLEDGEMENT: usize = 4;

/// Below this rate in bytes per second, the hub receives at most one acknowledgement at a time.
const ONE_BY_ONE: u32 = 16;

/// The hub's connection to its broker.
pub struct Wire {
    pub reach: Cell<Reach>,
    /// Whether what the hub sends is lost.
    pub swallows: Cell<bool>,
    /// Bytes per second that the hub can receive; 0 for no limit.
    pub rate: Cell<u32>,
    pub dials: RefCell<Vec<Dialled>>,
    pub(crate) network: RefCell<Network>,
    pub(crate) mutes: RefCell<Vec<DuplexStream>>,
}

impl Wire {
    pub(crate) fn new(network: Network, reach: Reach) -> Self {
        Self {
            reach: Cell::new(reach),
            swallows: Cell::new(false),
            rate: Cell::new(0),
            dials: RefCell::default(),
            network: RefCell::new(network),
            mutes: RefCell::default(),
        }
    }
}

/// Dials the broker that the hub currently uses, bypassing the wire.
pub struct Way(pub(crate) Rc<Wire>);

impl Dial for Way {
    type Io<'a> = BrokerStream;

    async fn dial(&mut self, to: &Destination<'_>) -> Result<BrokerStream, DialError> {
        let mut network = self.0.network.borrow().clone();
        network.dial(to).await
    }
}

/// The way over a wire.
pub(crate) struct WireDial {
    wire: Rc<Wire>,
    /// Of TLS, if the stories take place over it.
    tls: Option<Box<hub_tls::Memory>>,
}

impl WireDial {
    pub(crate) fn new(wire: Rc<Wire>) -> Self {
        Self { wire, tls: tls::is_on().then(Box::default) }
    }
}

impl Dial for WireDial {
    type Io<'a> = Tapped<'a>;

    async fn dial(&mut self, to: &Destination<'_>) -> Result<Tapped<'_>, DialError> {
        let wire = self.wire.clone();
        wire.dials.borrow_mut().push(Dialled { at: Instant::now(), sent: Vec::new() });
        let dials = wire.dials.borrow().len();
        let network = wire.network.borrow().clone();
        let io = match (wire.reach.get(), network) {
            (Reach::Fails(error), _) => return Err(error),
            (Reach::Mute, _) => {
                let (ours, theirs) = tokio::io::duplex(1024);
                wire.mutes.borrow_mut().push(theirs);
                Io::open(ours, self.tls.as_deref_mut(), dials).await?
            }
            (Reach::Open | Reach::OneWay, Network::Memory(broker)) => {
                Io::open(broker.connect(), self.tls.as_deref_mut(), dials).await?
            }
            (Reach::Open | Reach::OneWay, mut network) => Io::Plain(network.dial(to).await?),
        };
        let is_deaf = wire.reach.get() == Reach::OneWay;
        Ok(Tapped { io, is_deaf, wire, readable_at: Instant::now() })
    }
}

/// A stream to the broker, in the clear or through a board's TLS.
enum Io<'a> {
    Plain(BrokerStream),
    Tls(Box<TlsStream<'a, Segments>>),
}

impl<'a> Io<'a> {
    async fn open(
        stream: DuplexStream,
        memory: Option<&'a mut hub_tls::Memory>,
        dials: usize,
    ) -> Result<Self, DialError> {
        match memory {
            None => Ok(Self::Plain(BrokerStream::new(stream))),
            Some(memory) => Ok(Self::Tls(Box::new(tls::open(stream, memory, dials as u64).await?))),
        }
    }
}

/// What happened, in the words of the system.
fn io_error(error: StreamError<io::Error>) -> io::Error {
    match error {
        StreamError::Io(error) => error,
        error @ StreamError::Tls(_) => io::Error::other(error.to_string()),
    }
}

/// A stream that records what the hub sends.
pub(crate) struct Tapped<'a> {
    io: Io<'a>,
    is_deaf: bool,
    wire: Rc<Wire>,
    /// When the next bytes are through, on a slow line.
    readable_at: Instant,
}

impl ErrorType for Tapped<'_> {
    type Error = io::Error;
}

impl Read for Tapped<'_> {
    async fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.is_deaf {
            std::future::pending::<()>().await;
        }
        // Before the read, so that a dropped future loses nothing.
        sleep_until(self.readable_at).await;
        // On a very slow wire, acknowledgements arrive one by one.
        let most = if (1..ONE_BY_ONE).contains(&self.wire.rate.get()) { ACKNOWLEDGEMENT } else { buf.len() };
        let buf = buf.get_mut(..most).unwrap_or_default();
        let count = match &mut self.io {
            Io::Plain(stream) => stream.read(buf).await,
            Io::Tls(stream) => stream.read(buf).await.map_err(io_error),
        }?;
        if let Some(micros) = (count as u64 * 1_000_000).checked_div(self.wire.rate.get().into()) {
            // Timers are no finer than a millisecond: what is due sooner adds up.
            self.readable_at = self.readable_at.max(Instant::now()) + Duration::from_micros(micros);
        }
        Ok(count)
    }
}

impl Write for Tapped<'_> {
    async fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let count = match &mut self.io {
            _ if self.wire.swallows.get() => buf.len(),
            Io::Plain(stream) => stream.write(buf).await?,
            Io::Tls(stream) => stream.write(buf).await.map_err(io_error)?,
        };
        self.wire.dials.borrow_mut().last_mut().expect("dialled").sent.extend_from_slice(&buf[..count]);
        Ok(count)
    }

    async fn flush(&mut self) -> io::Result<()> {
        match &mut self.io {
            Io::Plain(stream) => stream.flush().await,
            Io::Tls(stream) => stream.flush().await.map_err(io_error),
        }
    }
}

/// The hub's end of its serial line.
pub(crate) enum Line<Played, Home> {
    Played(FromTokio<Played>),
    Home(Home),
}

pub(crate) type Rx = Line<ReadHalf<DuplexStream>, link::Rx>;

/// Checks every line that the hub writes, so that no story can forget it.
pub(crate) struct Tx {
    line: Line<WriteHalf<DuplexStream>, link::Tx>,
    tap: LineTap,
}

impl Tx {
    pub(crate) fn new(line: Line<WriteHalf<DuplexStream>, link::Tx>) -> Self {
        Self { line, tap: LineTap::default() }
    }
}

impl ErrorType for Tx {
    type Error = io::Error;
}

impl<Played, Home> ErrorType for Line<Played, Home> {
    type Error = io::Error;
}

impl Read for Rx {
    async fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Played(line) => line.read(buf).await,
            Self::Home(line) => line.read(buf).await,
        }
    }
}

impl Write for Tx {
    async fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let count = match &mut self.line {
            Line::Played(line) => line.write(buf).await?,
            Line::Home(line) => line.write(buf).await?,
        };
        self.tap.wrote(&buf[..count]);
        Ok(count)
    }

    async fn flush(&mut self) -> io::Result<()> {
        match &mut self.line {
            Line::Played(line) => line.flush().await,
            Line::Home(line) => line.flush().await,
        }
    }
}
