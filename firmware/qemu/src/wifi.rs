//! Simulated Wi-Fi: two networks in range, and the network card's cable is plugged in while the right one is joined.

use core::cell::RefCell;

use embassy_net::Stack;
use hub_core::platform::{AccessPoint, Credentials, NetworkState, NetworkStatus};
use hub_core::{DialError, Network};
use hub_tcp::udp;

use crate::net;

/// Names, passwords and signals, the strongest first.
const NETWORKS: [(&str, &str, i8); 2] =
    [("Simulated Home", "correct horse", -52), ("Simulated Café", "", -81)];

/// The network that the firmware joins unless it is told otherwise.
pub const HOME: Credentials<'static> = Credentials { ssid: NETWORKS[0].0, password: NETWORKS[0].1 };

/// The radio.
pub struct Wifi {
    stack: Stack<'static>,
    /// The name that was to be joined, and how well it is heard, or why it is not joined.
    joined: RefCell<Option<Result<i8, &'static str>>>,
}

impl Wifi {
    /// A radio that has joined nothing.
    pub fn new(stack: Stack<'static>) -> Self {
        Self { stack, joined: RefCell::new(None) }
    }

    fn address(&self) -> Option<embassy_net::StaticConfigV4> {
        self.stack.config_v4()
    }
}

impl Network for Wifi {
    fn join(&self, credentials: Option<Credentials<'_>>) {
        let joined = credentials.map(|Credentials { ssid, password }| {
            let found = NETWORKS.iter().find(|(name, ..)| *name == ssid);
            let (_, right, signal) = found.ok_or("no network of that name is in range; check wifi.ssid")?;
            if *right == password {
                Ok(*signal)
            } else {
                Err("it does not let the hub in; check wifi.password")
            }
        });
        net::plug(matches!(joined, Some(Ok(_))));
        *self.joined.borrow_mut() = joined;
    }

    fn status(&self) -> NetworkStatus {
        let address = self.address().map(|config| config.address.address().octets());
        let (state, signal) = match *self.joined.borrow() {
            None => (NetworkState::Off, None),
            Some(Err(why)) => (NetworkState::Failed(why), None),
            Some(Ok(signal)) if address.is_some() => (NetworkState::Joined, Some(signal)),
            Some(Ok(_)) => (NetworkState::Joining, None),
        };
        NetworkStatus { state, has_wifi: true, signal, address: signal.and(address) }
    }

    async fn scan(&self, found: &mut dyn FnMut(&AccessPoint<'_>)) -> Result<(), &'static str> {
        for (ssid, password, signal) in NETWORKS {
            found(&AccessPoint { ssid, signal, is_open: password.is_empty() });
        }
        Ok(())
    }

    async fn ask(
        &self,
        host: &str,
        port: u16,
        question: &[u8],
        answer: &mut [u8],
    ) -> Result<usize, DialError> {
        udp::ask(self.stack, host, port, question, answer).await
    }

    fn gateway(&self) -> Option<[u8; 4]> {
        self.address()?.gateway.map(|gateway| gateway.octets())
    }
}
