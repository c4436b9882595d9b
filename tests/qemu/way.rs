//! The two ways from the firmware to its broker: in the clear, and by TLS.

use support::Folder;
use support::certificate::{Issued, KeyKind, authority};
use support::mosquitto::{Login, Mosquitto};

use crate::Machine;

/// How the firmware reaches its broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// In the clear.
    Plain,
    /// By TLS, with a certificate under a CA that the firmware trusts.
    Tls,
}

impl Way {
    /// Tells a story once for each way, and says which one it is.
    pub fn each(story: impl Fn(Self)) {
        for way in [Self::Plain, Self::Tls] {
            println!("{way:?}:");
            story(way);
        }
    }

    /// A broker that this way leads to.
    pub fn broker(self) -> Site {
        self.broker_for(None)
    }

    /// The same, for those with the login alone.
    pub fn broker_for(self, login: Option<Login>) -> Site {
        match self {
            Self::Plain => Site { broker: Mosquitto::start_with(login, ""), ca: None },
            Self::Tls => {
                let root = authority("a home", KeyKind::P256);
                let issued = root.issues(KeyKind::P256, |_| {});
                let broker = Mosquitto::start_tls_for(login, &issued, "tls_version tlsv1.3");
                Site { broker, ca: Some(Ca::new(&root)) }
            }
        }
    }
}

/// A certificate that the firmware trusts, in a file.
pub struct Ca {
    folder: Folder,
}

impl Ca {
    pub fn new(trusted: &Issued) -> Self {
        let folder = Folder::new("hearthwave-ca");
        std::fs::write(folder.0.join("ca.pem"), trusted.pem()).expect("a file");
        Self { folder }
    }

    /// A machine that trusts it, at this port for TLS.
    pub fn machine(&self, port: u16, options: &[&str]) -> Machine {
        let ca = format!("ca={}", self.folder.0.join("ca.pem").display());
        Machine::start(port, &[&["tls=1", &ca], options].concat())
    }
}

/// A broker, and what the firmware needs to get there. People come in the clear.
pub struct Site {
    pub broker: Mosquitto,
    ca: Option<Ca>,
}

impl Site {
    /// Starts a machine at this broker, without waiting.
    pub fn machine(&self, options: &[&str]) -> Machine {
        match &self.ca {
            None => Machine::start(self.broker.port, options),
            Some(ca) => ca.machine(self.broker.tls_port, options),
        }
    }
}
