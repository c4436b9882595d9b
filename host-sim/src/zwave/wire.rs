//! The line between the controller's MCP server and the hub: whole lines, with what goes wrong on them.
//!
//! The server's sessions come and go behind it. One that ends by itself is followed by the next, and so is one whose
//! client begins anew, as a hub does that was restarted at the far end of a serial line.

use std::io;
use std::pin::pin;

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;

use super::faults::{Delivery, Faults, Step};
use super::{Home, server};

/// The longest line that is heard; what is longer is skipped.
const LINE: usize = 1024 * 1024;

/// What is under way between the line and a session.
const PIPE: usize = 64 * 1024;

/// Why a session ended.
enum End {
    /// There is nobody at the far end any more.
    Gone,
    /// By itself.
    Over,
    /// A client began anew with this line.
    Greeted(Vec<u8>),
    /// The controller restarts.
    Restart,
}

/// Serves the home on a stream until its far end closes it, or a fault does.
pub(super) async fn serve(home: Home, stream: impl AsyncRead + AsyncWrite + Send) {
    let faults = home.faults().clone();
    let (rx, mut tx) = tokio::io::split(stream);
    let mut lines = Lines::new(rx);
    let mut upheavals = faults.watch();
    let mut greeting = None;
    loop {
        let Session { rx: from_server, tx: to_server, task } = Session::start(&home);
        let mut mouth = Mouth { lines: Lines::new(from_server), tx: &mut tx, faults: &faults };
        let mut ear = Ear { lines: &mut lines, tx: to_server, faults: &faults, is_greeted: false };
        let end = {
            let mut say = pin!(mouth.say());
            let mut hear = pin!(ear.hear(greeting.take()));
            let mut heard_all = false;
            loop {
                tokio::select! {
                    biased;
                    step = upheavals.upheaval() => {
                        break if step == Step::Close { End::Gone } else { End::Restart };
                    }
                    end = &mut hear, if !heard_all => match end {
                        // What has been asked so far is still answered.
                        End::Gone => heard_all = true,
                        end => break end,
                    },
                    end = &mut say => break if heard_all { End::Gone } else { end },
                }
            }
        };
        drop(task);
        match end {
            End::Gone => break,
            End::Over => {}
            End::Greeted(line) => greeting = Some(line),
            End::Restart => {
                if !boot(&faults, &mut lines, &mut tx).await {
                    break;
                }
                // A restart in the middle of a restart is one.
                upheavals.catch_up();
            }
        }
    }
    let _ = tx.shutdown().await;
}

/// The controller restarts: it hears nothing for a while, and then says what such machines say. Returns whether
/// anybody is still at the far end.
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

/// One session of the server, which ends when its task is dropped.
struct Session {
    rx: ReadHalf<DuplexStream>,
    tx: WriteHalf<DuplexStream>,
    task: Task,
}

struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Session {
    fn start(home: &Home) -> Self {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let task = Task(tokio::spawn(server::serve(home.clone(), theirs)));
        let (rx, tx) = tokio::io::split(ours);
        Self { rx, tx, task }
    }
}

/// Brings the controller's lines to the hub.
struct Mouth<'a, T> {
    lines: Lines<ReadHalf<DuplexStream>>,
    tx: &'a mut T,
    faults: &'a Faults,
}

impl<T: AsyncWrite + Unpin> Mouth<'_, T> {
    async fn say(&mut self) -> End {
        while let Ok(Some(line)) = self.lines.next().await {
            for step in self.faults.outgoing(line) {
                match step {
                    Step::Write(bytes) => {
                        let written = async {
                            self.tx.write_all(&bytes).await?;
                            self.tx.flush().await
                        };
                        if let Err(error) = written.await {
                            log::debug!("zwave: nobody listens: {error}");
                            return End::Gone;
                        }
                    }
                    Step::Wait(time) => tokio::time::sleep(time).await,
                    Step::Restart => return End::Restart,
                    Step::Close => return End::Gone,
                }
            }
        }
        End::Over
    }
}

/// Brings the hub's lines to the controller.
struct Ear<'a, R> {
    lines: &'a mut Lines<R>,
    tx: WriteHalf<DuplexStream>,
    faults: &'a Faults,
    /// The session has had its `initialize`.
    is_greeted: bool,
}

impl<R: AsyncRead + Unpin> Ear<'_, R> {
    async fn hear(&mut self, greeting: Option<Vec<u8>>) -> End {
        if let Some(line) = greeting {
            self.is_greeted = true;
            if self.tx.write_all(&line).await.is_err() {
                return End::Over;
            }
        }
        loop {
            let line = match self.lines.next().await {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => {
                    log::debug!("zwave: the line broke: {error}");
                    break;
                }
            };
            let delivery = self.faults.delivery();
            match delivery {
                Delivery::Lost => continue,
                Delivery::RestartBefore => return End::Restart,
                Delivery::Arrives | Delivery::RestartAfter(_) => {}
            }
            let message = serde_json::from_slice::<Value>(&line).unwrap_or_default();
            let is_greeting = message["method"] == "initialize";
            if is_greeting && self.is_greeted {
                return End::Greeted(line);
            }
            self.is_greeted |= is_greeting;
            // The SDK ends a session that begins with a message that is no request.
            let is_request = message.get("method").is_some() && message.get("id").is_some();
            if !self.is_greeted && message.is_object() && !is_request {
                log::debug!("zwave: ignored before the handshake: {message}");
                continue;
            }
            if self.tx.write_all(&line).await.is_err() {
                return End::Over;
            }
            if let Delivery::RestartAfter(time) = delivery {
                tokio::time::sleep(time).await;
                return End::Restart;
            }
        }
        let _ = self.tx.shutdown().await;
        End::Gone
    }
}

/// Lines out of a stream.
struct Lines<R> {
    rx: BufReader<R>,
    line: Vec<u8>,
    /// The line is too long, and its rest is passed over.
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
                // Whoever forgets the last end of line is understood all the same.
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
