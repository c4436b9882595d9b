//! The network at home, as far as the hub sends datagrams over it: a story plays the machines that answer.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use hub_core::platform::AccessPoint;
use hub_core::{Credentials, DialError, Network, NetworkStatus, Wired};

/// What a machine answers to a datagram, if anything.
type Machine = Rc<dyn Fn(&[u8]) -> Option<Vec<u8>>>;

/// The home's network.
#[derive(Default)]
pub struct Lan {
    machines: RefCell<HashMap<String, Machine>>,
    /// Whom the hub has asked, as `HOST:PORT`.
    pub asked: RefCell<Vec<String>>,
    /// Whether datagrams go to real machines.
    pub is_real: Cell<bool>,
}

impl Lan {
    /// From now on, `HOST:PORT` answers datagrams so.
    pub fn serves(&self, address: &str, answer: impl Fn(&[u8]) -> Option<Vec<u8>> + 'static) {
        self.machines.borrow_mut().insert(address.into(), Rc::new(answer));
    }

    /// From now on, `HOST:PORT` is silent.
    pub fn silences(&self, address: &str) {
        self.machines.borrow_mut().remove(address);
    }

    /// How often the hub has asked `HOST:PORT`.
    pub fn times_asked(&self, address: &str) -> usize {
        self.asked.borrow().iter().filter(|asked| *asked == address).count()
    }
}

impl Network for Lan {
    fn join(&self, credentials: Option<Credentials<'_>>) {
        Wired.join(credentials);
    }

    fn status(&self) -> NetworkStatus {
        NetworkStatus { address: Some([192, 168, 7, 20]), ..Wired.status() }
    }

    async fn scan(&self, found: &mut dyn FnMut(&AccessPoint<'_>)) -> Result<(), &'static str> {
        Wired.scan(found).await
    }

    async fn ask(
        &self,
        host: &str,
        port: u16,
        question: &[u8],
        answer: &mut [u8],
    ) -> Result<usize, DialError> {
        if self.is_real.get() {
            return host_sim::udp::ask(host, port, question, answer).await;
        }
        let address = format!("{host}:{port}");
        self.asked.borrow_mut().push(address.clone());
        let machine = self.machines.borrow().get(&address).cloned();
        let Some(reply) = machine.and_then(|machine| machine(question)) else {
            return std::future::pending().await;
        };
        let length = reply.len().min(answer.len());
        answer[..length].copy_from_slice(&reply[..length]);
        Ok(length)
    }

    fn gateway(&self) -> Option<[u8; 4]> {
        Some([192, 168, 7, 1])
    }
}
