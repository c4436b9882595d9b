//! A stream of bytes through TLS: moves records between the record layer and the stream below.

use core::pin::pin;
use core::task::{Context, Waker};

use embassy_futures::yield_now;
use embedded_io_async::{Error, ErrorKind, ErrorType, Read, Write};

use crate::TlsError;
use crate::handshake::Handshake;
use crate::record::{ALERT, Content, DATA, HANDSHAKE, Incoming, Outgoing, RECORD};
use crate::verifier::Verifier;

/// As large as one segment of TCP, so that a record is in one packet. The hello has to fit, too.
const SEND: usize = 1460;

/// Records under one key. The standard allows some 24 million of them at their largest.
const KEY_LIFETIME: u64 = 1 << 23;

const CLOSE_NOTIFY: u8 = 0;
const DECRYPT_ERROR: u8 = 51;
const WARNING: u8 = 1;
const FATAL: u8 = 2;
const NEW_SESSION_TICKET: u8 = 4;
const KEY_UPDATE: u8 = 24;

/// The memory of a connection. All zeros when new: keep it in a `static`.
pub struct Memory {
    /// The largest record that there is room for.
    receive: [u8; RECORD],
    send: [u8; SEND],
}

impl Memory {
    /// Empty.
    pub const fn new() -> Self {
        Self { receive: [0; RECORD], send: [0; SEND] }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamError<E> {
    /// The stream below failed.
    Io(E),
    /// What came is not what TLS allows.
    Tls(TlsError),
}

impl<E: Error> core::fmt::Display for StreamError<E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Tls(error) => f.write_str(error.text()),
        }
    }
}

impl<E: Error> core::error::Error for StreamError<E> {}

impl<E: Error> Error for StreamError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Io(error) => error.kind(),
            // The broker lets the hub in and then finds that it has no certificate.
            Self::Tls(TlsError::Alert(_)) => ErrorKind::PermissionDenied,
            Self::Tls(_) => ErrorKind::InvalidData,
        }
    }
}

impl<E> From<TlsError> for StreamError<E> {
    fn from(error: TlsError) -> Self {
        Self::Tls(error)
    }
}

/// A stream through TLS. What is written is sent by `flush`, or when a record is full. Dropping a future of its methods
/// loses no bytes; after an error the stream is of no use. When it is dropped, it tells the broker that it closes, as far as
/// the stream below takes that at once.
pub struct TlsStream<'m, S: Read + Write> {
    stream: S,
    incoming: Incoming<'m>,
    outgoing: Outgoing<'m>,
    /// The broker has asked the hub to change its keys, too.
    owes_update: bool,
    /// Nothing more may be sent: there is no session yet, or it has ended.
    is_over: bool,
}

impl<'m, S: Read + Write> TlsStream<'m, S> {
    /// Shakes hands over `stream`, which nothing was sent on. Dropping the future ends the attempt.
    ///
    /// `random` fills a buffer with numbers that nobody can guess. Between the long computations other tasks run.
    pub async fn open(
        stream: S,
        memory: &'m mut Memory,
        verifier: Verifier<'_>,
        random: fn(&mut [u8]),
    ) -> Result<Self, StreamError<S::Error>> {
        let incoming = Incoming::new(&mut memory.receive);
        let mut outgoing = Outgoing::new(&mut memory.send);
        let mut handshake = Handshake::begin(verifier, random, &mut outgoing)?;
        let mut opened = Self { stream, incoming, outgoing, owes_update: false, is_over: true };
        match opened.shake_hands(&mut handshake).await {
            Ok(()) => {
                opened.is_over = false;
                Ok(opened)
            }
            Err(error) => {
                if let StreamError::Tls(error) = error {
                    opened.alert(error).await;
                }
                Err(error)
            }
        }
    }

    /// The stream below.
    pub fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    async fn shake_hands(&mut self, handshake: &mut Handshake<'_>) -> Result<(), StreamError<S::Error>> {
        while !handshake.is_complete() {
            self.send().await?;
            yield_now().await;
            if handshake.step(&mut self.incoming, &mut self.outgoing)? {
                continue;
            }
            match self.receive().await? {
                Some(Content::Handshake | Content::Nothing) => {}
                Some(Content::Alert(alert)) => return Err(TlsError::Alert(alert).into()),
                Some(Content::Data) => return Err(TlsError::Protocol.into()),
                None => return Err(TlsError::Closed.into()),
            }
        }
        self.send().await
    }

    /// Tells the broker why the hub hangs up, if it still listens: its log then says it, too.
    async fn alert(&mut self, error: TlsError) {
        let alert = match error {
            // The broker has ended it itself.
            TlsError::Alert(_) | TlsError::Closed | TlsError::NotTls => return,
            error => self.incoming.alert.unwrap_or(alert_of(error)),
        };
        self.outgoing.discard();
        if self.outgoing.append_all(&[FATAL, alert]).is_ok() && self.outgoing.seal(ALERT).is_ok() {
            let _ = self.send().await;
            let _ = self.stream.flush().await;
        }
    }

    /// Ends the session with an alert, as far as the stream takes it at once: nobody waits for a broker that does not read.
    fn end(&mut self, level: u8, alert: u8) {
        if core::mem::replace(&mut self.is_over, true) {
            return;
        }
        self.send_now();
        self.outgoing.discard();
        // Not in the middle of another record.
        if self.outgoing.pending().is_empty()
            && self.outgoing.append_all(&[level, alert]).is_ok()
            && self.outgoing.seal(ALERT).is_ok()
        {
            self.send_now();
            let _ = pin!(self.stream.flush()).poll(&mut Context::from_waker(Waker::noop()));
        }
    }

    /// Sends of what is sealed as much as the stream takes at once.
    fn send_now(&mut self) {
        let _ = pin!(self.send()).poll(&mut Context::from_waker(Waker::noop()));
    }

    /// Tells the broker of an error that ends the session.
    fn report(&mut self, error: StreamError<S::Error>) -> StreamError<S::Error> {
        match error {
            StreamError::Tls(TlsError::Alert(_) | TlsError::Closed) | StreamError::Io(_) => {
                self.is_over = true
            }
            StreamError::Tls(error) => self.end(FATAL, self.incoming.alert.unwrap_or(alert_of(error))),
        }
        error
    }

    /// Receives until there is application data, or none will come.
    async fn receive_data(&mut self) -> Result<(), StreamError<S::Error>> {
        // Of a write or flush that was dropped, or for a change of keys.
        self.send_all().await?;
        while !self.incoming.has_data() {
            match self.receive().await? {
                Some(Content::Handshake) => {
                    self.take_messages()?;
                    self.send_all().await?;
                }
                Some(Content::Data | Content::Nothing) => {}
                Some(Content::Alert(CLOSE_NOTIFY)) | None => break,
                Some(Content::Alert(alert)) => return Err(TlsError::Alert(alert).into()),
            }
        }
        Ok(())
    }

    /// Sends what is sealed.
    async fn send(&mut self) -> Result<(), StreamError<S::Error>> {
        while let pending @ [_, ..] = self.outgoing.pending() {
            match self.stream.write(pending).await {
                Ok(0) => return Err(TlsError::Closed.into()),
                Ok(count) => self.outgoing.sent(count),
                Err(error) => return Err(StreamError::Io(error)),
            }
        }
        Ok(())
    }

    /// The next record; `None` if there is none any more.
    async fn receive(&mut self) -> Result<Option<Content>, StreamError<S::Error>> {
        loop {
            if let Some(content) = self.incoming.record()? {
                return Ok(Some(content));
            }
            match self.stream.read(self.incoming.space()?).await {
                Ok(0) => return Ok(None),
                Ok(count) => self.incoming.arrived(count),
                Err(error) => return Err(StreamError::Io(error)),
            }
        }
    }

    /// Sends everything that waits: what was written, and the notice that the hub changes its keys.
    async fn send_all(&mut self) -> Result<(), StreamError<S::Error>> {
        self.send().await?;
        if !self.outgoing.content().is_empty() {
            self.outgoing.seal(DATA)?;
            self.send().await?;
        }
        if self.owes_update || self.outgoing.records() >= KEY_LIFETIME {
            self.owes_update = false;
            self.outgoing.append_all(&[KEY_UPDATE, 0, 0, 1, 0])?;
            self.outgoing.seal(HANDSHAKE)?;
            self.outgoing.update();
            self.send().await?;
        }
        Ok(())
    }

    /// What a broker may still say of the handshake once it is over.
    fn take_messages(&mut self) -> Result<(), TlsError> {
        while let Some(message) = self.incoming.message() {
            let length = message.len();
            let update = match *message {
                // The hub begins each session anew.
                [NEW_SESSION_TICKET, ..] => None,
                [KEY_UPDATE, 0, 0, 1, is_requested @ (0 | 1)] => Some(is_requested == 1),
                _ => return Err(TlsError::Protocol),
            };
            self.incoming.forget(length);
            if let Some(is_requested) = update {
                self.incoming.update()?;
                self.owes_update |= is_requested;
            }
        }
        Ok(())
    }
}

/// The alert that tells a broker of this error.
fn alert_of(error: TlsError) -> u8 {
    match error {
        TlsError::Protocol | TlsError::NotTls => 10,
        TlsError::TooLarge => 22,
        TlsError::Unsupported(_) | TlsError::OldCertificate => 43,
        TlsError::Expired(_) | TlsError::NotYetValid(_) => 45,
        TlsError::UnknownIssuer | TlsError::SelfSigned | TlsError::NoCa | TlsError::BadCa => 48,
        TlsError::NoProof => DECRYPT_ERROR,
        TlsError::Version => 70,
        TlsError::NoClock => 80,
        _ => 42,
    }
}

impl<S: Read + Write> Drop for TlsStream<'_, S> {
    fn drop(&mut self) {
        self.end(WARNING, CLOSE_NOTIFY);
    }
}

impl<S: Read + Write> ErrorType for TlsStream<'_, S> {
    type Error = StreamError<S::Error>;
}

impl<S: Read + Write> Read for TlsStream<'_, S> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        if !buffer.is_empty() {
            let received = self.receive_data().await;
            received.map_err(|error| self.report(error))?;
        }
        Ok(self.incoming.read(buffer))
    }
}

impl<S: Read + Write> Write for TlsStream<'_, S> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        self.send().await?;
        let count = self.outgoing.append(bytes);
        if count > 0 || bytes.is_empty() {
            return Ok(count);
        }
        self.send_all().await?;
        Ok(self.outgoing.append(bytes))
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        self.send_all().await?;
        self.stream.flush().await.map_err(StreamError::Io)
    }
}
