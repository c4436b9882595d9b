//! The two halves of the line.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use embedded_io_async::{ErrorType, Read, Write};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use super::child::Keeper;
use super::far::{Far, Incoming, Line, Outgoing};
use super::spec::Spec;
use crate::zwave::Home;

/// A line that held this long was good: if it is lost, that is worth a word even if the same has been said before.
const SETTLED: Duration = Duration::from_secs(10);

/// The two halves of a line to what `spec` says; `sim` is a new home. Nothing is opened before they are used.
///
/// Use them in a tokio runtime. Dropping both closes the line; a command is ended with all that it started.
pub fn open(spec: &Spec) -> (Rx, Tx) {
    halves(spec.into())
}

/// The two halves of a line to a simulated home in this process. Its [`faults`](Home::faults) are those of the line,
/// which can be [unplugged](crate::zwave::Faults::unplug) and plugged in again.
pub fn to_home(home: &Home) -> (Rx, Tx) {
    halves(Far::Home(home.clone()))
}

fn halves(far: Far) -> (Rx, Tx) {
    let slot = Slot { rx: None, tx: None, keeper: None, complaint: None, opened: None };
    let shared = Shared { far, slot: Mutex::new(slot), standing: watch::Sender::new(Standing::default()) };
    let shared = Arc::new(shared);
    let changes = shared.standing.subscribe();
    let rx = Rx { shared: shared.clone(), changes, line: None, is_mid_line: false };
    (rx, Tx { shared, line: None, is_mid_line: false })
}

/// How the line stands, for both halves to see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Standing {
    /// Counts the times that it was opened.
    number: u64,
    is_up: bool,
}

#[derive(Debug)]
struct Shared {
    far: Far,
    slot: Mutex<Slot>,
    standing: watch::Sender<Standing>,
}

/// What belongs to the line that was opened last.
struct Slot {
    /// Until it is fetched.
    rx: Option<Incoming>,
    /// Until it is fetched.
    tx: Option<Outgoing>,
    keeper: Option<Keeper>,
    /// What was said last about what is wrong.
    complaint: Option<String>,
    opened: Option<Instant>,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot").field("keeper", &self.keeper).finish_non_exhaustive()
    }
}

impl Shared {
    fn standing(&self) -> Standing {
        *self.standing.borrow()
    }

    /// One half of the line, which `take` finds in the slot if it is up, or not; opens a line if it finds none. Also
    /// its number.
    async fn fetch<T>(&self, take: impl Fn(&mut Slot, bool) -> Option<T>) -> io::Result<(u64, T)> {
        let mut slot = self.slot.lock().await;
        let Standing { number, is_up } = self.standing();
        if let Some(half) = take(&mut slot, is_up) {
            return Ok((number, half));
        }
        // What is left of the one before goes first: it may hold what the next one needs.
        (slot.rx, slot.tx, slot.keeper) = (None, None, None);
        match self.far.open().await {
            Ok(Line { rx, tx, keeper }) => {
                (slot.rx, slot.tx, slot.keeper) = (Some(rx), Some(tx), keeper);
                slot.opened = Some(Instant::now());
                let number = number + 1;
                self.standing.send_replace(Standing { number, is_up: true });
                log::debug!("link: the line is open");
                take(&mut slot, true)
                    .map(|half| (number, half))
                    .ok_or_else(|| io::ErrorKind::NotConnected.into())
            }
            Err(error) => {
                slot.complain(error.to_string());
                Err(error)
            }
        }
    }

    /// The line is no longer good; the halves will open another.
    fn down(&self, number: u64) {
        self.standing.send_if_modified(|standing| {
            let is_news = standing.number == number && standing.is_up;
            standing.is_up &= !is_news;
            is_news
        });
    }

    /// The line has ended, or broke. Says so, once.
    async fn ended(&self, number: u64, error: Option<&io::Error>) {
        let mut slot = self.slot.lock().await;
        if self.standing().number != number {
            return;
        }
        let status = match &mut slot.keeper {
            Some(keeper) => keeper.status().await,
            None => None,
        };
        slot.complain(self.far.loss(error, status));
        slot.keeper = None;
        self.down(number);
    }
}

impl Slot {
    /// A warning, unless it is the same as the one before.
    fn complain(&mut self, words: String) {
        let was_good = self.opened.take().is_some_and(|opened| opened.elapsed() >= SETTLED);
        if !was_good && self.complaint.as_ref() == Some(&words) {
            log::debug!("link: {words}");
        } else {
            log::warn!("link: {words}");
            self.complaint = Some(words);
        }
    }
}

/// What comes from the far end.
///
/// A read that is dropped loses nothing. The end of the line is an end of file or an error, once; the read after that opens the
/// far end again, or is an error that says why it cannot.
#[derive(Debug)]
pub struct Rx {
    shared: Arc<Shared>,
    changes: watch::Receiver<Standing>,
    line: Option<(u64, Opaque<Incoming>)>,
    /// What came last was not the end of a line of text.
    is_mid_line: bool,
}

/// What goes to the far end.
///
/// A write that is dropped has written nothing. An error says why the far end is not there; the write after that opens
/// it again. What is begun on one line of bytes is not continued on the next: it is an error first.
#[derive(Debug)]
pub struct Tx {
    shared: Arc<Shared>,
    line: Option<(u64, Opaque<Outgoing>)>,
    /// What went last was not the end of a line of text.
    is_mid_line: bool,
}

impl ErrorType for Rx {
    type Error = io::Error;
}

impl ErrorType for Tx {
    type Error = io::Error;
}

impl Read for Rx {
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let number = self.changes.borrow_and_update().number;
            if self.line.as_ref().is_none_or(|(ours, _)| *ours != number) {
                // Also one that is no longer good: what it still has to say may say why.
                let (number, rx) = self.shared.fetch(|slot, _| slot.rx.take()).await?;
                self.line = Some((number, Opaque(rx)));
                if std::mem::take(&mut self.is_mid_line) {
                    // What the line before broke off is not continued by this one.
                    buffer[0] = b'\n';
                    return Ok(1);
                }
            }
            let Some((number, rx)) = &mut self.line else { continue };
            let number = *number;
            let read = tokio::select! {
                biased;
                // The other half may have opened another line.
                _ = self.changes.wait_for(|standing| standing.number != number) => continue,
                read = rx.0.read(buffer) => read,
            };
            match &read {
                Ok(count @ 1..) => self.is_mid_line = buffer.get(count - 1) != Some(&b'\n'),
                end => {
                    self.shared.ended(number, end.as_ref().err()).await;
                    // The reader is told of the end, and breaks its line off itself.
                    (self.line, self.is_mid_line) = (None, false);
                }
            }
            return read;
        }
    }
}

impl Tx {
    /// The half that is good now.
    async fn line(&mut self) -> io::Result<&mut (u64, Opaque<Outgoing>)> {
        let standing = self.shared.standing();
        let is_good = |line: &(u64, _)| standing.is_up && standing.number == line.0;
        if !self.line.as_ref().is_some_and(is_good) {
            self.line = None;
            if std::mem::take(&mut self.is_mid_line) {
                return Err(io::Error::new(
                    io::ErrorKind::BrokenPipe,
                    "the line was lost in the middle of a message",
                ));
            }
            let (number, tx) = self.shared.fetch(|slot, is_up| slot.tx.take_if(|_| is_up)).await?;
            self.line = Some((number, Opaque(tx)));
        }
        self.line.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// The far end does not take anything any more.
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
        let written = match tx.0.write(bytes).await {
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
        let flushed = tx.0.flush().await;
        if let Err(error) = &flushed {
            self.lost(number, error);
        }
        flushed
    }
}

/// Something that has nothing to show of itself.
struct Opaque<T>(T);

impl<T> std::fmt::Debug for Opaque<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}
