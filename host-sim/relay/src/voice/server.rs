//! Serves the peers of the service: reads their events, within limits, and answers them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use host_desktop::broker::Stream;
use serde_json::{Map, Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream,
};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::event::{Event, ReadError};
use super::no_reply::NoReply;
use super::requests::{Answer, Question};

/// Peers at the same time. Home Assistant has one connection for each question.
pub(super) const PEERS: usize = 32;
/// Peers that are told at the same time that there are too many.
const REFUSED: usize = 32;
/// How long a connection may last, whatever it says: Home Assistant opens one for each sentence, and places are few.
const LIFETIME: Duration = Duration::from_secs(600);
/// For a peer to say something to the hub. Other events, such as pings and empty transcripts, do not extend it: places are for those who speak.
const IDLE: Duration = Duration::from_secs(60);
/// For a peer to send the rest of an event, or to take one.
const TRANSFER: Duration = Duration::from_secs(10);
/// For a peer that is not served to read why.
const FAREWELL: Duration = Duration::from_secs(1);
/// After a failure to accept a peer, such as too many open files.
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);

/// The languages that the service names: those of Home Assistant's voice assistants, which offer it for no others. The hub
/// answers in the person's language if its model does.
const LANGUAGES: &[&str] = &[
    "af", "am", "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el", "en", "eo", "es",
    "et", "eu", "fa", "fi", "fr", "ga", "gl", "gu", "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja",
    "ka", "kk", "km", "kn", "ko", "kw", "lb", "lo", "lt", "lv", "mk", "ml", "mn", "mr", "ms", "my", "nb",
    "ne", "nl", "nn", "no", "pa", "pl", "pt", "ro", "ru", "sk", "sl", "sq", "sr", "sv", "sw", "ta", "te",
    "th", "tr", "uk", "ur", "uz", "vi", "zh", "zu",
];

/// Where peers come from.
#[derive(Debug)]
pub enum Listener {
    /// Over TCP.
    Tcp(TcpListener),
    /// In memory: whatever is sent here.
    Memory(mpsc::Receiver<DuplexStream>),
}

type Peer = Box<dyn SendStream>;

/// A stream that may move to another thread.
trait SendStream: Stream + Send {}

impl<S: Stream + Send> SendStream for S {}

impl Listener {
    /// Listens at an address.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        TcpListener::bind(address).await.map(Self::Tcp)
    }

    /// Where it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Memory(_) => None,
        }
    }

    async fn accept(&mut self) -> io::Result<Peer> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // Events are small, and their receiver waits for each.
                let _ = stream.set_nodelay(true);
                Ok(Box::new(stream))
            }
            Self::Memory(streams) => match streams.recv().await {
                Some(stream) => Ok(Box::new(stream)),
                None => std::future::pending().await,
            },
        }
    }
}

/// Serves peers, for ever. Questions go to `ask`.
pub(super) async fn serve(mut listener: Listener, ask: mpsc::Sender<Question>) {
    let (served, refused) = (Arc::new(Semaphore::new(PEERS)), Arc::new(Semaphore::new(REFUSED)));
    let mut peers = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = peers.join_next() => continue,
        };
        let peer = match accepted {
            Ok(peer) => peer,
            Err(error) => {
                log::warn!("voice: a connection could not be accepted: {error}");
                sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        if let Ok(place) = Arc::clone(&served).try_acquire_owned() {
            let ask = ask.clone();
            peers.spawn(async move {
                match timeout(LIFETIME, talk(peer, &ask)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => log::debug!("voice: a connection ended: {error}"),
                    Err(_) => log::debug!("voice: a connection was closed after {LIFETIME:?}"),
                }
                drop(place);
            });
        } else {
            log::warn!("voice: a connection was refused: {PEERS} others are open");
            // Of more than these, nobody is told.
            if let Ok(place) = Arc::clone(&refused).try_acquire_owned() {
                peers.spawn(async move {
                    let _ = dismiss(BufReader::new(peer), NoReply::Busy).await;
                    drop(place);
                });
            }
        }
    }
}

/// Talks with one peer until it leaves, is silent for too long, or sends what cannot be understood.
async fn talk(peer: Peer, ask: &mpsc::Sender<Question>) -> io::Result<()> {
    let mut peer = BufReader::new(peer);
    let mut idle_until = Instant::now() + IDLE;
    loop {
        match timeout_at(idle_until, peer.fill_buf()).await {
            Ok(Ok(bytes)) if !bytes.is_empty() && Instant::now() < idle_until => {}
            Ok(Err(error)) => return Err(error),
            _ => return Ok(()),
        }
        let event = match timeout(TRANSFER, Event::read(&mut peer)).await {
            Ok(Ok(Some(event))) => event,
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(ReadError::Transport(error))) => return Err(error),
            Ok(Err(ReadError::Peer(why))) => {
                log::warn!("voice: a connection was closed: {why}");
                return dismiss(peer, NoReply::Malformed).await;
            }
            Err(_) => {
                log::warn!("voice: a connection was closed: an event took too long");
                return dismiss(peer, NoReply::Malformed).await;
            }
        };
        let answer = match event.kind.as_str() {
            "describe" => info(),
            "ping" => {
                Event::new("pong", event.text("text").map_or(Value::Null, |text| json!({ "text": text })))
            }
            "transcript" => {
                let context = event.data.get("context").and_then(Value::as_object);
                let answer = hear(&event, context, ask).await;
                if answer != Err(NoReply::NothingHeard) {
                    idle_until = Instant::now() + IDLE;
                }
                respond(context, answer)
            }
            // Sound, and what is meant for services of other kinds.
            _ => continue,
        };
        send(&mut peer, &answer).await?;
    }
}

/// Hands what was said to the hub.
async fn hear(event: &Event, context: Option<&Map<String, Value>>, ask: &mpsc::Sender<Question>) -> Answer {
    let text = event.text("text").unwrap_or_default().trim();
    if text.is_empty() {
        return Err(NoReply::NothingHeard);
    }
    let named = |name: &str| {
        let name = context?.get(name)?.as_str()?;
        (!name.is_empty()).then(|| name.to_owned())
    };
    let started = Instant::now();
    let (answer, answered) = oneshot::channel();
    let question = Question {
        text: text.into(),
        satellite: named("satellite_id").or_else(|| named("device_id")),
        conversation: named("conversation_id"),
        language: event.text("language").map(Into::into),
        answer,
    };
    ask.send(question).await.map_err(|_| NoReply::NoBroker)?;
    let answer = answered.await.unwrap_or(Err(NoReply::NoBroker));
    let milliseconds = started.elapsed().as_millis();
    match answer {
        Ok(_) => log::info!("voice: a question was answered after {milliseconds} ms"),
        Err(no_reply) => log::warn!(
            "voice: a question was not answered after {milliseconds} ms: {}{}",
            no_reply.words(),
            no_reply.hint()
        ),
    }
    answer
}

/// What the peer is told. It gets its context back.
fn respond(context: Option<&Map<String, Value>>, answer: Answer) -> Event {
    let (kind, text) = match &answer {
        Ok(text) => ("handled", text.as_str()),
        Err(no_reply) => ("not-handled", no_reply.words()),
    };
    let mut event = Event::new(kind, json!({ "text": text }));
    if let Some(context) = context {
        event.data.insert("context".into(), Value::Object(context.clone()));
    }
    event
}

async fn send(peer: &mut (impl AsyncWrite + Unpin), event: &Event) -> io::Result<()> {
    timeout(TRANSFER, event.write(peer)).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
}

/// Tells a peer why, and closes the connection. What it still sends is read for a moment: otherwise the words would be lost
/// with the connection.
async fn dismiss(mut peer: BufReader<Peer>, why: NoReply) -> io::Result<()> {
    send(&mut peer, &respond(None, Err(why))).await?;
    peer.shutdown().await?;
    let _ = timeout(FAREWELL, async {
        let mut rest = [0; 4096];
        while peer.read(&mut rest).await.is_ok_and(|count| count > 0) {}
    })
    .await;
    Ok(())
}

/// What the service is.
fn info() -> Event {
    let by = json!({ "name": "Hearthwave", "url": "" });
    let version = env!("CARGO_PKG_VERSION");
    let model = json!({
        "name": "hub", "description": "The hub", "attribution": by, "installed": true, "version": version,
        "languages": LANGUAGES,
    });
    let program = json!({
        "name": "Hearthwave", "description": "A hub for the home", "attribution": by, "installed": true,
        "version": version, "models": [model], "supports_home_control": true, "supports_handled_streaming": false,
    });
    Event::new("info", json!({ "handle": [program] }))
}
