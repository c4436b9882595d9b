//! What a command says on both of its outputs, as one stream of lines.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Sleep;

/// For the last words on stderr when stdout has ended: a child of the command may keep it open for ever.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Longest line of stderr that is passed on; the rest of it is not.
const LINE: usize = 500;

/// Lines of stderr that wait for the end of a line on stdout. What does not fit is not passed on: a command that
/// is not heard would wait, and we for it.
const WAITING: usize = 64 * 1024;

/// Stdout is asked first, but after so many times in a row stderr has its say.
const FAIR: u8 = 16;

/// The lines of stdout as they are, and between them those of stderr as `stderr: …`. Ends when stdout has ended and
/// stderr has had its last words; then reading it again gives the same end.
pub(super) struct Chatter<O, E> {
    stdout: Option<O>,
    stderr: Option<E>,
    /// A line of stderr that has not ended yet.
    unfinished: Vec<u8>,
    /// Whole lines that wait for their turn, from `said` on.
    waiting: Vec<u8>,
    said: usize,
    /// Stdout is in the middle of a line.
    is_mid_line: bool,
    /// How often stdout has had its say since stderr had.
    in_a_row: u8,
    last_words: Option<Pin<Box<Sleep>>>,
}

impl<O: AsyncRead + Unpin, E: AsyncRead + Unpin> Chatter<O, E> {
    pub(super) fn new(stdout: O, stderr: E) -> Self {
        Self {
            stdout: Some(stdout),
            stderr: Some(stderr),
            unfinished: Vec::new(),
            waiting: Vec::new(),
            said: 0,
            is_mid_line: false,
            in_a_row: 0,
            last_words: None,
        }
    }

    /// Reads what stderr has; ready when it has ended.
    fn poll_stderr(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut bytes = [0; 4096];
        while let Some(stderr) = &mut self.stderr {
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(stderr).poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                self.stderr = None;
                self.finish_line();
                break;
            }
            for byte in buffer.filled() {
                match byte {
                    b'\n' => self.finish_line(),
                    _ if self.unfinished.len() < LINE => self.unfinished.push(*byte),
                    _ => {}
                }
            }
            if self.has_words() {
                // They first: whoever floods stderr is not to fill the memory.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    }

    fn finish_line(&mut self) {
        let line = std::mem::take(&mut self.unfinished);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if text.is_empty() {
            return;
        }
        log::debug!("link: stderr: {text}");
        if self.waiting.len() + text.len() < WAITING {
            self.waiting.extend_from_slice(b"stderr: ");
            self.waiting.extend_from_slice(text.as_bytes());
            self.waiting.push(b'\n');
        }
    }

    /// Whether something of stderr's waits that can be said now.
    fn has_words(&self) -> bool {
        !self.is_mid_line && !self.waiting.is_empty()
    }

    /// Says what waits, as far as there is room.
    fn say(&mut self, buffer: &mut ReadBuf<'_>) {
        let rest = &self.waiting[self.said..];
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..count]);
        self.said += count;
        if self.said == self.waiting.len() {
            self.waiting.clear();
            self.said = 0;
            self.in_a_row = 0;
        }
    }

    /// Reads stdout: whether something came; false when it has ended.
    fn poll_stdout(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<bool>> {
        let Some(stdout) = &mut self.stdout else { return Poll::Ready(Ok(false)) };
        let before = buffer.filled().len();
        ready!(Pin::new(stdout).poll_read(context, buffer))?;
        self.in_a_row = self.in_a_row.saturating_add(1);
        match buffer.filled()[before..].last() {
            Some(last) => self.is_mid_line = *last != b'\n',
            None => {
                self.stdout = None;
                // Nothing continues what it broke off.
                if !std::mem::take(&mut self.is_mid_line) {
                    return Poll::Ready(Ok(false));
                }
                buffer.put_slice(b"\n");
            }
        }
        Poll::Ready(Ok(true))
    }
}

impl<O: AsyncRead + Unpin, E: AsyncRead + Unpin> AsyncRead for Chatter<O, E> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        // What has been begun is finished first.
        if this.said == 0
            && this.in_a_row < FAIR
            && let Poll::Ready(true) = this.poll_stdout(context, buffer)?
        {
            return Poll::Ready(Ok(()));
        }
        let stderr = this.poll_stderr(context);
        if this.has_words() {
            this.say(buffer);
            return Poll::Ready(Ok(()));
        }
        this.in_a_row = 0;
        if ready!(this.poll_stdout(context, buffer)?) {
            return Poll::Ready(Ok(()));
        }
        if stderr.is_pending() {
            let last_words = this.last_words.get_or_insert_with(|| Box::pin(tokio::time::sleep(LAST_WORDS)));
            ready!(last_words.as_mut().poll(context));
            this.stderr = None;
        }
        Poll::Ready(Ok(()))
    }
}
