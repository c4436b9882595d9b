//! The two ways from the firmware to its broker: in the clear, and by TLS.

use support::certificate::{Issued, KeyKind, authority};
use support::mosquitto::{Login, Mosquitto};

use support::machine::Machine;

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
                Site { broker, ca: Some(root) }
            }
        }
    }
}

/// A broker, and what the firmware needs to get there. People come in the clear.
pub struct Site {
    pub broker: Mosquitto,
    /// The CA of its certificate, if the firmware comes by TLS.
    ca: Option<Issued>,
}

impl Site {
    /// Where the firmware comes in.
    pub fn port(&self) -> u16 {
        match self.ca {
            None => self.broker.port,
            Some(_) => self.broker.tls_port,
        }
    }

    /// Starts a machine at this broker, without waiting.
    pub fn machine(&self, options: &[&str]) -> Machine {
        self.machine_at(self.port(), options)
    }

    /// The same, if another port leads there.
    pub fn machine_at(&self, port: u16, options: &[&str]) -> Machine {
        match &self.ca {
            None => Machine::start(port, options),
            Some(ca) => Machine::start_tls(port, ca, options),
        }
    }
}
