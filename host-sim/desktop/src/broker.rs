//! Where a broker is, and the way to it: over TCP, plain or by TLS.

use std::fmt;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use embedded_io_adapters::tokio_1::FromTokio;
use embedded_io_async::{ErrorType, Read, Write};
use hub_mqtt::certificate;
use hub_mqtt::limits::{self, DIAL_TIMEOUT};
use hub_mqtt::{Destination, Dial, DialError, Tls};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::tls;

/// The name of a broker in this process.
pub const IN_MEMORY: &str = "in-memory";

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

/// Says goodbye: TLS sends close_notify, if the socket takes it at once.
impl Drop for BrokerStream {
    fn drop(&mut self) {
        let stream = Pin::new(self.0.inner_mut());
        let _ = stream.poll_shutdown(&mut Context::from_waker(Waker::noop()));
    }
}

impl ErrorType for BrokerStream {
    type Error = io::Error;
}

impl Read for BrokerStream {
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).await.map_err(|error| match tls::is_refusal(&error) {
            true => io::ErrorKind::PermissionDenied.into(),
            false => error,
        })
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

/// The way over TCP, to whatever host and port are dialled.
#[derive(Clone, Copy, Debug)]
pub struct Tcp;

impl Dial for Tcp {
    type Io<'a> = BrokerStream;

    async fn dial(&mut self, to: &Destination<'_>) -> Result<BrokerStream, DialError> {
        timeout(DIAL_TIMEOUT.into(), connect(to)).await.unwrap_or(Err(DialError::Unreachable))
    }
}

async fn connect(to: &Destination<'_>) -> Result<BrokerStream, DialError> {
    let stream = connect_tcp(to.host, to.port).await?;
    // Packets are small, and their sender waits for each.
    let _ = stream.set_nodelay(true);
    match to.tls {
        None => Ok(BrokerStream::new(stream)),
        Some(tls) => {
            let stream =
                tls::open(stream, to.host, tls).await.map_err(|error| DialError::Tls(error.text()))?;
            Ok(BrokerStream::new(stream))
        }
    }
}

async fn connect_tcp(host: &str, port: u16) -> Result<TcpStream, DialError> {
    let addresses = tokio::net::lookup_host((host, port)).await.map_err(|_| DialError::UnknownHost)?;
    let mut failed = DialError::UnknownHost;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => failed = DialError::Refused,
            Err(_) => failed = DialError::Unreachable,
        }
    }
    Err(failed)
}

/// Where a broker is, written `mqtt://[USER:PASSWORD@]HOST[:PORT]`, or `mqtts://…` for TLS.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerUrl {
    /// Its name or address.
    pub host: String,
    /// 1883 unless given, with TLS 8883.
    pub port: u16,
    /// Whether the connection is encrypted.
    pub is_tls: bool,
    /// User name and password.
    pub login: Option<(String, String)>,
    /// The CA certificate that the broker's certificate is checked against; empty for none.
    pub ca: Ca,
}

/// A certificate that is trusted: a CA's, or a broker's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ca {
    /// As base64 on one line.
    pub base64: String,
    der: Vec<u8>,
}

impl Ca {
    /// Reads a file in PEM with one certificate.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let mut text = std::fs::read(path).map_err(|error| format!("{name}: {error}"))?;
        let base64 = certificate::to_base64(&mut text).ok_or_else(|| {
            format!("{name} is not one certificate in PEM of at most {} bytes", limits::CERTIFICATE)
        })?;
        let base64 = base64.to_owned();
        let mut der = base64.clone().into_bytes();
        let der = certificate::to_der(&mut der).unwrap_or_default().to_vec();
        Ok(Self { base64, der })
    }
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
        Self { host: IN_MEMORY.into(), port: 1883, is_tls: false, login: None, ca: Ca::default() }
    }

    /// Has the broker's certificate checked with `ca`, which goes with TLS and with nothing else.
    pub fn trust(&mut self, ca: Option<Ca>) -> Result<(), &'static str> {
        match ca {
            None if self.is_tls => {
                Err("mqtts:// needs --ca FILE: the broker's CA, or its own certificate, in PEM")
            }
            Some(_) if !self.is_tls => Err("--ca is for --broker mqtts://…"),
            ca => {
                self.ca = ca.unwrap_or_default();
                Ok(())
            }
        }
    }

    /// What to dial now.
    pub fn destination(&self) -> Destination<'_> {
        let tls = self.is_tls.then(|| Tls { trusted: &self.ca.der, now: crate::clock::unix_seconds() });
        Destination { host: &self.host, port: self.port, tls }
    }

    /// The URL without the login.
    pub fn url(&self) -> String {
        let scheme = if self.is_tls { "mqtts" } else { "mqtt" };
        match self.host.contains(':') {
            true => format!("{scheme}://[{}]:{}", self.host, self.port),
            false => format!("{scheme}://{}:{}", self.host, self.port),
        }
    }

    /// Reads a URL. Not by a URL crate, which wants a password percent-encoded: here it may hold any character.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (is_tls, rest) = match text.split_once("://") {
            Some(("mqtt", rest)) => (false, rest),
            Some(("mqtts", rest)) => (true, rest),
            Some((scheme, _)) => return Err(format!("mqtt:// and mqtts:// are possible, not {scheme}://")),
            None => (false, text),
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
            None if is_tls => 8883,
            None => 1883,
        };
        Ok(Self { host: host.into(), port, is_tls, login, ca: Ca::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::BrokerUrl;

    #[test]
    fn broker_urls_in_all_their_forms() {
        let url = |host: &str, port, login: Option<(&str, &str)>| {
            let login = login.map(|(user, password)| (user.into(), password.into()));
            Ok(BrokerUrl { host: host.into(), port, login, ..BrokerUrl::in_memory() })
        };
        assert_eq!(BrokerUrl::parse("mqtt://broker.local"), url("broker.local", 1883, None));
        assert_eq!(BrokerUrl::parse("10.0.0.7:1884"), url("10.0.0.7", 1884, None));
        assert_eq!(
            BrokerUrl::parse("mqtt://me:p@ss:word@host/"),
            url("host", 1883, Some(("me", "p@ss:word")))
        );
        assert_eq!(BrokerUrl::parse("mqtt://[::1]:1885"), url("::1", 1885, None));
        let secure = BrokerUrl::parse("mqtts://broker.local").expect("a URL");
        assert_eq!((secure.is_tls, secure.port), (true, 8883));
        assert_eq!(secure.url(), "mqtts://broker.local:8883");
        assert!(BrokerUrl::parse("https://broker.local").is_err());
    }
}
