//! Opens the far end of the line.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use host_desktop::tty::Tty;
use host_zwave::Home;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::child::{ChildGuard, Pipes};
use super::output::ChildOutput;
use super::spec::Spec;

/// For a connection to be made; less than the core waits for a line to be taken.
const DIAL: Duration = Duration::from_secs(4);

/// TCP keepalive: after this long without a packet, so often, so many times.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(10), Duration::from_secs(5), 3);

pub(super) type Incoming = Box<dyn AsyncRead + Send + Unpin>;
pub(super) type Outgoing = Box<dyn AsyncWrite + Send + Unpin>;

/// An open line.
pub(super) struct Line {
    pub(super) rx: Incoming,
    pub(super) tx: Outgoing,
    pub(super) child: Option<ChildGuard>,
}

impl Spec {
    /// Opens a line; `sim` is one to `home`. The error is for a person to read.
    pub(super) async fn open(&self, home: &Home) -> io::Result<Line> {
        match self {
            Self::Sim if home.faults().is_closed() => {
                Err(io::Error::new(io::ErrorKind::NotConnected, "the simulated controller is not connected"))
            }
            Self::Sim => Ok(split(home.connect())),
            Self::Exec(command) => {
                let (child, Pipes { stdin, stdout, stderr }) =
                    ChildGuard::start(command).map_err(|error| {
                        io::Error::new(error.kind(), format!("cannot start '{command}': {error}"))
                    })?;
                let rx = Box::new(ChildOutput::new(stdout, stderr));
                Ok(Line { rx, tx: Box::new(stdin), child: Some(child) })
            }
            Self::Tcp { host, port } => {
                let stream = dial(host, *port).await.map_err(|error| {
                    let words = format!("cannot connect to {host} port {port}: {error}");
                    io::Error::new(error.kind(), format!("{words}; is the controller running there?"))
                })?;
                let (rx, tx) = stream.into_split();
                Ok(Line { rx: Box::new(rx), tx: Box::new(tx), child: None })
            }
            Self::Serial(port) => Ok(split(Tty::open(port)?)),
        }
    }

    /// How a line was lost, for a person to read.
    pub(super) fn loss(&self, error: Option<&io::Error>, status: Option<ExitStatus>) -> String {
        let why = error.map(|error| format!(": {error}")).unwrap_or_default();
        match (self, status) {
            (Self::Sim, _) => "the simulated controller is gone".into(),
            (Self::Exec(command), Some(status)) => format!("'{command}' ended ({status})"),
            (Self::Exec(command), None) => format!("'{command}' closed its output{why}"),
            (Self::Tcp { host, port }, _) => format!("{host} port {port} closed the connection{why}"),
            (Self::Serial(port), _) => format!("{port} is gone{why}"),
        }
    }
}

fn split(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Line {
    let (rx, tx) = tokio::io::split(stream);
    Line { rx: Box::new(rx), tx: Box::new(tx), child: None }
}

async fn dial(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = timeout(DIAL, TcpStream::connect((host, port)))
        .await
        .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "nobody answers")))?;
    // Messages are small, and their sender waits for each.
    let _ = stream.set_nodelay(true);
    // So that a far end that vanished is noticed, and dialled again.
    use rustix::net::sockopt;
    let (idle, interval, count) = KEEPALIVE;
    let _ = sockopt::set_tcp_keepidle(&stream, idle);
    let _ = sockopt::set_tcp_keepintvl(&stream, interval);
    let _ = sockopt::set_tcp_keepcnt(&stream, count);
    let _ = sockopt::set_socket_keepalive(&stream, true);
    Ok(stream)
}
