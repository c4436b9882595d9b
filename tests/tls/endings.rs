//! How sessions end: what the hub tells a server by other hands.

use std::io::ErrorKind;
use std::sync::Arc;

use embedded_io_async::Read as _;
use hub_tls::TlsError;
use rustls::AlertDescription;
use rustls::version::TLS13;
use support::certificate::{KeyKind, authority};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio_rustls::TlsAcceptor;

use crate::sessions::server_config;
use crate::{Trust, echo, open};

/// Carries bytes from one end to the other, which `change` may change on their way.
async fn carry(
    mut from: ReadHalf<DuplexStream>,
    mut to: WriteHalf<DuplexStream>,
    change: impl Fn(&mut [u8]),
) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        change(&mut buffer[..count]);
        if to.write_all(&buffer[..count]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}

/// The alert that rustls received, if that is why it failed.
fn alert(error: &std::io::Error) -> Option<AlertDescription> {
    match error.get_ref()?.downcast_ref()? {
        rustls::Error::AlertReceived(alert) => Some(*alert),
        _ => None,
    }
}

#[tokio::test]
async fn a_session_that_is_dropped_says_that_it_closes() {
    let root = authority("a root", KeyKind::P256);
    let broker = root.issues(KeyKind::P256, |_| {});
    let (near, far) = duplex(5000);
    let config = server_config(&broker, &[&TLS13]);
    let serving = tokio::spawn(async move {
        let mut stream = TlsAcceptor::from(Arc::new(config)).accept(far).await.expect("a client");
        let mut buffer = [0; 100];
        let count = stream.read(&mut buffer).await.expect("a message");
        stream.write_all(&buffer[..count]).await.expect("written");
        stream.flush().await.expect("sent");
        // Without a close_notify this is an error.
        stream.read(&mut buffer).await
    });
    let mut stream = open(near, Trust::new(root.der())).await.expect("a session");
    echo(&mut stream, b"hello").await;
    drop(stream);
    assert_eq!(serving.await.expect("the server").expect("an orderly end"), 0);
}

#[tokio::test]
async fn a_server_that_is_not_believed_is_told_why() {
    let (root, other) = (authority("a root", KeyKind::P256), authority("another", KeyKind::P256));
    let broker = other.issues(KeyKind::P256, |_| {});
    let (near, far) = duplex(5000);
    let acceptor = TlsAcceptor::from(Arc::new(server_config(&broker, &[&TLS13])));
    let (opened, served) = tokio::join!(open(near, Trust::new(root.der())), acceptor.accept(far));
    assert_eq!(opened.err(), Some(TlsError::UnknownIssuer));
    let error = served.expect_err("it is refused");
    assert_eq!(alert(&error), Some(AlertDescription::UnknownCA), "{error}");
}

/// Somebody on the way changes a byte of a session that is open.
#[tokio::test]
async fn a_record_that_was_changed_ends_the_session_with_an_alert() {
    let root = authority("a root", KeyKind::P256);
    let broker = root.issues(KeyKind::P256, |_| {});
    let ((near, hub_side), (broker_side, far)) = (duplex(5000), duplex(5000));
    let is_open = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (from_hub, to_hub) = split(hub_side);
    let (from_broker, to_broker) = split(broker_side);
    tokio::spawn(carry(from_hub, to_broker, |_| {}));
    let changes = is_open.clone();
    tokio::spawn(carry(from_broker, to_hub, move |bytes| {
        if changes.load(std::sync::atomic::Ordering::Relaxed) {
            *bytes.last_mut().expect("bytes") ^= 1;
        }
    }));
    let config = server_config(&broker, &[&TLS13]);
    let (say, said) = tokio::sync::oneshot::channel();
    let serving = tokio::spawn(async move {
        let mut stream = TlsAcceptor::from(Arc::new(config)).accept(far).await.expect("a client");
        let mut buffer = [0; 100];
        let count = stream.read(&mut buffer).await.expect("a message");
        stream.write_all(&buffer[..count]).await.expect("written");
        stream.flush().await.expect("sent");
        said.await.expect("a word");
        stream.write_all(b"changed on its way").await.expect("written");
        stream.flush().await.expect("sent");
        stream.read(&mut buffer).await
    });
    let mut stream = open(near, Trust::new(root.der())).await.expect("a session");
    echo(&mut stream, b"hello").await;
    is_open.store(true, std::sync::atomic::Ordering::Relaxed);
    say.send(()).expect("it waits");
    assert!(stream.read(&mut [0; 100]).await.is_err());
    drop(stream);
    let error = serving.await.expect("the server").expect_err("an alert");
    assert_ne!(error.kind(), ErrorKind::UnexpectedEof, "{error}");
    assert_eq!(alert(&error), Some(AlertDescription::BadRecordMac), "{error}");
}
