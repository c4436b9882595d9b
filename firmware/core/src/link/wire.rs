//! Moves lines between the serial line, the client and the callers.

use embassy_futures::select::{Either3, select3};
use embassy_time::{Instant, Timer, with_timeout};
use embedded_io_async::{Read, Write};
use heapless::Vec;

use super::client::{Client, News, Reaction};
use super::line::{Line, Lines};
use super::port::Port;
use super::recent::Recent;
use super::report;
use super::rpc::{Message, Outgoing, call_pieces};
use super::status::Loss;
use crate::json::{Overflow, Value};
use crate::limits;
use crate::log::{debug, warn};
use crate::notice::Notices;
use crate::pending::{Id, Progress};
use crate::tool::Registry;

/// A program's error output, as a simulator that started the program hands it through.
const STDERR: &[u8] = b"stderr: ";

/// What is around the link.
pub struct Around<'a> {
    /// Where calls come from.
    pub port: &'a Port,
    /// Where the controller's tools are kept.
    pub registry: &'a Registry,
    /// Where people are told.
    pub notices: &'a Notices,
    /// What to check when the controller is not reached.
    pub hint: &'a str,
    /// Differs from one start to the next.
    pub seed: u64,
}

/// Keeps the link for ever. Whatever comes or does not come, it goes on.
pub async fn run<R: Read, W: Write>(rx: R, tx: W, around: &Around<'_>) -> ! {
    let mut wire = Wire {
        around,
        client: Client::new(around.seed),
        pen: Pen { tx, torn: false, own: [0; limits::LINE_OWN] },
        recent: Recent::new(),
        noise: 0,
        too_long: 0,
        is_missed: false,
    };
    let mut rx = rx;
    around.port.lines.lock().await.clear();
    loop {
        wire.send().await;
        match wire.listen(&mut rx).await {
            Heard::Nothing => {}
            Heard::Answers(ids) => {
                for id in ids {
                    around.port.answered(id).await;
                }
            }
            Heard::End(why) => {
                wire.lost(why);
                // The rest of a broken line belongs to nothing that comes later.
                around.port.lines.lock().await.clear();
                // Without a line there is nothing to read until the next attempt.
                Timer::at(wire.client.deadline()).await;
            }
        }
    }
}

/// What came over the line.
enum Heard {
    /// Nothing, or nothing that is left to do.
    Nothing,
    /// Answers to these calls, in the current line.
    Answers(Vec<Id, { limits::CALLS }>),
    /// That it is gone.
    End(Loss),
}

struct Wire<'a, W> {
    around: &'a Around<'a>,
    client: Client,
    pen: Pen<W>,
    recent: Recent,
    /// Lines that were not JSON-RPC, since the controller was last reached.
    noise: u32,
    /// Lines that were too long, since the controller was last reached.
    too_long: u32,
    /// People were told that the controller is gone.
    is_missed: bool,
}

impl<W: Write> Wire<'_, W> {
    /// Sends everything that is due, and tells what is new.
    async fn send(&mut self) {
        let Around { port, registry, .. } = *self.around;
        loop {
            let is_waiting = |call| matches!(call, Progress::Sending(_) | Progress::Sent(_));
            let busy = port.calls.find(is_waiting).is_some();
            let Some(message) = self.client.poll(Instant::now(), busy, registry) else { break };
            if let Err(why) = self.pen.write(message).await {
                return self.lost(why);
            }
            self.tell();
        }
        self.tell();
        while let Some(id) = port.calls.next_abandoned() {
            if let Err(why) = self.pen.write(Outgoing::Cancelled(id)).await {
                return self.lost(why);
            }
        }
        while let Some(call) = port.calls.queued().next() {
            let id = self.client.next_id();
            call.advance(Progress::Queued, Progress::Sending(id));
            let outbox = port.outbox().await;
            let written = self.pen.write_call(id, outbox.params(), self.client.is_stateless()).await;
            drop(outbox);
            match written {
                Ok(()) => call.advance(Progress::Sending(id), Progress::Sent(id)),
                Err(why) => return self.lost(why),
            }
        }
    }

    /// Waits for a line, for something to send, or for the client's next moment.
    async fn listen<R: Read>(&mut self, rx: &mut R) -> Heard {
        let Around { port, .. } = *self.around;
        let mut lines = port.lines.lock().await;
        let heard =
            select3(next_line(&mut lines, rx), Timer::at(self.client.deadline()), port.calls.due()).await;
        match heard {
            Either3::First(Ok(Line::Whole(line))) => self.read(line).await,
            Either3::First(Ok(Line::TooLong { length, is_json })) => {
                self.too_long = self.too_long.saturating_add(1);
                if self.too_long == 1 {
                    warn!(
                        "controller: a line of {} bytes, over the {} that fit, was skipped; others will be without a word",
                        length,
                        limits::LINE
                    );
                } else {
                    debug!("controller: {} lines were too long so far", self.too_long);
                }
                self.recent.add(b"(a line that is too long)");
                if is_json {
                    port.skipped(length);
                    self.client.noticed_long_line();
                }
                Heard::Nothing
            }
            Either3::First(Err(why)) => Heard::End(why),
            Either3::Second(()) | Either3::Third(()) => Heard::Nothing,
        }
    }

    /// Does what a line says.
    async fn read(&mut self, line: &[u8]) -> Heard {
        let mut answers = Vec::new();
        let mut is_message = false;
        if let Ok(value) = Value::parse(line) {
            for message in Message::all(value) {
                is_message = true;
                match self.client.receive(Instant::now(), message, self.around.registry) {
                    Reaction::Done => {}
                    Reaction::Reply(reply) => {
                        if let Err(why) = self.pen.write(reply).await {
                            self.lost(why);
                            break;
                        }
                    }
                    // There are as many places as calls.
                    Reaction::Answer(id) if self.around.port.calls.sent(id).is_some() => {
                        let _ = answers.push(id);
                    }
                    Reaction::Answer(id) => {
                        debug!("controller: an answer to request {}, which nobody waits for", id);
                    }
                }
            }
        }
        if !is_message {
            self.quote(line);
        }
        Heard::Answers(answers)
    }

    /// A line that is not for the hub.
    fn quote(&mut self, line: &[u8]) {
        let quote = self.recent.add(line);
        if line.starts_with(STDERR) {
            debug!("controller: {}", quote.as_str());
            return;
        }
        self.noise = self.noise.saturating_add(1);
        if self.noise <= limits::NOISE_WARNINGS {
            warn!("controller: ignored a line that is not JSON-RPC: {}", quote.as_str());
        } else {
            debug!("controller: ignored a line that is not JSON-RPC: {}", quote.as_str());
        }
        self.client.noticed_noise(Instant::now());
    }

    fn lost(&mut self, why: Loss) {
        self.client.lost(Instant::now(), why, self.around.registry);
        self.tell();
    }

    /// Makes known what has changed.
    fn tell(&mut self) {
        let Around { port, registry, notices, hint, .. } = *self.around;
        let controller = self.client.controller();
        port.status().update(self.client.state(), controller);
        if let Some(news) = self.client.take_news() {
            let controller = self.client.controller();
            report::tell(news, self.is_missed, controller, &self.recent, hint, registry, notices);
            match news {
                News::Ready { .. } => {
                    port.open();
                    self.noise = 0;
                    self.too_long = 0;
                    self.is_missed = false;
                    self.recent.clear();
                }
                News::Failed { why, .. } => port.close(why),
                News::Lost(why) | News::Degraded(why) => {
                    port.close(why);
                    self.is_missed = true;
                }
            }
        }
    }
}

/// The next line. Dropping the future loses nothing.
async fn next_line<'l, R: Read>(lines: &'l mut Lines, rx: &mut R) -> Result<Line<'l>, Loss> {
    loop {
        if lines.has_line() {
            break;
        }
        match rx.read(lines.room()).await {
            Ok(0) => return Err(Loss::Closed),
            Ok(count) => lines.commit(count),
            Err(_) => return Err(Loss::Unreadable),
        }
    }
    lines.next_line().ok_or(Loss::Closed)
}

/// Writes lines whole.
struct Pen<W> {
    tx: W,
    /// The last line was broken off: the next begins on a new one.
    torn: bool,
    own: [u8; limits::LINE_OWN],
}

impl<W: Write> Pen<W> {
    async fn write(&mut self, message: Outgoing<'_>) -> Result<(), Loss> {
        let Ok(length) = message.write(&mut self.own) else {
            warn!("controller: a message that does not fit was not sent");
            return Ok(());
        };
        let Self { tx, torn, own } = self;
        write_line(tx, torn, [own.get(..length).unwrap_or_default(), b"\n"]).await
    }

    async fn write_call(&mut self, id: Id, params: &[u8], stateless: bool) -> Result<(), Loss> {
        let Self { tx, torn, own } = self;
        match call_pieces(id, params, stateless, own) {
            Ok(pieces) => write_line(tx, torn, pieces).await,
            // The head of a call is far shorter than the room for it.
            Err(Overflow) => Err(Loss::Stalled),
        }
    }
}

/// Writes a line in pieces, the last of which ends it.
async fn write_line<W: Write, const N: usize>(
    tx: &mut W,
    torn: &mut bool,
    pieces: [&[u8]; N],
) -> Result<(), Loss> {
    let was_torn = core::mem::replace(torn, true);
    let written = with_timeout(limits::LINE_TIMEOUT, async {
        if was_torn {
            tx.write_all(b"\n").await?;
        }
        for piece in pieces {
            tx.write_all(piece).await?;
        }
        tx.flush().await
    });
    match written.await {
        Ok(Ok(())) => {
            *torn = false;
            Ok(())
        }
        Ok(Err(_)) => Err(Loss::Unwritable),
        Err(_) => Err(Loss::Stalled),
    }
}
