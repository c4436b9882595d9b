//! A simulated radio: access points around it, and the one that it has joined.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use hub_core::platform::{AccessPoint, Credentials, Destination, NetworkState, NetworkStatus};
use hub_core::{Dial, DialError, Network};
use tokio::time::{Instant, sleep};

use crate::udp;

/// From the order to join to the address.
const JOINS_WITHIN: Duration = Duration::from_secs(2);

/// The time between getting an address and the first measurement of the signal.
const HEARS_WITHIN: Duration = Duration::from_secs(5);

/// For all channels.
const SCANS_WITHIN: Duration = Duration::from_secs(2);

/// How often a dialler looks whether there is a network.
const LOOKS_AGAIN: Duration = Duration::from_millis(100);

/// What a joined radio is given.
const ADDRESS: [u8; 4] = [192, 168, 4, 20];
const GATEWAY: [u8; 4] = [192, 168, 4, 1];

/// The secured network of [`Wifi::default`], and its password.
pub const HOME: (&str, &str) = ("Simulated Home", "correct horse");

/// The open network of [`Wifi::default`].
pub const CAFE: &str = "Simulated Café";

/// A network in range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its name.
    pub ssid: String,
    /// Its password; empty for an open one.
    pub password: String,
    /// How well it is heard, in dBm.
    pub signal: i8,
}

/// A radio. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Wifi(Rc<Radio>);

#[derive(Debug)]
struct Radio {
    points: RefCell<Vec<Point>>,
    /// Name, password, and since when.
    wanted: RefCell<Option<(String, String, Instant)>>,
    joins: Cell<usize>,
}

/// A locked network, an open one, and one with the name of the first that is further away.
impl Default for Wifi {
    fn default() -> Self {
        let point = |ssid: &str, password: &str, signal| Point {
            ssid: ssid.into(),
            password: password.into(),
            signal,
        };
        let (home, password) = HOME;
        Self::new(vec![point(CAFE, "", -81), point(home, password, -74), point(home, password, -52)])
    }
}

impl Wifi {
    /// A radio with these networks in range.
    pub fn new(points: Vec<Point>) -> Self {
        let (points, wanted, joins) = (RefCell::new(points), RefCell::default(), Cell::new(0));
        Self(Rc::new(Radio { points, wanted, joins }))
    }

    /// Other networks are in range now.
    pub fn replace(&self, points: Vec<Point>) {
        *self.0.points.borrow_mut() = points;
    }

    /// How often the radio was told to join.
    pub fn joins(&self) -> usize {
        self.0.joins.get()
    }

    /// The name of the network that the radio has joined.
    pub fn joined(&self) -> Option<String> {
        let is_joined = self.status().state == NetworkState::Joined;
        self.0.wanted.borrow().as_ref().filter(|_| is_joined).map(|(ssid, ..)| ssid.clone())
    }

    /// The strongest of this name.
    fn find(&self, ssid: &str) -> Option<Point> {
        let points = self.0.points.borrow();
        points.iter().filter(|point| point.ssid == ssid).max_by_key(|point| point.signal).cloned()
    }
}

impl Network for Wifi {
    fn join(&self, credentials: Option<Credentials<'_>>) {
        self.0.joins.set(self.0.joins.get() + 1);
        let wanted = credentials.map(|to| (to.ssid.into(), to.password.into(), Instant::now()));
        *self.0.wanted.borrow_mut() = wanted;
    }

    fn status(&self) -> NetworkStatus {
        let status = |state| NetworkStatus { state, has_wifi: true, signal: None, address: None };
        let wanted = self.0.wanted.borrow();
        let Some((ssid, password, since)) = &*wanted else { return status(NetworkState::Off) };
        match self.find(ssid) {
            _ if since.elapsed() < JOINS_WITHIN => status(NetworkState::Joining),
            None => status(NetworkState::Failed("no network of that name is in range; check wifi.ssid")),
            Some(point) if point.password != *password => {
                status(NetworkState::Failed("it does not let the hub in; check wifi.password"))
            }
            Some(point) => NetworkStatus {
                state: NetworkState::Joined,
                has_wifi: true,
                signal: (since.elapsed() >= JOINS_WITHIN + HEARS_WITHIN).then_some(point.signal),
                address: Some(ADDRESS),
            },
        }
    }

    async fn scan(&self, found: &mut dyn FnMut(&AccessPoint<'_>)) -> Result<(), &'static str> {
        sleep(SCANS_WITHIN).await;
        let mut points = self.0.points.borrow().clone();
        points.sort_by_key(|point| -i16::from(point.signal));
        let mut known: Vec<&str> = Vec::new();
        for Point { ssid, password, signal } in &points {
            if !known.contains(&ssid.as_str()) {
                known.push(ssid);
                found(&AccessPoint { ssid, signal: *signal, is_open: password.is_empty() });
            }
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
        udp::ask(host, port, question, answer).await
    }

    fn gateway(&self) -> Option<[u8; 4]> {
        self.joined().map(|_| GATEWAY)
    }
}

/// A way to the broker that is there only while the radio, if there is one, has joined a network.
#[derive(Debug)]
pub struct OverWifi<D>(pub Option<Wifi>, pub D);

impl<D: Dial> Dial for OverWifi<D> {
    type Io<'a>
        = D::Io<'a>
    where
        Self: 'a;

    async fn dial(&mut self, to: &Destination<'_>) -> Result<Self::Io<'_>, DialError> {
        while self.0.as_ref().is_some_and(|wifi| wifi.joined().is_none()) {
            sleep(LOOKS_AGAIN).await;
        }
        self.1.dial(to).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_radio_joins_what_is_there_with_the_right_password() {
        let wifi = Wifi::default();
        assert_eq!(wifi.status().state, NetworkState::Off);
        let (ssid, password) = HOME;
        for (ssid, password, is_joined) in
            [(ssid, password, true), (ssid, "wrong", false), (CAFE, "", true), ("nowhere", password, false)]
        {
            wifi.join(Some(Credentials { ssid, password }));
            assert_eq!(wifi.status().state, NetworkState::Joining);
            sleep(JOINS_WITHIN).await;
            assert_eq!(wifi.joined().is_some(), is_joined, "{ssid} {password}");
            assert_eq!(wifi.status().address.is_some(), is_joined);
        }
        wifi.join(Some(Credentials { ssid, password }));
        sleep(JOINS_WITHIN).await;
        assert_eq!(wifi.status().signal, None, "it is measured later");
        sleep(HEARS_WITHIN).await;
        assert_eq!(wifi.status().signal, Some(-52));
        wifi.replace(Vec::new());
        assert!(matches!(wifi.status().state, NetworkState::Failed(_)));
        wifi.join(None);
        assert_eq!((wifi.status().state, wifi.gateway()), (NetworkState::Off, None));
    }

    #[tokio::test(start_paused = true)]
    async fn each_name_is_found_once_and_the_strongest_first() {
        let mut found = Vec::new();
        let mut note =
            |point: &AccessPoint<'_>| found.push((point.ssid.to_owned(), point.signal, point.is_open));
        Wifi::default().scan(&mut note).await.expect("a list");
        assert_eq!(found, [(HOME.0.to_owned(), -52, false), (CAFE.to_owned(), -81, true)]);
    }
}
