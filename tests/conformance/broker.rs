//! The brokers under test.

use std::net::{Ipv4Addr, SocketAddr};

use host_broker::{Access, Limits, Login, Options, Server};
use host_desktop::broker::Stream;
use support::mosquitto::Mosquitto;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::PATIENCE;

/// The largest packet that every broker under test takes.
pub(crate) const PACKET_SIZE: u32 = 300_000;

/// The user name and password of the brokers that require a login.
pub(crate) const LOGIN: (&str, &str) = ("hub", "secret");

/// A broker, and the network to it.
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

impl Subject {
    /// A broker without a login.
    pub(crate) async fn start(self) -> Broker {
        self.start_with(false).await
    }

    /// A broker that requires the [`LOGIN`].
    pub(crate) async fn start_locked(self) -> Broker {
        self.start_with(true).await
    }

    async fn start_with(self, locked: bool) -> Broker {
        if self == Self::Mosquitto {
            let further = format!("max_packet_size {PACKET_SIZE}\nmax_queued_messages 2000");
            let process = Mosquitto::start_with(locked.then_some(LOGIN), &further);
            let address = (Ipv4Addr::LOCALHOST, process.port).into();
            return Broker { address, kind: Kind::Mosquitto { _process: process } };
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
