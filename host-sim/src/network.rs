//! Ways to a broker: over TCP, or in memory to the one in this process.

use std::io;

use embedded_io_adapters::tokio_1::FromTokio;
use hub_core::limits::DIAL_TIMEOUT;
use hub_core::{Dial, DialError};
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

/// A stream of bytes of either kind.
pub trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

impl Dial for Network {
    type Io<'a> = FromTokio<Box<dyn Stream>>;

    async fn dial(&mut self, host: &str, port: u16) -> Result<Self::Io<'_>, DialError> {
        Ok(FromTokio::new(match self {
            Self::Memory(server) => Box::new(server.connect()),
            Self::Tcp => Box::new(connect(host, port).await?),
        }))
    }
}

async fn connect(host: &str, port: u16) -> Result<TcpStream, DialError> {
    let dialling = async {
        let addresses = tokio::net::lookup_host((host, port)).await.map_err(|_| DialError::UnknownHost)?;
        let mut failed = DialError::UnknownHost;
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    // Small packets, each of which somebody waits for.
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
