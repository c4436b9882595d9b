//! A scripted HTTP server: in memory and virtual time, or on loopback.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::TcpListener;
use tokio::time::sleep;

/// What to do with a request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Answer: status, further header lines, body.
    Reply(u16, String, Vec<u8>),
    /// Answer after a while.
    Slowly(Duration, Box<Act>),
    /// Write exactly this, and close.
    Raw(Vec<u8>),
    /// Read the request and never answer.
    Hang,
    /// Close without an answer.
    Close,
}

impl Act {
    pub fn ok(body: &str) -> Self {
        Self::Reply(200, String::new(), body.into())
    }

    pub fn status(status: u16, body: &str) -> Self {
        Self::Reply(status, String::new(), body.into())
    }

    pub fn slow(seconds: u64, body: &str) -> Self {
        Self::Slowly(Duration::from_secs(seconds), Box::new(Self::ok(body)))
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The first line and the headers, in lower case but for the values.
    pub head: String,
    pub body: Vec<u8>,
}

impl Seen {
    fn holds(&self, words: &str) -> bool {
        self.head.contains(words) || self.body.windows(words.len()).any(|part| part == words.as_bytes())
    }
}

#[derive(Default)]
struct State {
    script: VecDeque<Act>,
    /// For requests with these words in them.
    scripts: Vec<(String, VecDeque<Act>)>,
    always: Option<Act>,
    seen: Vec<Seen>,
    connections: usize,
    at_once: usize,
    most_at_once: usize,
}

/// Clones are handles to the same server.
#[derive(Clone, Default)]
pub struct Server(Arc<Mutex<State>>);

impl Server {
    /// One that does these acts, one for each request, and then hangs.
    pub fn doing(script: impl IntoIterator<Item = Act>) -> Self {
        let server = Self::default();
        server.0.lock().expect("whole").script.extend(script);
        server
    }

    /// One that always does the same.
    pub fn always(act: Act) -> Self {
        let server = Self::default();
        server.0.lock().expect("whole").always = Some(act);
        server
    }

    /// Requests that contain these words get these acts, one each. Further ones are refused.
    pub fn tell(&self, words: &str, script: impl IntoIterator<Item = Act>) {
        self.0.lock().expect("whole").scripts.push((words.into(), script.into_iter().collect()));
    }

    /// The requests with these words so far.
    pub fn seen_with(&self, words: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.holds(words)).collect()
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.0.lock().expect("whole").seen.clone()
    }

    /// The most requests that were there at the same time.
    pub fn most_at_once(&self) -> usize {
        self.0.lock().expect("whole").most_at_once
    }

    /// How many connections there were.
    pub fn connections(&self) -> usize {
        self.0.lock().expect("whole").connections
    }

    /// A connection in memory.
    pub fn connect(&self) -> DuplexStream {
        let (client, server) = tokio::io::duplex(64 * 1024);
        tokio::spawn(self.clone().serve(server));
        client
    }

    /// Listens on loopback, and says where.
    pub async fn listen(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its number");
        let server = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(server.clone().serve(stream));
            }
        });
        format!("http://{address}")
    }

    fn begin(&self, seen: Seen) -> Act {
        let mut state = self.0.lock().expect("whole");
        state.at_once += 1;
        state.most_at_once = state.most_at_once.max(state.at_once);
        let own = state.scripts.iter_mut().rev().find(|(words, _)| seen.holds(words));
        let own = own.map(|(_, script)| script.pop_front().unwrap_or_else(|| Act::status(418, "once more?")));
        state.seen.push(seen);
        if let Some(act) = own {
            return act;
        }
        state.always.clone().or_else(|| state.script.pop_front()).unwrap_or(Act::Hang)
    }

    async fn serve(self, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
        self.0.lock().expect("whole").connections += 1;
        while let Some(seen) = read(&mut stream).await {
            let mut act = self.begin(seen);
            while let Act::Slowly(time, then) = act {
                sleep(time).await;
                act = *then;
            }
            let goes_on = match act {
                Act::Reply(status, headers, body) => {
                    let length = body.len();
                    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}\r\n");
                    let written = stream.write_all(&[head.as_bytes(), &body].concat()).await;
                    written.is_ok()
                }
                Act::Raw(bytes) => {
                    let _ = stream.write_all(&bytes).await;
                    false
                }
                Act::Hang => std::future::pending().await,
                Act::Close | Act::Slowly(..) => false,
            };
            self.0.lock().expect("whole").at_once -= 1;
            if !goes_on {
                return;
            }
        }
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Seen> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).expect("text");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(Seen { head, body })
}
