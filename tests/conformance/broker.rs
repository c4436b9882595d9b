//! The brokers under test.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use host_sim::broker::{Access, Limits, Login, Options, Server};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::{PATIENCE, unique};

/// The largest packet that every broker under test takes.
pub(crate) const PACKET_SIZE: u32 = 300_000;

/// The user name and password that the brokers with a lock know.
pub(crate) const LOGIN: (&str, &str) = ("hub", "secret");

/// How to reach which broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    EmbeddedOverTcp,
    EmbeddedInMemory,
    Mosquitto,
}

/// A running broker; it ends with its owner.
pub(crate) struct Broker {
    pub(crate) address: SocketAddr,
    kind: Kind,
}

enum Kind {
    Embedded { server: Server, in_memory: bool },
    Mosquitto { _process: Mosquitto },
}

/// What a device talks through.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

impl Subject {
    /// A broker for everybody.
    pub(crate) async fn start(self) -> Broker {
        self.start_with(false).await
    }

    /// A broker for those with the [`LOGIN`].
    pub(crate) async fn start_locked(self) -> Broker {
        self.start_with(true).await
    }

    async fn start_with(self, locked: bool) -> Broker {
        if self == Self::Mosquitto {
            let process = Mosquitto::start(locked).await;
            return Broker { address: process.address, kind: Kind::Mosquitto { _process: process } };
        }
        let (user, password) = LOGIN;
        let access = match locked {
            true => Access::Logins(vec![Login { user: user.into(), password: password.into() }]),
            false => Access::Anyone,
        };
        let limits = Limits { packet_size: PACKET_SIZE, ..Limits::default() };
        let server = Server::start(Options { limits, access });
        let address = server.listen((Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
        Broker { address, kind: Kind::Embedded { server, in_memory: self == Self::EmbeddedInMemory } }
    }
}

impl Broker {
    /// A connection for a device.
    pub(crate) async fn dial(&self) -> Box<dyn Stream> {
        match &self.kind {
            Kind::Embedded { server, in_memory: true } => Box::new(server.connect()),
            _ => {
                let stream = timeout(PATIENCE, TcpStream::connect(self.address)).await;
                let stream = stream.expect("a connection in time").expect("a connection");
                stream.set_nodelay(true).expect("a socket without delay");
                Box::new(stream)
            }
        }
    }
}

/// A mosquitto process with a directory of its own.
struct Mosquitto {
    address: SocketAddr,
    process: Child,
    directory: PathBuf,
}

impl Mosquitto {
    async fn start(locked: bool) -> Self {
        // Somebody else may take the port between its choice and its use.
        for _ in 0..5 {
            if let Some(mosquitto) = Self::try_start(locked).await {
                return mosquitto;
            }
        }
        panic!("mosquitto does not start");
    }

    async fn try_start(locked: bool) -> Option<Self> {
        let port = {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            listener.local_addr().expect("its number").port()
        };
        let directory = std::env::temp_dir().join(unique("hearthwave-conformance"));
        fs::create_dir_all(&directory).expect("a directory");
        let access = match locked {
            true => format!("allow_anonymous false\npassword_file {}", passwords(&directory).display()),
            false => "allow_anonymous true".into(),
        };
        let configuration = directory.join("mosquitto.conf");
        // Started by root, mosquitto would become another user, who may not read the passwords.
        let text = format!(
            "listener {port} 127.0.0.1\n{access}\nmax_packet_size {PACKET_SIZE}\n\
             max_queued_messages 2000\nuser root\n"
        );
        fs::write(&configuration, text).expect("a configuration");
        let log = fs::File::create(directory.join("log")).expect("a log");
        let process = Command::new(program("mosquitto"))
            .arg("-c")
            .arg(&configuration)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("mosquitto");
        let address = (Ipv4Addr::LOCALHOST, port).into();
        let mut mosquitto = Self { address, process, directory };
        let listening = async {
            while TcpStream::connect(address).await.is_err() {
                if mosquitto.has_ended() {
                    return false;
                }
                sleep(Duration::from_millis(10)).await;
            }
            true
        };
        let is_listening = timeout(PATIENCE, listening).await.expect("mosquitto listens in time");
        (is_listening && !mosquitto.has_ended()).then_some(mosquitto)
    }

    fn has_ended(&mut self) -> bool {
        self.process.try_wait().expect("its state").is_some()
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            let log = fs::read(self.directory.join("log")).unwrap_or_default();
            eprintln!("mosquitto said:\n{}", String::from_utf8_lossy(&log));
        }
        // A directory that stays behind in the place for temporary ones does no harm.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Writes the file with the [`LOGIN`].
fn passwords(directory: &Path) -> PathBuf {
    let file = directory.join("passwords");
    let (user, password) = LOGIN;
    let written = Command::new(program("mosquitto_passwd"))
        .args(["-b", "-c"])
        .arg(&file)
        .args([user, password])
        .status()
        .expect("mosquitto_passwd");
    assert!(written.success(), "mosquitto_passwd failed");
    file
}

/// Daemons are often installed where only root looks for programs.
fn program(name: &str) -> PathBuf {
    let usual = Path::new("/usr/sbin").join(name);
    if usual.exists() { usual } else { name.into() }
}
