//! The TLS of a board between the hub and its broker, in memory: with a server by other hands, and a network that brings
//! bytes in pieces of any size, now and then late.

use std::io;
use std::sync::{Arc, OnceLock};

use embedded_io_async::{ErrorType, Read, Write};
use host_desktop::broker::BrokerStream;
use hub_core::DialError;
use hub_tls::{Memory, StreamError, TlsStream, Verifier};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use support::certificate::{KeyKind, authority};
use tokio::io::{AsyncWriteExt, DuplexStream, copy, duplex, split};
use tokio::task::yield_now;
use tokio_rustls::TlsAcceptor;

/// With this variable, `tls`, every story has TLS between the hub and a broker in memory.
const VARIABLE: &str = "HEARTHWAVE_STORIES";

/// The broker's name in its certificate.
const HOST: &str = "broker.test";
/// In 2026, which the certificates are good for.
const NOW: i64 = 1_790_000_000;
/// What a connection holds in each direction: as much as a board's socket.
const WINDOW: usize = 4096;
/// The largest piece that arrives at once.
const SEGMENT: u64 = 1460;

/// Whether the stories of this process take place over TLS.
pub fn is_on() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|way| way == "tls")
}

/// Runs the tests of this program once more, over TLS, all but those whose names contain one of `skipped`. Panics if one
/// fails.
pub fn again(skipped: &[&str]) {
    if is_on() {
        return;
    }
    let program = std::env::current_exe().expect("this program");
    let mut command = std::process::Command::new(program);
    for name in skipped {
        command.args(["--skip", name]);
    }
    let output = command.env(VARIABLE, "tls").output().expect("it runs");
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "over TLS:\n{text}");
    print!("over TLS:{text}");
}

/// The CA that the hub trusts, and a broker with a certificate of its own. Keys for RSA, whose signatures are all of one
/// length: the same bytes come in the same pieces in every run.
fn trust() -> &'static (Vec<u8>, Arc<ServerConfig>) {
    static TRUST: OnceLock<(Vec<u8>, Arc<ServerConfig>)> = OnceLock::new();
    TRUST.get_or_init(|| {
        let root = authority("a home", KeyKind::Rsa(2048));
        let broker = root.issues(KeyKind::Rsa(2048), |_| {});
        let key = PrivateKeyDer::try_from(broker.key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .and_then(|config| config.with_no_client_auth().with_single_cert(broker.chain.clone(), key));
        (root.der().to_vec(), Arc::new(config.expect("a certificate")))
    })
}

/// A stream through TLS to whoever has the other end of `plain`.
pub(crate) async fn open(
    plain: DuplexStream,
    memory: &mut Memory,
    seed: u64,
) -> Result<TlsStream<'_, Segments>, DialError> {
    let (trusted, config) = trust();
    let (near, far) = duplex(WINDOW);
    tokio::spawn(serve(TlsAcceptor::from(config.clone()), far, plain));
    let verifier = Verifier { host: HOST, trusted, now: Some(NOW) };
    let stream = Segments { stream: BrokerStream::new(near), dice: seed, is_late: false };
    TlsStream::open(stream, memory, verifier, not_so_random).await.map_err(|error| match error {
        StreamError::Tls(error) => DialError::Tls(error.text()),
        StreamError::Io(_) => DialError::Unreachable,
    })
}

/// Carries what is said from one side to the other, until one of them hangs up.
async fn serve(acceptor: TlsAcceptor, far: DuplexStream, plain: DuplexStream) {
    // A hub that hangs up before its time is one that a story has switched off.
    let Ok(stream) = acceptor.accept(far).await else { return };
    let (mut hub_rx, mut hub_tx) = split(stream);
    let (mut broker_rx, mut broker_tx) = split(plain);
    tokio::select! {
        _ = copy(&mut hub_rx, &mut broker_tx) => {}
        _ = copy(&mut broker_rx, &mut hub_tx) => {}
    }
    let _ = hub_tx.shutdown().await;
}

/// The same numbers in every run; nobody listens.
fn not_so_random(buffer: &mut [u8]) {
    buffer.iter_mut().zip(1..).for_each(|(byte, number)| *byte = number);
}

/// A connection that brings bytes in pieces.
pub(crate) struct Segments {
    stream: BrokerStream,
    dice: u64,
    /// Whether the next piece arrives only after everybody else had a turn. Not by the clock: some stories count
    /// milliseconds.
    is_late: bool,
}

impl Segments {
    /// A number from 1 on, mostly small.
    fn size(&mut self) -> usize {
        let bound = 1 + self.number(SEGMENT);
        1 + self.number(bound) as usize
    }

    fn number(&mut self, bound: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % bound
    }
}

impl ErrorType for Segments {
    type Error = io::Error;
}

impl Read for Segments {
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_late {
            yield_now().await;
            self.is_late = false;
        }
        let size = self.size().min(buffer.len());
        let count = self.stream.read(&mut buffer[..size]).await?;
        self.is_late = self.number(4) == 0;
        Ok(count)
    }
}

impl Write for Segments {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = self.size().min(bytes.len());
        self.stream.write(&bytes[..size]).await
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.stream.flush().await
    }
}
