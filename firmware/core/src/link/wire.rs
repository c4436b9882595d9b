//! Moves messages between the serial line, the client and the callers.

use embassy_futures::select::{Either3, select3};
use embassy_time::{Instant, Timer, with_timeout};
use embedded_io_async::{Read, Write};
use heapless::Vec;

use super::client::{Client, News, Reaction};
use super::line::{Lines, Message, Piece};
use super::port::Port;
use super::report::{LastNotice, Recent, report};
use super::retries::Retries;
use super::rpc::{self, Incoming, Outgoing, call_pieces};
use super::status::Loss;
use crate::json::Overflow;
use crate::limits;
use crate::log::{debug, warn};
use crate::notice::Notices;
use crate::pending::{Id, Progress};
use crate::tool::Registry;

/// A program's error output, as a simulator that started the program hands it through.
const STDERR: &[u8] = b"stderr: ";

/// What the link uses of the hub.
pub struct Resources<'a> {
    /// Where calls come from.
    pub port: &'a Port,
    /// Where the controller's tools are kept.
    pub registry: &'a Registry,
    /// Where notices for people go.
    pub notices: &'a Notices,
    /// What people should check when the controller is not reached.
    pub hint: &'a str,
    /// When the controller is tried again.
    pub retries: Retries,
    /// Differs from one start to the next.
    pub seed: u64,
}

/// Runs the link for ever, whatever the line does.
pub async fn run<R: Read, W: Write>(mut rx: R, tx: W, resources: &Resources<'_>) -> ! {
    let Resources { port, retries, seed, .. } = *resources;
    let mut wire = Wire {
        resources,
        client: Client::new(seed, retries),
        writer: LineWriter { tx, torn: false, own: [0; limits::LINE_OWN] },
        recent: Recent::new(),
        noise: 0,
        last_notice: LastNotice::Connected,
    };
    port.lines.lock().await.clear();
    loop {
        wire.send().await;
        match wire.receive(&mut rx).await {
            LineEvent::Nothing => {}
            LineEvent::Answers(ids) => {
                for id in ids {
                    port.answered(id).await;
                }
            }
            LineEvent::End(why) => {
                wire.lost(why);
                // What comes later is not the rest of a broken line.
                port.lines.lock().await.clear();
                // Without a line there is nothing to read until the next attempt.
                Timer::at(wire.client.deadline()).await;
            }
        }
    }
}

/// What is left to do about what came over the line.
enum LineEvent {
    Nothing,
    /// The current line answers these calls.
    Answers(Vec<Id, { limits::CALLS }>),
    /// The line is gone.
    End(Loss),
}

struct Wire<'a, W> {
    resources: &'a Resources<'a>,
    client: Client,
    writer: LineWriter<W>,
    recent: Recent,
    /// Lines that were not JSON-RPC, since the controller was last reached.
    noise: u32,
    last_notice: LastNotice,
}

impl<W: Write> Wire<'_, W> {
    /// Sends everything that is due, and reports what is new.
    async fn send(&mut self) {
        let Resources { port, registry, .. } = *self.resources;
        loop {
            let is_waiting = |call| matches!(call, Progress::Sending(_) | Progress::Sent(_));
            let busy = port.calls.find(is_waiting).is_some();
            let Some(message) = self.client.poll(Instant::now(), busy, registry) else { break };
            if let Err(why) = self.writer.write(message).await {
                return self.lost(why);
            }
            self.report();
        }
        self.report();
        while let Some(id) = port.calls.next_abandoned() {
            if let Err(why) = self.writer.write(Outgoing::Cancelled(id)).await {
                return self.lost(why);
            }
        }
        while let Some(call) = port.calls.queued().next() {
            let id = self.client.next_id();
            call.advance(Progress::Queued, Progress::Sending(id));
            let outbox = port.outbox().await;
            let written = self.writer.write_call(id, outbox.params(), self.client.is_stateless()).await;
            drop(outbox);
            match written {
                Ok(()) => call.advance(Progress::Sending(id), Progress::Sent(id)),
                Err(why) => return self.lost(why),
            }
        }
    }

    /// Waits for a line, for something to send, or for the client's deadline.
    async fn receive<R: Read>(&mut self, rx: &mut R) -> LineEvent {
        let Resources { port, .. } = *self.resources;
        let mut lines = port.lines.lock().await;
        let received =
            select3(next_piece(&mut lines, rx), Timer::at(self.client.deadline()), port.calls.due()).await;
        match received {
            Either3::First(Ok(Piece::Tool)) => {
                let tool = lines.current();
                let value = tool.value().ok();
                self.client.listed_tool(Instant::now(), value, tool.is_cut, self.resources.registry);
                LineEvent::Nothing
            }
            Either3::First(Ok(Piece::Line)) => self.read(lines.current()).await,
            Either3::First(Err(why)) => LineEvent::End(why),
            Either3::Second(()) | Either3::Third(()) => LineEvent::Nothing,
        }
    }

    /// Handles the messages in a line.
    async fn read(&mut self, line: Message<'_>) -> LineEvent {
        let Resources { port, registry, .. } = *self.resources;
        let mut answers = Vec::new();
        let Ok(value) = line.value() else {
            // Nobody should wait for an answer that has come, even if it cannot be read.
            let answer = rpc::broken_answer(line.text).filter(|id| port.calls.sent(*id).is_some());
            answers.extend(answer);
            self.log_noise(line.text);
            return LineEvent::Answers(answers);
        };
        if line.is_cut {
            debug!("controller: a line of {} bytes was cut to {}", line.length, line.text.len());
        }
        let mut is_message = false;
        for message in Incoming::all(value) {
            is_message = true;
            match self.client.receive(Instant::now(), message, registry) {
                Reaction::Done => {}
                Reaction::Reply(reply) => {
                    if let Err(why) = self.writer.write(reply).await {
                        self.lost(why);
                        break;
                    }
                }
                // There is room for as many as there are calls.
                Reaction::Answer(id) if port.calls.sent(id).is_some() => {
                    let _ = answers.push(id);
                }
                Reaction::Answer(id) => {
                    debug!("controller: an answer to request {}, which nobody waits for", id);
                }
            }
        }
        if !is_message {
            self.log_noise(line.text);
        }
        LineEvent::Answers(answers)
    }

    /// Logs a line that is not JSON-RPC.
    fn log_noise(&mut self, line: &[u8]) {
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
        self.client.lost(Instant::now(), why, self.resources.registry);
        self.report();
    }

    /// Publishes the state of the link and reports news, if there are any.
    fn report(&mut self) {
        let Self { resources, client, recent, .. } = self;
        let port = resources.port;
        port.status().update(client.state(), client.controller());
        if let Some(news) = client.take_news() {
            self.last_notice = report(news, self.last_notice, client.controller(), recent, resources);
            match news {
                News::Ready { .. } => {
                    port.open();
                    self.noise = 0;
                    self.recent.clear();
                }
                News::Holds { .. } => {}
                News::Failed { why, .. } | News::Lost { why, .. } | News::Degraded(why) => port.close(why),
            }
        }
    }
}

/// What comes next. Dropping the future loses nothing.
async fn next_piece<R: Read>(lines: &mut Lines, rx: &mut R) -> Result<Piece, Loss> {
    loop {
        if let Some(piece) = lines.advance() {
            return Ok(piece);
        }
        match rx.read(lines.room()).await {
            Ok(0) => return Err(Loss::Closed),
            Ok(count) => lines.commit(count),
            Err(_) => return Err(Loss::Unreadable),
        }
    }
}

/// Writes whole lines.
struct LineWriter<W> {
    tx: W,
    /// The last line was broken off: an end of line goes before the next.
    torn: bool,
    /// For the client's messages, and for what precedes the parameters of a call.
    own: [u8; limits::LINE_OWN],
}

impl<W: Write> LineWriter<W> {
    async fn write(&mut self, message: Outgoing<'_>) -> Result<(), Loss> {
        let Ok(length) = message.write(&mut self.own) else {
            warn!("controller: a message is too long and was not sent");
            return Ok(());
        };
        let Self { tx, torn, own } = self;
        write_line(tx, torn, [own.get(..length).unwrap_or_default(), b"\n"]).await
    }

    async fn write_call(&mut self, id: Id, params: &[u8], stateless: bool) -> Result<(), Loss> {
        let Self { tx, torn, own } = self;
        match call_pieces(id, params, stateless, own) {
            Ok(pieces) => write_line(tx, torn, pieces).await,
            // Cannot happen: the head of a call is far shorter.
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
