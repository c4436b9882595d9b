//! Moves messages between the serial line, the client and the callers.

use core::fmt::Display;
use core::future::pending;
use core::pin::pin;

use embassy_futures::select::{Either3, select, select3};
use embassy_time::{Instant, Timer, with_timeout};
use embedded_io_async::{Read, Write};
use heapless::Vec;

use super::client::{McpClient, News, Reaction};
use super::controller::{LinkState, Loss, ResourceNews, Retries};
use super::line::{Lines, Message, Piece};
use super::log_report::{LastNotice, Recent, report};
use super::port::Port;
use super::rpc::{self, Incoming, Method, Outgoing, call_pieces};
use crate::json::{ItemOf, Overflow};
use crate::limits;
use crate::log::{debug, warn};
use crate::notice::Notices;
use crate::pending::{Id, Progress};
use crate::tool::Registry;

/// A program's error output, as a simulator that started the program hands it through.
const STDERR: &[u8] = b"stderr: ";

/// What the link uses of the hub.
pub struct LinkContext<'a> {
    /// Where calls come from.
    pub port: &'a Port,
    /// Where the controller's tools are kept.
    pub registry: &'a Registry,
    /// Where notices for people go.
    pub notices: &'a Notices,
    /// Is told of the controller's resources.
    pub watch: &'a dyn Fn(ResourceNews<'_>),
    /// What people should check when the controller is not reached.
    pub hint: &'a dyn Display,
    /// When the controller is tried again.
    pub retries: Retries,
    /// Differs from one start to the next.
    pub seed: u64,
}

/// Runs the link for ever, whatever the line does. It reads while it writes: a controller may talk before it listens.
pub async fn run<R: Read, W: Write>(mut rx: R, mut tx: W, context: &LinkContext<'_>) -> ! {
    let LinkContext { port, registry, retries, seed, .. } = *context;
    registry.await_controller();
    let mut wire = Wire {
        context,
        client: McpClient::new(seed, retries),
        replies: Replies { text: [0; _], length: 0 },
        is_reply_next: false,
        recent: Recent::new(),
        noise: 0,
        last_notice: LastNotice::Connected,
    };
    let mut own = [0; limits::LINE_OWN];
    let mut is_torn = false;
    port.lines.lock().await.clear();
    loop {
        let next = wire.next_line(&mut own);
        let mut writing = pin!(async {
            match next {
                Some(Line::Own(length)) => {
                    let text = own.get(..length).unwrap_or_default();
                    write_line(&mut tx, &mut is_torn, [text, b"", b"", b"\n"]).await
                }
                Some(Line::Call { id, method, stateless }) => {
                    let outbox = port.outbox().await;
                    // The head of a call is far shorter than the buffer.
                    let pieces = call_pieces(id, method, outbox.params(), stateless, &mut own);
                    let pieces = pieces.map_err(|_| Loss::Stalled)?;
                    write_line(&mut tx, &mut is_torn, pieces).await
                }
                None => pending().await,
            }
        });
        loop {
            let due = due(port, wire.deadline(), next.is_some());
            match select3(writing.as_mut(), wire.receive(&mut rx), due).await {
                Either3::First(Ok(())) => {
                    if let Some(Line::Call { id, .. }) = next {
                        port.sent(id);
                    }
                    break;
                }
                Either3::First(Err(why)) => break wire.lost(why),
                Either3::Second(LineEvent::Answers(ids)) => {
                    for id in ids {
                        port.answered(id).await;
                    }
                    wire.report();
                    if next.is_none() {
                        break;
                    }
                }
                Either3::Second(LineEvent::End(why)) => {
                    wire.lost(why);
                    // What comes later is not the rest of a broken line.
                    port.lines.lock().await.clear();
                    // Without a line there is nothing to read until the next attempt.
                    Timer::at(wire.client.deadline()).await;
                    break;
                }
                Either3::Third(()) => break,
            }
        }
    }
}

/// Waits until an idle wire may have something to send: until `deadline`, if there is one, or for a call.
async fn due(port: &Port, deadline: Option<Instant>, is_sending: bool) {
    let timer = async {
        match deadline {
            Some(deadline) => Timer::at(deadline).await,
            None => port.erase_interlock().released().await,
        }
    };
    if is_sending {
        pending().await
    }
    select(timer, port.calls.due()).await;
}

/// A line to send.
#[derive(Clone, Copy)]
enum Line {
    /// Of this length, in the wire's own buffer.
    Own(usize),
    /// A call, whose parameters are in the outbox.
    Call { id: Id, method: Method, stateless: bool },
}

/// What is left to do about what came over the line.
enum LineEvent {
    /// The current line answers these calls.
    Answers(Vec<Id, { limits::CALLS }>),
    /// The line is gone.
    End(Loss),
}

/// Answers to the controller's own requests that wait to be sent: lines, without the end of the last.
struct Replies {
    text: [u8; limits::LINE_REPLIES],
    length: usize,
}

impl Replies {
    /// Adds an answer. Without room for it, the controller goes without: waiting for room would be waiting for it to
    /// read, while it may wait for the hub to do so.
    fn add(&mut self, reply: Outgoing<'_>) -> Result<(), Overflow> {
        let start = if self.length > 0 { self.length.saturating_add(1) } else { 0 };
        let length = reply.write(self.text.get_mut(start..).unwrap_or_default())?;
        if let Some(end) = start.checked_sub(1).and_then(|end| self.text.get_mut(end)) {
            *end = b'\n';
        }
        self.length = start.saturating_add(length);
        Ok(())
    }

    /// Moves all of them into `own`, if there are any.
    fn take(&mut self, own: &mut [u8]) -> Option<Line> {
        let length = core::mem::take(&mut self.length);
        own.get_mut(..length)?.copy_from_slice(self.text.get(..length)?);
        (length > 0).then_some(Line::Own(length))
    }
}

struct Wire<'a> {
    context: &'a LinkContext<'a>,
    client: McpClient,
    replies: Replies,
    is_reply_next: bool,
    recent: Recent,
    /// Lines that were not JSON-RPC, since the controller was last reached.
    noise: u32,
    last_notice: LastNotice,
}

impl Wire<'_> {
    /// What to send next. Replies and the rest take turns: a controller that asks without end stops no call.
    fn next_line(&mut self, own: &mut [u8]) -> Option<Line> {
        for _ in 0..2 {
            self.is_reply_next = !self.is_reply_next;
            let next = if self.is_reply_next { self.replies.take(own) } else { self.next_message(own) };
            if next.is_some() {
                return next;
            }
        }
        None
    }

    fn next_message(&mut self, own: &mut [u8]) -> Option<Line> {
        let LinkContext { port, registry, .. } = *self.context;
        let may_ask = !port.erase_interlock().is_held();
        let mut next = None;
        if may_ask || self.client.expects_answer() {
            while let Some(message) = self.client.poll(Instant::now(), port.is_busy(), registry) {
                next = message.write(own).ok().map(Line::Own);
                if next.is_some() {
                    break;
                }
                warn!("controller: a message is too long and was not sent");
            }
        }
        self.report();
        let cancelled = || {
            let id = port.calls.next_abandoned()?;
            Outgoing::Cancelled(id).write(own).ok().map(Line::Own)
        };
        next = next.or_else(cancelled);
        if next.is_none()
            && may_ask
            && let Some(call) = port.calls.queued().next()
        {
            let id = self.client.next_id();
            call.advance(Progress::Queued, Progress::Sending(id));
            let (method, stateless) = (call.data.get(), self.client.is_stateless());
            next = Some(Line::Call { id, method, stateless });
        }
        self.mind_gate();
        next
    }

    /// When the client has something to do. Not while an erase holds it back.
    fn deadline(&self) -> Option<Instant> {
        let may_act = self.client.expects_answer() || !self.context.port.erase_interlock().is_held();
        may_act.then(|| self.client.deadline())
    }

    /// Tells the gate whether an answer is expected.
    fn mind_gate(&self) {
        let port = self.context.port;
        port.erase_interlock().set_busy(self.client.expects_answer() || port.is_busy());
    }

    /// Waits for a line. Dropping the future loses nothing.
    async fn receive<R: Read>(&mut self, rx: &mut R) -> LineEvent {
        let mut lines = self.context.port.lines.lock().await;
        match next_piece(&mut lines, rx).await {
            Ok(Piece::Item(of)) => {
                let item = lines.current();
                let value = item.value().ok();
                let LinkContext { registry, watch, .. } = *self.context;
                match (of, value) {
                    (ItemOf::Tools, tool) => {
                        self.client.listed_tool(Instant::now(), tool, item.is_cut, registry);
                    }
                    (ItemOf::Resources, Some(resource)) => watch(ResourceNews::Listed(resource)),
                    (ItemOf::Resources, None) => watch(ResourceNews::ListedUnread),
                }
                LineEvent::Answers(Vec::new())
            }
            Ok(Piece::Line) => LineEvent::Answers(self.read(lines.current())),
            Err(why) => LineEvent::End(why),
        }
    }

    /// Handles the messages in a line. Returns the calls that it answers.
    fn read(&mut self, line: Message<'_>) -> Vec<Id, { limits::CALLS }> {
        let LinkContext { port, registry, .. } = *self.context;
        let mut answers = Vec::new();
        let Ok(value) = line.value() else {
            // Nobody should wait for an answer that has come, even if it cannot be read.
            answers.extend(rpc::broken_answer(line.text).filter(|id| port.expects(*id)));
            self.log_noise(line.text);
            return answers;
        };
        if line.is_cut {
            debug!("controller: a line of {} bytes was cut to {}", line.length, line.text.len());
        }
        let mut is_message = false;
        for message in Incoming::all(value) {
            is_message = true;
            if let Incoming::Error { error, .. } = &message
                && self.client.state() != LinkState::Ready
            {
                // The notice about an unreachable controller quotes this error.
                self.recent.add(error.words().as_bytes());
            }
            match self.client.receive(Instant::now(), message, registry) {
                Reaction::Done => {}
                Reaction::Watch(news) => (self.context.watch)(news),
                Reaction::Reply(reply) => {
                    if self.replies.add(reply).is_err() {
                        debug!("controller: it asks more than it reads; a request was not answered");
                        port.count(|counts| counts.unanswered = counts.unanswered.saturating_add(1));
                    }
                }
                // There is room for as many as there are calls.
                Reaction::Answer(id) if port.expects(id) => {
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
        answers
    }

    /// Logs a line that is not JSON-RPC.
    fn log_noise(&mut self, line: &[u8]) {
        let quote = self.recent.add(line);
        if line.starts_with(STDERR) {
            debug!("controller: {}", quote.as_str());
            return;
        }
        self.noise = self.noise.saturating_add(1);
        let port = self.context.port;
        port.count(|counts| counts.lines_ignored = counts.lines_ignored.saturating_add(1));
        if self.noise <= limits::NOISE_WARNINGS {
            warn!("controller: ignored a line that is not JSON-RPC: {}", quote.as_str());
        } else {
            if self.noise == limits::NOISE_WARNINGS + 1 {
                warn!("controller: further lines that are not JSON-RPC are only counted");
            }
            debug!("controller: ignored a line that is not JSON-RPC: {}", quote.as_str());
        }
        self.client.noticed_noise(Instant::now());
    }

    fn lost(&mut self, why: Loss) {
        self.client.lost(Instant::now(), why, self.context.registry);
        self.replies.length = 0;
        self.report();
        self.mind_gate();
    }

    /// Publishes the state of the link and reports news, if there are any.
    fn report(&mut self) {
        let Self { context, client, recent, .. } = self;
        let port = context.port;
        port.status().update(client.state(), client.controller());
        context.registry.set_outdated(client.has_outdated_tools());
        if let Some(news) = client.take_news() {
            self.last_notice = report(news, self.last_notice, client.controller(), recent, context);
            if let News::Lost { .. } = news {
                port.count(|counts| counts.losses = counts.losses.saturating_add(1));
            }
            match news {
                News::Ready { .. } => {
                    port.open();
                    (context.watch)(ResourceNews::Opened(client.controller().offer));
                    self.noise = 0;
                    self.recent.clear();
                }
                News::Holds { .. } => {}
                News::Failed { why, .. } | News::Lost { why, .. } | News::Degraded(why) => {
                    port.close(why);
                    (context.watch)(ResourceNews::Closed);
                }
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

/// Writes a line in pieces, the last of which ends it. If it is broken off after its first byte, an end of line goes before
/// the next one.
async fn write_line<W: Write>(tx: &mut W, is_torn: &mut bool, pieces: [&[u8]; 4]) -> Result<(), Loss> {
    let written = with_timeout(limits::LINE_TIMEOUT, async {
        let end: &[u8] = if *is_torn { b"\n" } else { b"" };
        for piece in [end].into_iter().chain(pieces) {
            let mut rest = piece;
            // Not by `write_all`: how far it came is not known if it is dropped.
            while !rest.is_empty() {
                let count = tx.write(rest).await?;
                if count == 0 {
                    return Ok(false);
                }
                *is_torn = true;
                rest = rest.get(count..).unwrap_or_default();
            }
        }
        *is_torn = false;
        tx.flush().await.map(|()| true)
    });
    match written.await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false) | Err(_)) => Err(Loss::Unwritable),
        Err(_) => Err(Loss::Stalled),
    }
}
