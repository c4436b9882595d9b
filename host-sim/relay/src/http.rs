//! The HTTP client: HTTP/1.1 over pooled connections, with TLS for `https`.
//!
//! hyper rather than reqwest: it takes a connector of ours, over which tests run in memory and in virtual time.
//!
//! Dropping a pending future closes its connection. Redirects are not followed: a key goes to the named server alone.

use std::error::Error;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{HeaderMap, RETRY_AFTER};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::{Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::DuplexStream;
use tokio::time::timeout;

/// To open a connection, its TLS included.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// How long an idle connection is kept for the next request. Servers close theirs after a minute or more.
const IDLE: Duration = Duration::from_secs(45);
/// Bytes of a good reply that are kept: more than any hub takes.
const KEPT: usize = 1024 * 1024;
/// Bytes of a reply that are counted, for the error about its size.
const COUNTED: u64 = 64 * 1024 * 1024;
/// Bytes of an error that are looked at.
const ERROR_KEPT: u64 = 64 * 1024;

/// An HTTP client. Clones share their connections.
#[derive(Clone)]
pub struct Http(Client<Connector, Full<Bytes>>);

impl Http {
    /// A client over the network. It trusts Mozilla's list of certificate authorities.
    pub fn over_network() -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_WITHIN));
        let provider = rustls::crypto::ring::default_provider();
        let builder = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(provider)
            .expect("ring has the protocol versions that are asked of it");
        Self::new(Connector::Network(Box::new(builder.https_or_http().enable_http1().wrap_connector(tcp))))
    }

    /// A client in memory: `dial` opens the streams, whatever the address. So time can be virtual.
    pub fn in_memory(dial: impl Fn(&Uri) -> io::Result<DuplexStream> + Send + Sync + 'static) -> Self {
        Self::new(Connector::Memory(Arc::new(dial)))
    }

    fn new(way: Connector) -> Self {
        Self(Client::builder(TokioExecutor::new()).pool_idle_timeout(IDLE).build(way))
    }

    /// Sends a request and reads the whole reply.
    pub(super) async fn fetch(&self, request: Request<Full<Bytes>>) -> Result<HttpReply, HttpError> {
        let response = self.0.request(request).await.map_err(|error| HttpError::no_reply(&error))?;
        let status = response.status();
        let advice = Advice::read(response.headers(), SystemTime::now());
        let body = match status.is_success() {
            true => read_all(response).await?,
            false => Body::Whole(read_error(response).await),
        };
        Ok(HttpReply { status: status.as_u16(), advice, body })
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").finish_non_exhaustive()
    }
}

/// A complete reply.
#[derive(Debug)]
pub(super) struct HttpReply {
    pub(super) status: u16,
    pub(super) advice: Advice,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    Whole(Vec<u8>),
    /// More than is kept: this many bytes, or at least as many.
    Larger(u64),
}

/// Why there is no complete reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HttpError {
    /// The connection failed before the reply began.
    NoReply(String),
    /// The server is not who it claims to be.
    Untrusted(String),
    /// The connection broke after this many bytes of a good reply.
    BrokenOff(u64),
}

impl HttpError {
    fn no_reply(error: &dyn Error) -> Self {
        // The outermost error says only that it failed, the innermost why.
        let mut cause = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        let words = cause.to_string();
        match words.contains("certificate") {
            true => Self::Untrusted(words),
            false => Self::NoReply(words),
        }
    }
}

/// A server's advice about retries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Advice {
    /// Not before this long.
    pub(super) wait: Option<Duration>,
    /// Not at all.
    pub(super) never: bool,
}

impl Advice {
    fn read(headers: &HeaderMap, now: SystemTime) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        let milliseconds =
            text("retry-after-ms").and_then(|text| text.parse().ok()).map(Duration::from_millis);
        let seconds = text(RETRY_AFTER.as_str()).and_then(|text| {
            // Some give fractions.
            let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            seconds.or_else(|| {
                let date = httpdate::parse_http_date(text).ok()?;
                Some(date.duration_since(now).unwrap_or_default())
            })
        });
        Self { wait: milliseconds.or(seconds), never: text("x-should-retry") == Some("false") }
    }
}

/// Reads the body of a good reply.
async fn read_all(response: Response<Incoming>) -> Result<Body, HttpError> {
    let mut body = response.into_body();
    let announced = body.size_hint().exact();
    let mut kept = Vec::new();
    let mut size = 0;
    while let Some(frame) = body.frame().await {
        let Some(data) = frame.map_err(|_| HttpError::BrokenOff(size))?.into_data().ok() else { continue };
        size += data.len() as u64;
        if size <= KEPT as u64 {
            kept.extend_from_slice(&data);
        } else if announced.is_some() || size > COUNTED {
            break;
        }
    }
    Ok(if size <= KEPT as u64 { Body::Whole(kept) } else { Body::Larger(announced.unwrap_or(size)) })
}

/// Reads the body of an error, as much of it as there is.
async fn read_error(response: Response<Incoming>) -> Vec<u8> {
    let mut body = response.into_body();
    let mut kept = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        if let Ok(data) = frame.into_data() {
            kept.extend_from_slice(&data);
        }
        if kept.len() as u64 >= ERROR_KEPT {
            break;
        }
    }
    kept
}

type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, Box<dyn Error + Send + Sync>>> + Send>>;

type MemoryDial = dyn Fn(&Uri) -> io::Result<DuplexStream> + Send + Sync;

/// Opens streams to servers.
#[derive(Clone)]
enum Connector {
    Network(Box<HttpsConnector<HttpConnector>>),
    Memory(Arc<MemoryDial>),
}

impl tower_service::Service<Uri> for Connector {
    type Response = ServerStream;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Connecting<ServerStream>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        match self {
            Self::Network(connector) => connector.poll_ready(context),
            Self::Memory(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        match self {
            Self::Network(connector) => {
                let connecting = connector.call(uri);
                Box::pin(async {
                    let stream = timeout(CONNECT_WITHIN, connecting).await.map_err(|_| "no answer")??;
                    Ok(ServerStream(Box::pin(stream)))
                })
            }
            Self::Memory(dial) => {
                let stream = dial(&uri);
                Box::pin(async { Ok(ServerStream(Box::pin(TokioIo::new(stream?)))) })
            }
        }
    }
}

trait ReadWrite: Read + Write + Send {}

impl<T: Read + Write + Send> ReadWrite for T {}

/// A stream of either kind.
struct ServerStream(Pin<Box<dyn ReadWrite>>);

impl Connection for ServerStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for ServerStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_read(context, buffer)
    }
}

impl Write for ServerStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.as_mut().poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(headers: &[(&'static str, &str)]) -> Advice {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().expect("a value"));
        }
        Advice::read(&map, SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770))
    }

    #[test]
    fn when_to_come_back() {
        let wait = |milliseconds| Advice { wait: Some(Duration::from_millis(milliseconds)), never: false };
        assert_eq!(advice(&[]), Advice::default());
        assert_eq!(advice(&[("retry-after", "3")]), wait(3000));
        assert_eq!(advice(&[("retry-after", " 1.5 ")]), wait(1500));
        assert_eq!(advice(&[("retry-after", "30"), ("retry-after-ms", "40")]), wait(40));
        assert_eq!(advice(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), wait(7000));
        assert_eq!(advice(&[("retry-after", "Tue, 06 Nov 1984 08:49:37 GMT")]), wait(0));
        for nonsense in ["soon", "-1", "NaN", "inf", "1e400", ""] {
            assert_eq!(advice(&[("retry-after", nonsense)]), Advice::default(), "{nonsense}");
        }
        assert!(advice(&[("x-should-retry", "false")]).never);
    }
}
