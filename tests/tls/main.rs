//! The TLS of a board, on the desktop: against servers by other hands, against a hostile one, and with the judgement of
//! another implementation on the same certificates.

mod desktop;
mod dropped;
mod endings;
mod hostile;
mod server;
mod sessions;
mod verdicts;

use embedded_io_adapters::tokio_1::FromTokio;
use embedded_io_async::{Read, Write};
use hub_tls::{Memory, StreamError, TlsError, TlsStream, Verifier};
use ring::rand::{SecureRandom, SystemRandom};
use support::PATIENCE;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

/// In 2026.
pub const NOW: i64 = 1_790_000_000;

fn random(buffer: &mut [u8]) {
    SystemRandom::new().fill(buffer).expect("random numbers");
}

/// Who is dialled, whom the hub trusts, and when.
#[derive(Clone, Copy)]
pub struct Trust<'a> {
    pub host: &'a str,
    pub trusted: &'a [u8],
    pub now: Option<i64>,
}

impl<'a> Trust<'a> {
    pub fn new(trusted: &'a [u8]) -> Self {
        Self { host: "localhost", trusted, now: Some(NOW) }
    }
}

/// Opens a session over `stream`.
pub async fn open<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    trust: Trust<'_>,
) -> Result<TlsStream<'static, FromTokio<S>>, TlsError> {
    let Trust { host, trusted, now } = trust;
    let verifier = Verifier { host, trusted, now };
    // For as long as the test runs.
    let memory = Box::leak(Box::new(Memory::new()));
    let opening = TlsStream::open(FromTokio::new(stream), memory, verifier, random);
    timeout(PATIENCE, opening).await.expect("an end").map_err(|error| match error {
        StreamError::Tls(error) => error,
        StreamError::Io(_) => TlsError::Closed,
    })
}

/// Sends `bytes` and reads them back, from a server that echoes.
pub async fn echo(stream: &mut (impl Read + Write), bytes: &[u8]) {
    let echoing = async {
        let mut echoed = Vec::new();
        let mut buffer = [0; 3000];
        // A little at a time: nobody reads while this writes.
        for chunk in bytes.chunks(4000) {
            stream.write_all(chunk).await.expect("written");
            stream.flush().await.expect("sent");
            let wanted = echoed.len() + chunk.len();
            while echoed.len() < wanted {
                let count = stream.read(&mut buffer).await.expect("read");
                assert!(count > 0, "the server hung up");
                echoed.extend_from_slice(&buffer[..count]);
            }
        }
        assert!(echoed == bytes, "{} bytes came back changed", bytes.len());
    };
    timeout(PATIENCE, echoing).await.expect("an echo");
}
