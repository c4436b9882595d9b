//! Moves lines between the serial line and the client.

use embassy_futures::select::{Either, select};
use embassy_time::{Instant, Timer, with_timeout};
use embedded_io_async::{Read, Write};

use super::{Client, Line, Lines, Loss, Message, Outgoing, Status};
use crate::json::{Overflow, Value};
use crate::limits;
use crate::log::{debug, warn};

/// The buffers of one link.
#[derive(Debug)]
pub struct Memory {
    lines: Lines,
    out: [u8; limits::LINE_OUT],
}

impl Memory {
    /// Empty.
    pub const fn new() -> Self {
        Self { lines: Lines::new(), out: [0; limits::LINE_OUT] }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// Keeps the link for ever, and `status` up to date. Whatever comes or does not come, it goes on.
pub async fn run<R: Read, W: Write>(memory: &mut Memory, mut rx: R, tx: W, status: &Status) -> ! {
    let Memory { lines, out } = memory;
    let mut client = Client::new();
    let mut pen = Pen { tx, torn: false };
    lines.clear();
    loop {
        while let Some(message) = client.poll(Instant::now()) {
            if let Err(why) = pen.write(out, message).await {
                client.lost(Instant::now(), why);
            }
        }
        status.update(client.state(), client.controller());

        match select(next_line(lines, &mut rx), Timer::at(client.deadline())).await {
            Either::First(Ok(Line::Whole(line))) => {
                let answer = read(line).and_then(|message| client.receive(Instant::now(), message));
                if let Some(answer) = answer
                    && let Err(why) = pen.write(out, answer).await
                {
                    client.lost(Instant::now(), why);
                }
            }
            Either::First(Ok(Line::TooLong(length))) => {
                warn!(
                    "controller: a line of {} bytes, over the {} that fit, was skipped",
                    length,
                    limits::LINE
                );
            }
            Either::First(Err(why)) => {
                client.lost(Instant::now(), why);
                // The rest of a broken line belongs to nothing that comes later.
                lines.clear();
                // Without a line there is nothing to read until the next attempt.
                Timer::at(client.deadline()).await;
            }
            Either::Second(()) => {}
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

/// What a line says, if it says anything to us.
fn read(line: &[u8]) -> Option<Message<'_>> {
    let message = match Value::parse(line) {
        Ok(value) => Message::read(value),
        Err(error) => {
            debug!("controller: byte {} of the next line is wrong", error.at);
            None
        }
    };
    if message.is_none() {
        warn!("controller: ignored a line that is not JSON-RPC: {}", quote(line).as_str());
    }
    message
}

/// The beginning of a line, fit to be shown.
fn quote(line: &[u8]) -> heapless::String<{ limits::QUOTE }> {
    let mut quote = heapless::String::new();
    let printable = line.utf8_chunks().flat_map(|chunk| {
        let broken = if chunk.invalid().is_empty() { None } else { Some(char::REPLACEMENT_CHARACTER) };
        chunk.valid().chars().map(|c| if c.is_control() { ' ' } else { c }).chain(broken)
    });
    for character in printable {
        if quote.push(character).is_err() {
            break;
        }
    }
    quote
}

/// Writes lines whole.
struct Pen<W> {
    tx: W,
    /// The last line was broken off: the next begins on a new one.
    torn: bool,
}

impl<W: Write> Pen<W> {
    async fn write(&mut self, out: &mut [u8], message: Outgoing<'_>) -> Result<(), Loss> {
        // One byte is kept for the end of the line.
        let room = out.len().saturating_sub(1);
        let length = match message.write(out.get_mut(..room).unwrap_or_default()) {
            Ok(length) => length,
            Err(Overflow) => {
                warn!("controller: a message that does not fit was not sent");
                return Ok(());
            }
        };
        let line = out.get_mut(..=length).unwrap_or_default();
        if let Some(end) = line.last_mut() {
            *end = b'\n';
        }
        let torn = core::mem::replace(&mut self.torn, true);
        let written = with_timeout(limits::LINE_TIMEOUT, async {
            if torn {
                self.tx.write_all(b"\n").await?;
            }
            self.tx.write_all(line).await?;
            self.tx.flush().await
        });
        match written.await {
            Ok(Ok(())) => {
                self.torn = false;
                Ok(())
            }
            Ok(Err(_)) => Err(Loss::Unwritable),
            Err(_) => Err(Loss::Stalled),
        }
    }
}
