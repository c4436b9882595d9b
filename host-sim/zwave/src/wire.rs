//! The line between the controller's MCP server and the hub: whole lines of text, with their faults.
//!
//! The server's sessions come and go behind it. A new one begins when one ends by itself, and when the client sends another
//! `initialize`, as a hub does that was restarted at the far end of a serial line.

use std::io;
use std::pin::pin;

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::task::JoinSet;

use super::faults::{Arrival, Faults, Step};
use super::gateway::Gateway;
use super::server;

/// The longest line that is read; a longer one is skipped.
const LINE: usize = 1024 * 1024;

/// Bytes on the way between the line and a session.
const PIPE: usize = 64 * 1024;

/// Why a session ended.
enum End {
    /// The far end has closed the line.
    Closed,
    /// The server ended it.
    Over,
    /// The client began another with this line, its `initialize`.
    Replaced(Vec<u8>),
    /// The controller restarts.
    Restart,
}

/// Serves a controller on a stream until its far end closes it, or a fault does.
pub(super) async fn serve(gateway: Gateway, stream: impl AsyncRead + AsyncWrite + Send) {
    let faults = gateway.faults.clone();
    let (rx, mut tx) = tokio::io::split(stream);
    let mut lines = Lines::new(rx);
    let mut watch = faults.watch();
    let mut initialize = None;
    loop {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (from_server, to_server) = tokio::io::split(ours);
        // Dropping it ends the session.
        let mut session = JoinSet::new();
        session.spawn(server::serve(gateway.clone(), theirs));
        let mut to_hub = ToHub { lines: Lines::new(from_server), tx: &mut tx, faults: &faults };
        let mut from_hub =
            FromHub { lines: &mut lines, tx: to_server, faults: &faults, is_initialized: false };
        let end = {
            let mut sending = pin!(to_hub.run());
            let mut receiving = pin!(from_hub.run(initialize.take()));
            let mut is_received = false;
            loop {
                tokio::select! {
                    biased;
                    step = watch.close_or_restart() => {
                        break if step == Step::Close { End::Closed } else { End::Restart };
                    }
                    end = &mut receiving, if !is_received => match end {
                        // The requests so far are still answered.
                        End::Closed => is_received = true,
                        end => break end,
                    },
                    end = &mut sending => break if is_received { End::Closed } else { end },
                }
            }
        };
        drop(session);
        match end {
            End::Closed => break,
            End::Over => {}
            End::Replaced(line) => initialize = Some(line),
            End::Restart => {
                if !boot(&faults, &mut lines, &mut tx).await {
                    break;
                }
                // A restart in the middle of a restart is one.
                watch.catch_up();
            }
        }
    }
    let _ = tx.shutdown().await;
}

/// The controller restarts: it reads nothing for a while, and then writes its boot log. Returns whether the line is still
/// open.
async fn boot<R: AsyncRead + Unpin>(
    faults: &Faults,
    lines: &mut Lines<R>,
    tx: &mut (impl AsyncWrite + Unpin),
) -> bool {
    log::debug!("zwave: the controller restarts");
    let (time, words) = faults.boot();
    let mut until = pin!(tokio::time::sleep(time));
    loop {
        tokio::select! {
            () = &mut until => break,
            line = lines.next() => match line {
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return false,
            },
        }
    }
    tx.write_all(&words).await.is_ok() && tx.flush().await.is_ok()
}

/// Carries the controller's lines to the hub.
struct ToHub<'a, T> {
    lines: Lines<ReadHalf<DuplexStream>>,
    tx: &'a mut T,
    faults: &'a Faults,
}

impl<T: AsyncWrite + Unpin> ToHub<'_, T> {
    async fn run(&mut self) -> End {
        while let Ok(Some(line)) = self.lines.next().await {
            for step in self.faults.outgoing(line) {
                match step {
                    Step::Write(bytes) => {
                        let written = async {
                            self.tx.write_all(&bytes).await?;
                            self.tx.flush().await
                        };
                        if let Err(error) = written.await {
                            log::debug!("zwave: the line cannot be written: {error}");
                            return End::Closed;
                        }
                    }
                    Step::Wait(time) => tokio::time::sleep(time).await,
                    Step::Restart => return End::Restart,
                    Step::Close => return End::Closed,
                }
            }
        }
        End::Over
    }
}

/// Carries the hub's lines to the controller.
struct FromHub<'a, R> {
    lines: &'a mut Lines<R>,
    tx: WriteHalf<DuplexStream>,
    faults: &'a Faults,
    /// Whether the session has had its `initialize`.
    is_initialized: bool,
}

impl<R: AsyncRead + Unpin> FromHub<'_, R> {
    async fn run(&mut self, initialize: Option<Vec<u8>>) -> End {
        if let Some(line) = initialize {
            self.is_initialized = true;
            if self.tx.write_all(&line).await.is_err() {
                return End::Over;
            }
        }
        loop {
            let line = match self.lines.next().await {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => {
                    log::debug!("zwave: the line cannot be read: {error}");
                    break;
                }
            };
            let arrival = self.faults.arrival();
            match arrival {
                Arrival::Lost => continue,
                Arrival::RestartBefore => return End::Restart,
                Arrival::Arrives | Arrival::RestartAfter(_) => {}
            }
            let message = serde_json::from_slice::<Value>(&line).unwrap_or_default();
            let is_initialize = message["method"] == "initialize";
            if is_initialize && self.is_initialized {
                return End::Replaced(line);
            }
            self.is_initialized |= is_initialize;
            // The SDK ends a session that begins with a message that is no request.
            let is_request = message.get("method").is_some() && message.get("id").is_some();
            if !self.is_initialized && message.is_object() && !is_request {
                log::debug!("zwave: ignored before the handshake: {message}");
                continue;
            }
            if self.tx.write_all(&line).await.is_err() {
                return End::Over;
            }
            if let Arrival::RestartAfter(time) = arrival {
                tokio::time::sleep(time).await;
                return End::Restart;
            }
        }
        let _ = self.tx.shutdown().await;
        End::Closed
    }
}

/// Lines out of a stream.
struct Lines<R> {
    rx: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of a line is skipped that is too long.
    is_skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(rx: R) -> Self {
        Self { rx: BufReader::new(rx), line: Vec::new(), is_skipping: false }
    }

    /// The next line with its end; None when there are no more. Dropping the future loses nothing.
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let bytes = self.rx.fill_buf().await?;
            if bytes.is_empty() {
                // The last line may lack its end.
                let mut rest = std::mem::take(&mut self.line);
                if rest.is_empty() || self.is_skipping {
                    return Ok(None);
                }
                rest.push(b'\n');
                return Ok(Some(rest));
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(bytes.len(), |end| end + 1);
            if !self.is_skipping {
                self.line.extend_from_slice(&bytes[..count]);
            }
            self.rx.consume(count);
            if self.line.len() > LINE {
                log::warn!("zwave: a line of more than {LINE} bytes was skipped");
                self.line.clear();
                self.is_skipping = true;
            }
            if end.is_some() && !std::mem::take(&mut self.is_skipping) {
                return Ok(Some(std::mem::take(&mut self.line)));
            }
        }
    }
}
