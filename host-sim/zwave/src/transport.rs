//! What the controller's program is served on: stdin and stdout, a serial port, a pseudo terminal or TCP.

use std::net::SocketAddr;
use std::time::Duration;

use host_desktop::tty::{SerialPort, Tty};
use tokio::net::{TcpListener, TcpStream};

use super::Gateway;

/// Before a serial port that was lost is opened again.
const REOPEN: Duration = Duration::from_secs(1);

/// What a controller is served on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Stdin and stdout.
    Stdio,
    /// A serial port.
    Serial(SerialPort),
    /// A new pseudo terminal.
    Pty,
    /// Connections to this address.
    Tcp(SocketAddr),
}

/// Serves a controller: on stdio until the input ends, elsewhere for ever. The error says what to do.
pub async fn serve(gateway: Gateway, transport: &Transport) -> Result<(), String> {
    match transport {
        Transport::Stdio => {
            gateway.serve(tokio::io::join(tokio::io::stdin(), tokio::io::stdout())).await;
            Ok(())
        }
        Transport::Serial(port) => serial(gateway, port).await,
        Transport::Pty => {
            let (tty, path) =
                Tty::pseudo().map_err(|error| format!("cannot make a pseudo terminal: {error}"))?;
            eprintln!("zwave: serving on {}", path.display());
            pty(gateway, tty).await
        }
        Transport::Tcp(address) => {
            let listener = TcpListener::bind(address).await.map_err(|error| {
                format!("cannot listen on {address}: {error}; try another port, or port 0")
            })?;
            let address = listener.local_addr().map_err(|error| error.to_string())?;
            eprintln!("zwave: serving on {address}");
            tcp(gateway, listener).await
        }
    }
}

async fn serial(gateway: Gateway, port: &SerialPort) -> Result<(), String> {
    let mut tty = Tty::open(port).map_err(|error| error.to_string())?;
    eprintln!("zwave: serving on {port}");
    loop {
        gateway.clone().serve(tty).await;
        log::warn!("zwave: {port} is lost; opening it again as soon as it is there");
        tty = loop {
            tokio::time::sleep(REOPEN).await;
            match Tty::open(port) {
                Ok(tty) => break tty,
                Err(error) => log::debug!("zwave: {error}"),
            }
        };
        log::info!("zwave: {port} is back");
    }
}

/// A pseudo terminal is never lost. When a fault closes the line, the next is served on it.
async fn pty(gateway: Gateway, mut tty: Tty) -> Result<(), String> {
    loop {
        let (mut ours, theirs) = tokio::io::duplex(64 * 1024);
        let serving = gateway.clone().serve(theirs);
        let copying = tokio::io::copy_bidirectional(&mut tty, &mut ours);
        tokio::select! {
            () = serving => {}
            copied = copying => {
                copied.map_err(|error| format!("the pseudo terminal broke: {error}"))?;
            }
        }
    }
}

async fn tcp(gateway: Gateway, listener: TcpListener) -> Result<(), String> {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                log::info!("zwave: {peer} connected");
                tokio::spawn(serve_peer(gateway.clone(), stream));
            }
            Err(error) => {
                log::warn!("zwave: cannot accept a connection: {error}");
                tokio::time::sleep(REOPEN).await;
            }
        }
    }
}

async fn serve_peer(gateway: Gateway, stream: TcpStream) {
    // Messages are small, and their sender waits for each.
    let _ = stream.set_nodelay(true);
    gateway.serve(stream).await;
    log::info!("zwave: a client disconnected");
}
