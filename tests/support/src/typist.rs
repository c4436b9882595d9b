//! Somebody at a serial port: types lines, and reads what comes back.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

/// For an answer; longer than the hub takes for any.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for the next line.
const PROMPT: &str = "> ";

/// What a port is made of.
pub trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

/// Somebody at a serial port.
pub struct Typist {
    port: Box<dyn Stream>,
    /// Everything that was read so far.
    pub seen: String,
}

impl Typist {
    /// At this port.
    pub fn at(port: impl Stream + 'static) -> Self {
        Self { port: Box::new(port), seen: String::new() }
    }

    /// Sends bytes.
    pub async fn sends(&mut self, bytes: &[u8]) {
        self.port.write_all(bytes).await.expect("a port");
    }

    /// Types a line. Returns the answer, without the echo and the prompt.
    pub async fn types(&mut self, line: &str) -> String {
        self.sends(format!("{line}\r").as_bytes()).await;
        let all = self.reads(PROMPT).await;
        let answer = all.strip_suffix(PROMPT).unwrap_or(&all);
        let answer = answer.split_once("\r\n").map_or("", |(_, answer)| answer);
        answer.replace("\r\n", "\n")
    }

    /// Types a line whose answer has to be this, with its line ends left out.
    pub async fn gets(&mut self, line: &str, answer: &str) {
        assert_eq!(self.types(line).await.trim_end(), answer, "after {line}");
    }

    /// Types a line whose answer has to contain these words. Returns it.
    pub async fn sees(&mut self, line: &str, words: &str) -> String {
        let answer = self.types(line).await;
        assert!(answer.contains(words), "{words} is not in what came after {line}:\n{answer}");
        answer
    }

    /// Reads until something that ends with these words, at the end of what there is.
    pub async fn reads(&mut self, end: &str) -> String {
        let mut read = String::new();
        while !read.ends_with(end) {
            let bytes = self.receives().await;
            read.push_str(&String::from_utf8_lossy(&bytes));
        }
        self.seen.push_str(&read);
        read
    }

    /// What comes next.
    pub async fn receives(&mut self) -> Vec<u8> {
        let mut bytes = [0; 1024];
        let count = timeout(PATIENCE, self.port.read(&mut bytes)).await.expect("an answer").expect("a port");
        assert!(count > 0, "the port is closed");
        bytes[..count].to_vec()
    }

    /// Sends an Improv command. Returns the frames that came, from their type on, until there is one of these types.
    pub async fn commands(&mut self, command: u8, data: &[u8], until: &[u8]) -> Vec<Vec<u8>> {
        let mut frame = b"IMPROV\x01\x03".to_vec();
        frame.extend([data.len() as u8 + 2, command, data.len() as u8]);
        frame.extend(data);
        frame.push(frame.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
        frame.push(b'\n');
        self.sends(&frame).await;
        let mut bytes = Vec::new();
        loop {
            let frames = improv_frames(&bytes);
            if frames.iter().any(|frame| until.contains(&frame[0])) {
                return frames;
            }
            bytes.extend(self.receives().await);
        }
    }
}

/// The whole Improv frames that begin a line, from their type to their data.
fn improv_frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(8).position(|window| window == b"\nIMPROV\x01") {
        rest = &rest[at + 8..];
        let Some(length) = rest.get(1).map(|length| usize::from(*length)) else { break };
        let Some(frame) = rest.get(..2 + length + 1) else { break };
        let (checksum, frame) = frame.split_last().expect("a checksum");
        let sum = b"IMPROV\x01".iter().chain(frame).fold(0, |sum: u8, byte| sum.wrapping_add(*byte));
        assert_eq!(sum, *checksum, "{frame:?}");
        frames.push([&frame[..1], &frame[2..]].concat());
        rest = &rest[2 + length..];
    }
    frames
}
