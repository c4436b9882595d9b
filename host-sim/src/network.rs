//! Where a broker is, and ways to it: over TCP, or in memory to the one in this process.

use std::fmt;
use std::io;
use std::time::Duration;

use embedded_io_adapters::tokio_1::FromTokio;
use embedded_io_async::{ErrorType, Read, Write};
use hub_core::limits::DIAL_TIMEOUT;
use hub_core::{Destination, Dial, DialError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::broker::Server;

/// A way to a broker. Cloning it gives another way to the same one.
#[derive(Clone, Debug)]
pub enum Network {
    /// Over TCP, to whatever host and port are dialled.
    Tcp,
    /// In memory, to this broker, whatever is dialled.
    Memory(Server),
}

/// For the broker to take a write. Longer than a publication may take, whose end says more.
const WRITE_WITHIN: Duration = Duration::from_secs(15);

/// A stream to the broker. Its writes fail when they take too long; its reads wait for ever, as minimq wants it.
pub struct BrokerStream(FromTokio<Box<dyn Stream>>);

impl BrokerStream {
    /// Over this stream.
    pub fn new(stream: impl Stream + 'static) -> Self {
        Self(FromTokio::new(Box::new(stream)))
    }
}

impl ErrorType for BrokerStream {
    type Error = io::Error;
}

impl Read for BrokerStream {
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).await
    }
}

impl Write for BrokerStream {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        timeout(WRITE_WITHIN, self.0.write(bytes)).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
    }

    async fn flush(&mut self) -> io::Result<()> {
        timeout(WRITE_WITHIN, self.0.flush()).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
    }
}

/// A stream of bytes of either kind.
pub trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

impl Dial for Network {
    type Io<'a> = BrokerStream;

    async fn dial(&mut self, to: &Destination<'_>) -> Result<Self::Io<'_>, DialError> {
        Ok(match self {
            Self::Memory(server) => BrokerStream::new(server.connect()),
            Self::Tcp => BrokerStream::new(connect(to.host, to.port).await?),
        })
    }
}

async fn connect(host: &str, port: u16) -> Result<TcpStream, DialError> {
    let dialling = async {
        let addresses = tokio::net::lookup_host((host, port)).await.map_err(|_| DialError::UnknownHost)?;
        let mut failed = DialError::UnknownHost;
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    // Packets are small, and their sender waits for each.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => failed = DialError::Refused,
                Err(_) => failed = DialError::Unreachable,
            }
        }
        Err(failed)
    };
    timeout(DIAL_TIMEOUT.into(), dialling).await.unwrap_or(Err(DialError::Unreachable))
}

/// Where a broker is, written `mqtt://[USER:PASSWORD@]HOST[:PORT]`.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerUrl {
    /// Its name or address.
    pub host: String,
    /// 1883 unless given.
    pub port: u16,
    /// User name and password.
    pub login: Option<(String, String)>,
}

/// Host and port.
impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Without the password.
impl fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.login.as_ref().map(|(user, _)| user);
        f.debug_struct("BrokerUrl")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("user", &user)
            .finish()
    }
}

impl BrokerUrl {
    /// The broker in this process, where host and port mean nothing.
    pub fn in_memory() -> Self {
        Self { host: "in-memory".into(), port: 1883, login: None }
    }

    /// Host and port, to dial.
    pub fn destination(&self) -> Destination<'_> {
        Destination { host: &self.host, port: self.port, tls: None }
    }

    /// The URL without the login.
    pub fn url(&self) -> String {
        match self.host.contains(':') {
            true => format!("mqtt://[{}]:{}", self.host, self.port),
            false => format!("mqtt://{}:{}", self.host, self.port),
        }
    }

    /// Reads a URL. Not by a URL crate, which wants a password percent-encoded: here it may hold any character.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest = match text.split_once("://") {
            Some(("mqtt", rest)) => rest,
            Some((scheme, _)) => return Err(format!("only mqtt:// is possible, not {scheme}://")),
            None => text,
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (login, address) = match rest.rsplit_once('@') {
            Some((login, address)) => {
                let (user, password) = login.split_once(':').unwrap_or((login, ""));
                (Some((user.into(), password.into())), address)
            }
            None => (None, rest),
        };
        // An IPv6 address is in brackets, since it has colons of its own.
        let (host, port) = match address.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').unwrap_or(port))),
            None => match address.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (address, None),
            },
        };
        if host.is_empty() {
            return Err("the host is missing: mqtt://HOST[:PORT]".into());
        }
        let port = match port {
            Some(port) => port.parse().map_err(|_| format!("'{port}' is not a port"))?,
            None => 1883,
        };
        Ok(Self { host: host.into(), port, login })
    }
}

#[cfg(test)]
mod tests {
    use super::BrokerUrl;

    #[test]
    fn broker_urls_in_all_their_forms() {
        let url = |host: &str, port, login: Option<(&str, &str)>| {
            Ok(BrokerUrl { host: host.into(), port, login: login.map(|(u, p)| (u.into(), p.into())) })
        };
        assert_eq!(BrokerUrl::parse("mqtt://broker.local"), url("broker.local", 1883, None));
        assert_eq!(BrokerUrl::parse("10.0.0.7:1884"), url("10.0.0.7", 1884, None));
        assert_eq!(
            BrokerUrl::parse("mqtt://me:p@ss:word@host/"),
            url("host", 1883, Some(("me", "p@ss:word")))
        );
        assert_eq!(BrokerUrl::parse("mqtt://[::1]:1885"), url("::1", 1885, None));
    }
}
