//! Reads and writes that are dropped half way, as the hub does it all the time: nothing is lost and nothing comes twice.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use embedded_io_async::{Read, Write};
use rustls::version::TLS13;
use support::certificate::{KeyKind, authority};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio_rustls::TlsAcceptor;

use crate::sessions::server_config;
use crate::{Trust, open};

/// Polls a future some times and drops it, unless it is ready by then.
async fn polled<T>(times: u64, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..times {
        let mut once = |context: &mut Context<'_>| Poll::Ready(future.as_mut().poll(context));
        if let Poll::Ready(value) = std::future::poll_fn(&mut once).await {
            return Some(value);
        }
        tokio::task::yield_now().await;
    }
    None
}

#[tokio::test]
async fn dropped_reads_and_writes_lose_nothing() {
    const LENGTH: usize = 200_000;
    let root = authority("a root", KeyKind::P256);
    let broker = root.issues(KeyKind::P256, |_| {});
    let byte = |place: usize| (place * 7 + place / 251) as u8;
    // So narrow that no record fits through at once.
    for width in [7, 100, 1000, 5000] {
        let length = LENGTH.min(width * 500);
        let (near, far) = duplex(width);
        let config = server_config(&broker, &[&TLS13]);
        let serving = tokio::spawn(async move {
            let stream = TlsAcceptor::from(Arc::new(config)).accept(far).await.expect("a client");
            let (mut rx, mut tx) = tokio::io::split(stream);
            let sending = async {
                let bytes: Vec<u8> = (0..length).map(byte).collect();
                for chunk in bytes.chunks(3333) {
                    tx.write_all(chunk).await.expect("written");
                    tx.flush().await.expect("sent");
                }
            };
            let mut heard = vec![0; length];
            let hearing = rx.read_exact(&mut heard);
            let ((), heard_all) = tokio::join!(sending, hearing);
            heard_all.expect("all of it");
            heard
        });
        let mut stream = open(near, Trust::new(root.der())).await.expect("a session");
        let (mut read, mut written) = (0, 0);
        let mut dice = width as u64;
        let mut buffer = [0; 700];
        while read < length || written < length {
            dice = dice.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (action, times) = ((dice >> 60) % 3, 1 + (dice >> 33) % 4);
            match action {
                0 if read < length => {
                    if let Some(count) = polled(times, stream.read(&mut buffer)).await {
                        let count = count.expect("read");
                        assert!(count > 0, "the server hung up");
                        assert!(
                            buffer[..count].iter().enumerate().all(|(n, b)| *b == byte(read + n)),
                            "at {read}"
                        );
                        read += count;
                    }
                }
                1 if written < length => {
                    let chunk: Vec<u8> = (written..length.min(written + 999)).map(byte).collect();
                    if let Some(count) = polled(times, stream.write(&chunk)).await {
                        written += count.expect("written");
                    }
                }
                _ => {
                    let _ = polled(times, stream.flush()).await;
                }
            }
        }
        stream.flush().await.expect("sent");
        let heard = serving.await.expect("the server");
        assert!(heard.iter().enumerate().all(|(place, heard)| *heard == byte(place)), "width {width}");
    }
}
