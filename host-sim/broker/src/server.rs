//! The broker on tokio: TCP listeners, connections in memory, tokio's clock.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::connection::ConnectionId;
use super::limits::{Dropped, Limits};
use super::{Access, Broker, Output};

/// Bytes that a connection in memory holds in each direction before its writer has to wait.
const MEMORY_PIPE: usize = 64 * 1024;
/// Bytes read from a transport at a time.
const READ: usize = 16 * 1024;
/// TCP connections that the system keeps until they are accepted.
const ACCEPT_QUEUE: u32 = 128;
/// Pause after a failure to accept, which is the system being short of something.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// The options of a [`Server`].
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What it holds at most.
    pub limits: Limits,
    /// Who may connect.
    pub access: Access,
}

/// A running broker. Clones are handles to the same one.
///
/// It lives in the tokio runtime that it was started in, as tasks that end with [`Server::shutdown`] or when
/// the last handle is dropped; the latter closes all connections without a word. It keeps time by tokio's
/// clock, so with a paused runtime its timeouts pass in virtual time. Sessions and retained messages are
/// lost when it ends.
#[derive(Clone)]
pub struct Server {
    handle: Arc<Handle>,
}

/// Ends the tasks when the last [`Server`] is dropped. The tasks hold what is shared, never this.
struct Handle {
    shared: Arc<Shared>,
}

struct Shared {
    inner: Mutex<Inner>,
    started: Instant,
    /// Wakes the timer when a deadline is earlier than the one it sleeps for.
    earlier: Notify,
}

struct Inner {
    broker: Broker,
    tasks: HashMap<ConnectionId, ConnectionTask>,
    /// The deadline that the timer sleeps for.
    armed: Option<Duration>,
    /// The timer and the listeners.
    services: JoinSet<()>,
    connections: JoinSet<()>,
    is_shut_down: bool,
}

/// The task that owns a connection's transport.
struct ConnectionTask {
    /// Notified when there is output.
    output: Arc<Notify>,
    handle: AbortHandle,
}

/// How a connection is closed in order.
#[derive(Clone, Copy)]
enum Farewell {
    /// Nothing: what was written can be read after the end.
    Drop,
    /// Reading until the peer has closed too. A TCP socket that is closed with unread input resets the
    /// connection, and the peer may lose the last packets.
    Drain,
}

impl Server {
    /// Starts a broker without a listener.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn start(options: Options) -> Self {
        let shared = Arc::new(Shared {
            inner: Mutex::new(Inner {
                broker: Broker::new(options.limits, options.access),
                tasks: HashMap::new(),
                armed: None,
                services: JoinSet::new(),
                connections: JoinSet::new(),
                is_shut_down: false,
            }),
            started: Instant::now(),
            earlier: Notify::new(),
        });
        shared.lock().services.spawn(keep_time(Arc::clone(&shared)));
        Self { handle: Arc::new(Handle { shared }) }
    }

    /// Accepts TCP connections at `address`, and returns the actual one: port 0 means any free port.
    pub fn listen(&self, address: SocketAddr) -> io::Result<SocketAddr> {
        let shared = &self.handle.shared;
        let mut inner = shared.lock();
        if inner.is_shut_down {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "the broker has been shut down"));
        }
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // A broker that is started again finds connections of the former one still waiting for their end.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(ACCEPT_QUEUE)?;
        let address = listener.local_addr()?;
        inner.services.spawn(accept(Arc::clone(shared), listener));
        Ok(address)
    }

    /// Connects in memory. The stream is at its end from the beginning if the broker has been shut down or
    /// has too many connections that are not those of a client yet.
    pub fn connect(&self) -> DuplexStream {
        let (client, broker) = tokio::io::duplex(MEMORY_PIPE);
        self.handle.shared.serve(broker, Farewell::Drop);
        client
    }

    /// Tells all clients that the broker shuts down, and closes everything.
    ///
    /// When it returns, the ports are closed and so are all connections; clients that did not take their
    /// last packets within [`Limits::close_within`] have lost them. Sessions and retained messages are
    /// forgotten. Dropping the future closes what is left at once.
    pub async fn shutdown(&self) {
        let shared = &self.handle.shared;
        let (mut services, mut connections, close_within) = {
            let mut inner = shared.lock();
            inner.is_shut_down = true;
            let close_within = inner.broker.limits.close_within;
            (std::mem::take(&mut inner.services), std::mem::take(&mut inner.connections), close_within)
        };
        services.shutdown().await;
        shared.with(|broker, now| broker.shutdown(now));
        let farewell = async { while connections.join_next().await.is_some() {} };
        if timeout(close_within, farewell).await.is_err() {
            connections.shutdown().await;
        }
    }

    /// Closes the transport of a client without a DISCONNECT, as a broken network would. `false` if it is
    /// not connected.
    pub fn kick(&self, client_id: &str) -> bool {
        self.handle.shared.with(|broker, now| broker.kick(now, client_id))
    }

    /// Kicks a client and forgets its session. `false` if there is none.
    pub fn forget_session(&self, client_id: &str) -> bool {
        self.handle.shared.with(|broker, now| broker.forget_session(now, client_id))
    }

    /// Closes the transport of a client right after the next message has been delivered to it, once, whenever
    /// that will be. Its acknowledgement is lost: a message of QoS 1 or 2 is delivered again to a client that
    /// comes back to its session. `false` if there is no session of that client.
    pub fn cut_after_next_delivery(&self, client_id: &str) -> bool {
        self.handle.shared.with(|broker, _| broker.cut_after_next_delivery(client_id))
    }

    /// The messages dropped so far.
    pub fn dropped(&self) -> Dropped {
        self.handle.shared.with(|broker, _| broker.dropped())
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").finish_non_exhaustive()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut inner = self.shared.lock();
        inner.services.abort_all();
        inner.connections.abort_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Lets the broker decide something, then wakes the tasks that it concerns.
    fn with<R>(&self, decide: impl FnOnce(&mut Broker, Duration) -> R) -> R {
        let mut inner = self.lock();
        let result = decide(&mut inner.broker, self.now());
        self.wake(&mut inner);
        result
    }

    fn wake(&self, inner: &mut Inner) {
        for id in inner.broker.take_changed() {
            if inner.broker.is_open(id) {
                if let Some(task) = inner.tasks.get(&id) {
                    task.output.notify_one();
                }
            } else if let Some(task) = inner.tasks.remove(&id) {
                task.handle.abort();
            }
        }
        let deadline = inner.broker.deadline();
        if deadline.is_some_and(|deadline| inner.armed.is_none_or(|armed| deadline < armed)) {
            self.earlier.notify_one();
        }
    }

    /// Hands a transport over to the broker.
    fn serve<S>(self: &Arc<Self>, stream: S, farewell: Farewell)
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let mut inner = self.lock();
        while inner.connections.try_join_next().is_some() {}
        if inner.is_shut_down {
            return;
        }
        let Some(id) = inner.broker.open(self.now()) else { return };
        let output = Arc::new(Notify::new());
        let task = drive(Arc::clone(self), id, Arc::clone(&output), stream, farewell);
        let handle = inner.connections.spawn(task);
        inner.tasks.insert(id, ConnectionTask { output, handle });
        self.wake(&mut inner);
    }
}

/// Calls the broker at every deadline. `biased` here and below: tokio's fair choice is a random one, and
/// a run in virtual time is to be the same every time.
async fn keep_time(shared: Arc<Shared>) {
    loop {
        let deadline = {
            let mut inner = shared.lock();
            inner.armed = inner.broker.deadline();
            inner.armed
        };
        let due = async {
            match deadline.and_then(|deadline| shared.started.checked_add(deadline)) {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = due => shared.with(Broker::tick),
            () = shared.earlier.notified() => {}
        }
    }
}

async fn accept(shared: Arc<Shared>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Without it small packets wait for acknowledgements; with a failure they still arrive.
                let _ = stream.set_nodelay(true);
                shared.serve(stream, Farewell::Drain);
            }
            Err(_) => sleep(ACCEPT_AGAIN).await,
        }
    }
}

/// Moves bytes between a transport and the broker until one of them is done with the other.
async fn drive<S>(shared: Arc<Shared>, id: ConnectionId, output: Arc<Notify>, stream: S, farewell: Farewell)
where
    S: AsyncRead + AsyncWrite,
{
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut buffer = vec![0; READ];
    let is_closed_by_broker = tokio::select! {
        biased;
        () = read(&shared, id, &mut reader, &mut buffer) => false,
        is_complete = write(&shared, id, &output, &mut writer) => is_complete,
    };
    if is_closed_by_broker && writer.shutdown().await.is_ok() && matches!(farewell, Farewell::Drain) {
        // The broker gives up a peer that takes too long, and then this task is aborted.
        while matches!(reader.read(&mut buffer).await, Ok(1..)) {}
    }
    shared.with(|broker, now| broker.closed(now, id));
}

/// Ends with the peer's output.
async fn read(shared: &Shared, id: ConnectionId, reader: &mut (impl AsyncRead + Unpin), buffer: &mut [u8]) {
    while let Ok(length @ 1..) = reader.read(buffer).await {
        shared.with(|broker, now| broker.receive(now, id, buffer.get(..length).unwrap_or_default()));
    }
}

/// Ends when the broker closes the connection (`true`) or the peer takes no more (`false`).
async fn write(
    shared: &Shared,
    id: ConnectionId,
    output: &Notify,
    writer: &mut (impl AsyncWrite + Unpin),
) -> bool {
    loop {
        match shared.with(|broker, now| broker.take_output(now, id)) {
            Output::Send(bytes) => {
                if writer.write_all(&bytes).await.is_err() {
                    return false;
                }
            }
            Output::Wait => output.notified().await,
            Output::Close => return true,
        }
    }
}
