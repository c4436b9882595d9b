//! The hub's serial port of people, on a desktop: a pseudo terminal, or a TCP port on this machine.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;

use embedded_io_adapters::tokio_1::FromTokio;
use host_desktop::tty::Tty;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadHalf, WriteHalf, copy_bidirectional};
use tokio::net::TcpListener;

/// Where the port is, written `pty` or `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// A pseudo terminal, which programs open as they open a board's USB port.
    Pty,
    /// TCP, for one client after the other.
    Tcp(SocketAddr),
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "pty" => Ok(Self::Pty),
            _ => {
                text.parse().map(Self::Tcp).map_err(|_| format!("'{text}' is not pty or like 127.0.0.1:2323"))
            }
        }
    }
}

/// The hub's side of the port.
pub type Port = (FromTokio<ReadHalf<DuplexStream>>, FromTokio<WriteHalf<DuplexStream>>);

/// Where people find the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place(String);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The two sides of a port: the hub's, and that of whoever sits there.
pub fn pair() -> (Port, DuplexStream) {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (rx, tx) = tokio::io::split(ours);
    ((FromTokio::new(rx), FromTokio::new(tx)), theirs)
}

/// Opens the port. Call within a runtime.
pub async fn open(spec: &Spec) -> io::Result<(Port, Place)> {
    let (port, people) = pair();
    let place = match spec {
        Spec::Pty => {
            let (tty, path) = Tty::pseudo()?;
            tokio::spawn(connect(people, tty));
            path.display().to_string()
        }
        Spec::Tcp(address) => {
            let listener = TcpListener::bind(address).await?;
            let place = listener.local_addr()?.to_string();
            tokio::spawn(serve(people, listener));
            place
        }
    };
    Ok((port, Place(place)))
}

async fn connect(mut people: DuplexStream, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    // An error means that one side is gone.
    let _ = copy_bidirectional(&mut people, &mut stream).await;
}

/// One client after the other. What is written while nobody is there is lost, as on a board.
async fn serve(mut people: DuplexStream, listener: TcpListener) {
    loop {
        let mut nowhere = tokio::io::sink();
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = tokio::io::copy(&mut people, &mut nowhere) => return,
        };
        if let Ok((stream, _)) = accepted {
            let (mut from_client, mut to_client) = stream.into_split();
            let (mut from_hub, mut to_hub) = tokio::io::split(&mut people);
            // Each direction alone: a client that leaves must not close the hub's port.
            tokio::select! {
                _ = tokio::io::copy(&mut from_client, &mut to_hub) => {}
                _ = tokio::io::copy(&mut from_hub, &mut to_client) => {}
            }
        }
    }
}
