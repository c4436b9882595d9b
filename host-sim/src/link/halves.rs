//! The two halves of the line.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use embedded_io_async::{ErrorType, Read, Write};
use host_zwave::Home;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use super::child::ChildGuard;
use super::far_end::{Incoming, Line, Outgoing};
use super::spec::Spec;

/// A line that held this long was good: its loss is logged as a warning even if the same was logged before.
const SETTLED: Duration = Duration::from_secs(10);

/// The two halves of a line to what `spec` says; `sim` is a new home. Nothing is opened before they are used.
///
/// Use them in a tokio runtime. Dropping both closes the line; a command is ended with all that it started.
pub fn open(spec: &Spec) -> (Rx, Tx) {
    halves(spec.clone(), Home::default())
}

/// The two halves of a line to a simulated home in this process. Its [`faults`](Home::faults) are those of the line,
/// which can be [unplugged](host_zwave::Faults::unplug) and plugged in again.
pub fn to_home(home: &Home) -> (Rx, Tx) {
    halves(Spec::Sim, home.clone())
}

fn halves(spec: Spec, home: Home) -> (Rx, Tx) {
    let (slot, status) = (Mutex::default(), watch::Sender::default());
    let shared = Arc::new(Shared { spec, home, slot, status });
    let changes = shared.status.subscribe();
    let rx = Rx { shared: shared.clone(), changes, line: None, is_mid_line: false };
    (rx, Tx { shared, line: None, is_mid_line: false })
}

/// The status of the line, for both halves to see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LineStatus {
    /// Counts the times that it was opened.
    number: u64,
    is_up: bool,
}

struct Shared {
    spec: Spec,
    /// The home that `sim` is a line to.
    home: Home,
    slot: Mutex<Slot>,
    status: watch::Sender<LineStatus>,
}

/// The line that was opened last.
#[derive(Default)]
struct Slot {
    /// Until the half takes it.
    rx: Option<Incoming>,
    /// Until the half takes it.
    tx: Option<Outgoing>,
    child: Option<ChildGuard>,
    /// The warning that was logged last.
    warning: Option<String>,
    opened: Option<Instant>,
}

/// A view of the far end of a line. It does not keep the line open.
#[derive(Clone)]
pub struct FarEnd(Weak<Shared>);

impl FarEnd {
    /// Whether the far end is a running command, which may still be starting.
    pub fn is_running(&self) -> bool {
        let Some(shared) = self.0.upgrade() else { return false };
        match shared.slot.try_lock() {
            Ok(mut slot) => slot.child.as_mut().is_some_and(ChildGuard::is_running),
            // The command is just being started.
            Err(_) => matches!(shared.spec, Spec::Exec(_)),
        }
    }
}

impl Shared {
    fn status(&self) -> LineStatus {
        *self.status.borrow()
    }

    /// One half of the line, with the line's number. `take` takes it from the slot, knowing whether the line is up; if it
    /// takes none, a new line is opened.
    async fn fetch<T>(&self, take: impl Fn(&mut Slot, bool) -> Option<T>) -> io::Result<(u64, T)> {
        let mut slot = self.slot.lock().await;
        let LineStatus { number, is_up } = self.status();
        if let Some(half) = take(&mut slot, is_up) {
            return Ok((number, half));
        }
        // The former line is closed first: it may hold the port that the next one needs.
        (slot.rx, slot.tx, slot.child) = (None, None, None);
        match self.spec.open(&self.home).await {
            Ok(Line { rx, tx, child }) => {
                (slot.rx, slot.tx, slot.child) = (Some(rx), Some(tx), child);
                slot.opened = Some(Instant::now());
                let number = number + 1;
                self.status.send_replace(LineStatus { number, is_up: true });
                log::debug!("link: the line is open");
                take(&mut slot, true)
                    .map(|half| (number, half))
                    .ok_or_else(|| io::ErrorKind::NotConnected.into())
            }
            Err(error) => {
                slot.log_warning(error.to_string());
                Err(error)
            }
        }
    }

    /// The line is lost; the halves will open another.
    fn down(&self, number: u64) {
        self.status.send_if_modified(|status| {
            let is_news = status.number == number && status.is_up;
            status.is_up &= !is_news;
            is_news
        });
    }

    /// The line has ended, or broke. Logs that, once.
    async fn ended(&self, number: u64, error: Option<&io::Error>) {
        let mut slot = self.slot.lock().await;
        if self.status().number != number {
            return;
        }
        let status = match &mut slot.child {
            Some(child) => child.status().await,
            None => None,
        };
        slot.log_warning(self.spec.loss(error, status));
        slot.child = None;
        self.down(number);
    }
}

impl Slot {
    /// Logs a warning, unless it is the same as the one before.
    fn log_warning(&mut self, warning: String) {
        let was_good = self.opened.take().is_some_and(|opened| opened.elapsed() >= SETTLED);
        if !was_good && self.warning.as_ref() == Some(&warning) {
            log::debug!("link: {warning}");
        } else {
            log::warn!("link: {warning}");
            self.warning = Some(warning);
        }
    }
}

/// The half that reads.
///
/// A read that is dropped loses nothing. The end of the line is an end of file or an error, once; the read after that opens the
/// far end again, or is an error that says why it cannot.
pub struct Rx {
    shared: Arc<Shared>,
    changes: watch::Receiver<LineStatus>,
    line: Option<(u64, Incoming)>,
    /// Whether the last byte was not the end of a line of text.
    is_mid_line: bool,
}

/// The half that writes.
///
/// A write that is dropped has written nothing. An error says why the far end is not there; the write after that opens
/// it again. A message that was begun on a lost line is an error, not continued on the next.
pub struct Tx {
    shared: Arc<Shared>,
    line: Option<(u64, Outgoing)>,
    /// Whether the last byte was not the end of a line of text.
    is_mid_line: bool,
}

impl ErrorType for Rx {
    type Error = io::Error;
}

impl ErrorType for Tx {
    type Error = io::Error;
}

impl Rx {
    /// The far end of the line.
    pub fn far_end(&self) -> FarEnd {
        FarEnd(Arc::downgrade(&self.shared))
    }
}

impl Read for Rx {
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let number = self.changes.borrow_and_update().number;
            if self.line.as_ref().is_none_or(|(ours, _)| *ours != number) {
                // Also one that is lost: its last bytes may say why.
                let (number, rx) = self.shared.fetch(|slot, _| slot.rx.take()).await?;
                self.line = Some((number, rx));
                if std::mem::take(&mut self.is_mid_line) {
                    // A message that broke off on the former line ends here.
                    buffer[0] = b'\n';
                    return Ok(1);
                }
            }
            let Some((number, rx)) = &mut self.line else { continue };
            let number = *number;
            let read = tokio::select! {
                biased;
                // The other half may have opened another line.
                _ = self.changes.wait_for(|status| status.number != number) => continue,
                read = rx.read(buffer) => read,
            };
            match &read {
                Ok(count @ 1..) => self.is_mid_line = buffer.get(count - 1) != Some(&b'\n'),
                end => {
                    self.shared.ended(number, end.as_ref().err()).await;
                    // The reader sees the end, and drops the unfinished message itself.
                    (self.line, self.is_mid_line) = (None, false);
                }
            }
            return read;
        }
    }
}

impl Tx {
    /// The writing half of a line that is up.
    async fn line(&mut self) -> io::Result<&mut (u64, Outgoing)> {
        let status = self.shared.status();
        let is_good = |line: &(u64, _)| status.is_up && status.number == line.0;
        if !self.line.as_ref().is_some_and(is_good) {
            self.line = None;
            if std::mem::take(&mut self.is_mid_line) {
                return Err(io::Error::new(
                    io::ErrorKind::BrokenPipe,
                    "the line was lost in the middle of a message",
                ));
            }
            let (number, tx) = self.shared.fetch(|slot, is_up| slot.tx.take_if(|_| is_up)).await?;
            self.line = Some((number, tx));
        }
        self.line.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// The far end takes no more bytes.
    fn lost(&mut self, number: u64, error: &io::Error) {
        log::debug!("link: nothing more can be written: {error}");
        self.shared.down(number);
        (self.line, self.is_mid_line) = (None, false);
    }
}

impl Write for Tx {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let (number, tx) = self.line().await?;
        let number = *number;
        let written = match tx.write(bytes).await {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            written => written,
        };
        match &written {
            Ok(count) => self.is_mid_line = bytes.get(count - 1) != Some(&b'\n'),
            Err(error) => self.lost(number, error),
        }
        written
    }

    async fn flush(&mut self) -> io::Result<()> {
        let Some((number, tx)) = &mut self.line else { return Ok(()) };
        let number = *number;
        let flushed = tx.flush().await;
        if let Err(error) = &flushed {
            self.lost(number, error);
        }
        flushed
    }
}
