//! Stdout and stderr of a command, as one stream of lines.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Sleep;

/// For the last lines of stderr when stdout has ended: a child of the command may keep it open for ever.
const LAST_LINES: Duration = Duration::from_millis(300);

/// Longest line of stderr that is passed on; the rest of it is not.
const LINE: usize = 500;

/// Bytes of stderr that wait for the end of a line on stdout. What does not fit is not passed on: a command whose stderr
/// is not read would block, and the hub with it.
const WAITING: usize = 64 * 1024;

/// Stdout is read first, but after so many reads in a row stderr has its turn.
const FAIR: u8 = 16;

/// The lines of stdout as they are, and between them those of stderr as `stderr: …`. Ends when stdout has ended and the
/// last lines of stderr are read; reading it again gives the same end.
pub(super) struct ChildOutput<O, E> {
    stdout: Option<O>,
    stderr: Option<E>,
    /// A line of stderr that has not ended yet.
    unfinished: Vec<u8>,
    /// Whole lines of stderr that wait for their turn, from `written` on.
    waiting: Vec<u8>,
    written: usize,
    /// Whether stdout is in the middle of a line.
    is_mid_line: bool,
    /// Reads of stdout since stderr had its turn.
    in_a_row: u8,
    last_lines: Option<Pin<Box<Sleep>>>,
}

impl<O: AsyncRead + Unpin, E: AsyncRead + Unpin> ChildOutput<O, E> {
    pub(super) fn new(stdout: O, stderr: E) -> Self {
        Self {
            stdout: Some(stdout),
            stderr: Some(stderr),
            unfinished: Vec::new(),
            waiting: Vec::new(),
            written: 0,
            is_mid_line: false,
            in_a_row: 0,
            last_lines: None,
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
            if self.has_lines() {
                // These first: a flood on stderr must not fill the memory.
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

    /// Whether lines of stderr can be written now.
    fn has_lines(&self) -> bool {
        !self.is_mid_line && !self.waiting.is_empty()
    }

    /// Writes the lines that wait, as far as there is room.
    fn write_lines(&mut self, buffer: &mut ReadBuf<'_>) {
        let rest = &self.waiting[self.written..];
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..count]);
        self.written += count;
        if self.written == self.waiting.len() {
            self.waiting.clear();
            self.written = 0;
            self.in_a_row = 0;
        }
    }

    /// Reads stdout. False when it has ended.
    fn poll_stdout(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<bool>> {
        let Some(stdout) = &mut self.stdout else { return Poll::Ready(Ok(false)) };
        let before = buffer.filled().len();
        ready!(Pin::new(stdout).poll_read(context, buffer))?;
        self.in_a_row = self.in_a_row.saturating_add(1);
        match buffer.filled()[before..].last() {
            Some(last) => self.is_mid_line = *last != b'\n',
            None => {
                self.stdout = None;
                // A line that broke off ends here.
                if !std::mem::take(&mut self.is_mid_line) {
                    return Poll::Ready(Ok(false));
                }
                buffer.put_slice(b"\n");
            }
        }
        Poll::Ready(Ok(true))
    }
}

impl<O: AsyncRead + Unpin, E: AsyncRead + Unpin> AsyncRead for ChildOutput<O, E> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        // A line of stderr that was begun is finished first.
        if this.written == 0
            && this.in_a_row < FAIR
            && let Poll::Ready(true) = this.poll_stdout(context, buffer)?
        {
            return Poll::Ready(Ok(()));
        }
        let stderr = this.poll_stderr(context);
        if this.has_lines() {
            this.write_lines(buffer);
            return Poll::Ready(Ok(()));
        }
        this.in_a_row = 0;
        if ready!(this.poll_stdout(context, buffer)?) {
            return Poll::Ready(Ok(()));
        }
        if stderr.is_pending() {
            let last_lines = this.last_lines.get_or_insert_with(|| Box::pin(tokio::time::sleep(LAST_LINES)));
            ready!(last_lines.as_mut().poll(context));
            this.stderr = None;
        }
        Poll::Ready(Ok(()))
    }
}
