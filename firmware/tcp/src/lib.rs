//! TCP connections to the broker on an `embassy-net` stack: DNS, and one socket that is reused.
//!
//! The socket stays in the stack, so that a dropped connection can still send its reset: the broker then notices at once,
//! not at its keepalive, and has closed the old connection before the new one opens.
#![no_std]
#![forbid(unsafe_code)]

use embassy_net::dns::DnsQueryType;
use embassy_net::tcp::{ConnectError, Error, TcpSocket};
use embassy_net::{IpAddress, Stack};
use embassy_time::{Duration, with_timeout};
use embedded_io_async::{ErrorType, Read, Write};
use hub_core::{Destination, Dial, DialError, TlsError, limits};

/// Two segments and a half: enough to keep a home network busy.
const RECEIVE_BUFFER: usize = 4096;

/// Two whole segments of Ethernet: most peers acknowledge every second one at once, and a single one late.
const SEND_BUFFER: usize = 2 * 1460;

/// For the broker to acknowledge what was sent. Longer than the keepalive, which detects a dead connection first.
const TRANSMIT_TIMEOUT: Duration = Duration::from_secs(limits::MQTT_KEEPALIVE as u64 + 15);

/// To send the reset of the last connection.
const RESET_TIMEOUT: Duration = Duration::from_secs(1);

/// The memory of a dialler's socket. All zeros when new: keep it in a `static`.
pub struct Memory {
    receive: [u8; RECEIVE_BUFFER],
    send: [u8; SEND_BUFFER],
}

impl Memory {
    /// Empty.
    pub const fn new() -> Self {
        Self { receive: [0; RECEIVE_BUFFER], send: [0; SEND_BUFFER] }
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
}

impl<'a> TcpDial<'a> {
    /// A dialler on `stack`. It waits while the stack is down.
    pub fn new(stack: Stack<'a>, memory: &'a mut Memory) -> Self {
        let mut socket = TcpSocket::new(stack, &mut memory.receive, &mut memory.send);
        // Send at once, without waiting for an acknowledgement of the last message.
        socket.set_nagle_enabled(false);
        socket.set_timeout(Some(TRANSMIT_TIMEOUT));
        Self { stack, socket }
    }

    async fn connect(&mut self, host: &str, port: u16) -> Result<TcpStream<'_, 'a>, DialError> {
        let address = self.resolve(host).await?;
        // Connecting would overwrite a reset of the last connection that is not sent yet.
        let _ = with_timeout(RESET_TIMEOUT, self.socket.flush()).await;
        let stream = TcpStream(&mut self.socket);
        match stream.0.connect((address, port)).await {
            Ok(()) => Ok(stream),
            Err(ConnectError::ConnectionReset) => Err(DialError::Refused),
            Err(ConnectError::NoRoute | ConnectError::TimedOut | ConnectError::InvalidState) => {
                Err(DialError::Unreachable)
            }
        }
    }

    /// `host` is a name, a `.local` name or an IPv4 address.
    async fn resolve(&self, host: &str) -> Result<IpAddress, DialError> {
        let addresses = self.stack.dns_query(host, DnsQueryType::A).await.unwrap_or_default();
        let has_no_server = || self.stack.config_v4().is_some_and(|config| config.dns_servers.is_empty());
        match addresses.first() {
            Some(address) => Ok(*address),
            None if !host.ends_with(".local") && has_no_server() => Err(DialError::NoNameServer),
            None => Err(DialError::UnknownHost),
        }
    }
}

impl<'a> Dial for TcpDial<'a> {
    type Io<'s>
        = TcpStream<'s, 'a>
    where
        Self: 's;

    async fn dial(&mut self, to: &Destination<'_>) -> Result<TcpStream<'_, 'a>, DialError> {
        if to.tls.is_some() {
            return Err(DialError::Tls(TlsError::Unsupported));
        }
        self.stack.wait_config_up().await;
        with_timeout(limits::DIAL_TIMEOUT, self.connect(to.host, to.port))
            .await
            .unwrap_or(Err(DialError::Unreachable))
    }
}

/// An open connection. Dropping it, or the attempt to open it, resets it.
pub struct TcpStream<'s, 'a>(&'s mut TcpSocket<'a>);

impl Drop for TcpStream<'_, '_> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ErrorType for TcpStream<'_, '_> {
    type Error = Error;
}

impl Read for TcpStream<'_, '_> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        self.0.read(buffer).await
    }
}

impl Write for TcpStream<'_, '_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        self.0.write(bytes).await
    }

    /// Nothing to do: the stack sends by itself. The socket's own flush waits for the broker's acknowledgement, which
    /// would add a round trip to every message.
    async fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
