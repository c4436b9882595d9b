//! Connections to the broker on an `embassy-net` stack, plain and by TLS: DNS, and one socket that is reused.
//!
//! The socket stays in the stack, so that a dropped connection can still send its reset: the broker then notices at once,
//! not at its keepalive, and has closed the old connection before the new one opens.
#![no_std]
#![forbid(unsafe_code)]

mod config;
mod dns;
pub mod mdns;
pub mod udp;

use core::pin::{Pin, pin};

use embassy_net::Stack;
use embassy_net::tcp::{ConnectError, Error, TcpSocket};
use embassy_time::{Duration, Timer, with_timeout};
use embedded_io_async::{ErrorType, Read, Write};
use hub_core::{Destination, Dial, DialError, Tls, limits};
use hub_tls::{StreamError, TlsError, TlsStream, Verifier};

pub use self::config::config;
use self::dns::resolve;

/// Two whole segments of Ethernet: one can arrive while the other is read. The hub reads at once, and what it gets is short.
const RECEIVE_BUFFER: usize = 2 * 1460;

/// As many: most peers acknowledge every second one at once, and a single one late.
const SEND_BUFFER: usize = 2 * 1460;

/// For the broker to acknowledge what was sent. Longer than the keepalive, which detects a dead connection first.
const TRANSMIT_TIMEOUT: Duration = Duration::from_secs(limits::MQTT_KEEPALIVE as u64 + 15);

/// To send the reset of the last connection.
const RESET_TIMEOUT: Duration = Duration::from_secs(1);

/// The memory of a dialler's socket, and of TLS on it. All zeros when new: keep it in a `static`.
pub struct Memory {
    receive: [u8; RECEIVE_BUFFER],
    send: [u8; SEND_BUFFER],
    tls: hub_tls::Memory,
}

impl Memory {
    /// Empty.
    pub const fn new() -> Self {
        Self { receive: [0; RECEIVE_BUFFER], send: [0; SEND_BUFFER], tls: hub_tls::Memory::new() }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// Dials over TCP.
pub struct TcpDial<'a> {
    stack: Stack<'a>,
    socket: TcpSocket<'a>,
    tls: &'a mut hub_tls::Memory,
    random: fn(&mut [u8]),
}

impl<'a> TcpDial<'a> {
    /// A dialler on `stack`. It waits while the stack is down. `random` fills a buffer with numbers that nobody can guess:
    /// the keys of TLS are made of them.
    pub fn new(stack: Stack<'a>, memory: &'a mut Memory, random: fn(&mut [u8])) -> Self {
        let mut socket = TcpSocket::new(stack, &mut memory.receive, &mut memory.send);
        // Send at once, without waiting for an acknowledgement of the last message.
        socket.set_nagle_enabled(false);
        socket.set_timeout(Some(TRANSMIT_TIMEOUT));
        Self { stack, socket, tls: &mut memory.tls, random }
    }

    async fn open(&mut self, to: &Destination<'_>) -> Result<BrokerStream<'_, 'a>, DialError> {
        let address = resolve(self.stack, to.host).await?;
        // The last connection may still wait for the broker to close it, too.
        self.socket.abort();
        // Connecting would overwrite a reset of the last connection that is not sent yet.
        let _ = with_timeout(RESET_TIMEOUT, self.socket.flush()).await;
        let mut stream = TcpStream { socket: &mut self.socket, waits_for_peer: false, closes: false };
        match stream.socket.connect((address, to.port)).await {
            Ok(()) => {}
            Err(ConnectError::ConnectionReset) => return Err(DialError::Refused),
            Err(ConnectError::NoRoute | ConnectError::TimedOut | ConnectError::InvalidState) => {
                return Err(DialError::Unreachable);
            }
        }
        let Some(Tls { trusted, now }) = to.tls else { return Ok(BrokerStream::Plain(stream)) };
        let verifier = Verifier { host: to.host, trusted, now };
        // So that the broker hears why it is refused before the connection is reset.
        stream.waits_for_peer = true;
        // Behind a pointer, so that its stack is in use only while hands are shaken.
        let opening: Pin<&mut dyn Future<Output = _>> =
            pin!(TlsStream::open(stream, self.tls, verifier, self.random));
        match opening.await {
            Ok(mut stream) => {
                stream.stream().waits_for_peer = false;
                stream.stream().closes = true;
                Ok(BrokerStream::Tls(stream))
            }
            Err(StreamError::Tls(error)) => Err(DialError::Tls(error.text())),
            Err(StreamError::Io(_)) => Err(DialError::Tls(TlsError::Closed.text())),
        }
    }
}

/// How often it is looked for.
const ADDRESS_POLL: Duration = Duration::from_millis(250);

/// Returns when the stack has an address. It looks now and then: embassy-net has one waker for whoever waits for that, and
/// several tasks would wake each other without end.
pub async fn wait_for_address(stack: Stack<'_>) {
    while !stack.is_config_up() {
        Timer::after(ADDRESS_POLL).await;
    }
}

impl<'a> Dial for TcpDial<'a> {
    type Io<'s>
        = BrokerStream<'s, 'a>
    where
        Self: 's;

    async fn dial(&mut self, to: &Destination<'_>) -> Result<BrokerStream<'_, 'a>, DialError> {
        if to.tls.is_some_and(|tls| tls.trusted.is_empty()) {
            return Err(DialError::Tls(TlsError::NoCa.text()));
        }
        wait_for_address(self.stack).await;
        with_timeout(limits::DIAL_TIMEOUT, self.open(to)).await.unwrap_or(Err(DialError::Unreachable))
    }
}

/// An open connection to the broker. Dropping it resets it; one through TLS is closed in order.
#[allow(clippy::large_enum_variant, reason = "there is one, and no heap to put it on")]
pub enum BrokerStream<'s, 'a> {
    /// As it is.
    Plain(TcpStream<'s, 'a>),
    /// Through TLS.
    Tls(TlsStream<'s, TcpStream<'s, 'a>>),
}

impl ErrorType for BrokerStream<'_, '_> {
    type Error = StreamError<Error>;
}

impl Read for BrokerStream<'_, '_> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        match self {
            Self::Plain(stream) => stream.read(buffer).await.map_err(StreamError::Io),
            Self::Tls(stream) => stream.read(buffer).await,
        }
    }
}

impl Write for BrokerStream<'_, '_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        match self {
            Self::Plain(stream) => stream.write(bytes).await.map_err(StreamError::Io),
            Self::Tls(stream) => stream.write(bytes).await,
        }
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        match self {
            Self::Plain(stream) => stream.flush().await.map_err(StreamError::Io),
            Self::Tls(stream) => stream.flush().await,
        }
    }
}

/// An open connection. Dropping it, or the attempt to open it, resets it, unless it `closes`.
pub struct TcpStream<'s, 'a> {
    socket: &'s mut TcpSocket<'a>,
    /// Whether a flush waits until the broker has acknowledged everything.
    waits_for_peer: bool,
    /// Whether what was written last still goes out when this is dropped: TLS ends with a notice.
    closes: bool,
}

impl Drop for TcpStream<'_, '_> {
    fn drop(&mut self) {
        if self.closes { self.socket.close() } else { self.socket.abort() }
    }
}

impl ErrorType for TcpStream<'_, '_> {
    type Error = Error;
}

impl Read for TcpStream<'_, '_> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        self.socket.read(buffer).await
    }
}

impl Write for TcpStream<'_, '_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        self.socket.write(bytes).await
    }

    /// In a session nothing is to be done: the stack sends by itself, and to wait for the broker's acknowledgement would
    /// add a round trip to every message.
    async fn flush(&mut self) -> Result<(), Error> {
        if self.waits_for_peer { self.socket.flush().await } else { Ok(()) }
    }
}
