//! Connections that a story can cut: to the broker, and the serial line.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use embedded_io_adapters::tokio_1::FromTokio;
use embedded_io_async::{ErrorType, Read, Write};
use host_sim::link;
use host_sim::network::{BrokerStream, Network};
use hub_core::{Destination, Dial, DialError};
use support::line::LineTap;
use tokio::io::{DuplexStream, ReadHalf, WriteHalf};
use tokio::time::Instant;

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

/// The hub's connection to its broker.
pub struct Wire {
    pub reach: Cell<Reach>,
    /// Whether what the hub sends is lost.
    pub swallows: Cell<bool>,
    pub dials: RefCell<Vec<Dialled>>,
    pub(crate) network: RefCell<Network>,
    pub(crate) mutes: RefCell<Vec<DuplexStream>>,
}

impl Wire {
    pub(crate) fn new(network: Network, reach: Reach) -> Self {
        Self {
            reach: Cell::new(reach),
            swallows: Cell::new(false),
            dials: RefCell::default(),
            network: RefCell::new(network),
            mutes: RefCell::default(),
        }
    }
}

pub(crate) struct WireDial(pub(crate) Rc<Wire>);

impl Dial for WireDial {
    type Io<'a> = Tapped;

    async fn dial(&mut self, to: &Destination<'_>) -> Result<Tapped, DialError> {
        let wire = self.0.clone();
        wire.dials.borrow_mut().push(Dialled { at: Instant::now(), sent: Vec::new() });
        let io = match wire.reach.get() {
            Reach::Open | Reach::OneWay => {
                let mut network = wire.network.borrow().clone();
                network.dial(to).await?
            }
            Reach::Fails(error) => return Err(error),
            Reach::Mute => {
                let (ours, theirs) = tokio::io::duplex(1024);
                wire.mutes.borrow_mut().push(theirs);
                BrokerStream::new(ours)
            }
        };
        Ok(Tapped { io, is_deaf: wire.reach.get() == Reach::OneWay, wire })
    }
}

/// A stream that records what the hub sends.
pub(crate) struct Tapped {
    io: BrokerStream,
    is_deaf: bool,
    wire: Rc<Wire>,
}

impl ErrorType for Tapped {
    type Error = io::Error;
}

impl Read for Tapped {
    async fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.is_deaf {
            std::future::pending::<()>().await;
        }
        self.io.read(buf).await
    }
}

impl Write for Tapped {
    async fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let count = if self.wire.swallows.get() { buf.len() } else { self.io.write(buf).await? };
        self.wire.dials.borrow_mut().last_mut().expect("dialled").sent.extend_from_slice(&buf[..count]);
        Ok(count)
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.io.flush().await
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
