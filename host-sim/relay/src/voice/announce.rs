//! Announces the service on the network, so that Home Assistant finds it.

use std::net::SocketAddr;

use host_desktop::random::random_seed;
use mdns_sd::{IfKind, ServiceDaemon, ServiceInfo};

/// The kind of service that Home Assistant looks for.
const KIND: &str = "_wyoming._tcp.local.";

/// The announcement of a service, until it is dropped.
pub struct Announcement {
    daemon: ServiceDaemon,
    name: String,
}

impl Announcement {
    /// Announces the service that listens at `address`, on all networks if that is any address. The hub's name is told if there
    /// is one, so that several services can be told apart.
    pub fn new(address: SocketAddr, hub: Option<&str>) -> Result<Self, mdns_sd::Error> {
        let daemon = ServiceDaemon::new()?;
        let name = hub.map_or_else(|| "Hearthwave".to_owned(), |hub| format!("Hearthwave {hub}"));
        // No two machines may have the same.
        let host = format!("hearthwave-relay-{:08x}.local.", random_seed() as u32);
        let ip = address.ip();
        let is_any = ip.is_unspecified();
        let told = if is_any { String::new() } else { ip.to_string() };
        let none: &[(&str, &str)] = &[];
        let service = ServiceInfo::new(KIND, &name, &host, told.as_str(), address.port(), none)?;
        if !is_any {
            daemon.disable_interface(IfKind::All)?;
            daemon.enable_interface(IfKind::Addr(ip))?;
        }
        let service = if is_any { service.enable_addr_auto() } else { service };
        let name = service.get_fullname().to_owned();
        daemon.register(service)?;
        Ok(Self { daemon, name })
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // Says that the service is gone, and waits for that to be said, or to fail.
        if let Ok(said) = self.daemon.unregister(&self.name) {
            let _ = said.recv_timeout(std::time::Duration::from_millis(500));
        }
        let _ = self.daemon.shutdown();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use mdns_sd::ServiceEvent;

    use super::*;

    /// Whether the service of that name is found at the port.
    fn finds(name: &str, port: u16, within: Duration) -> bool {
        let daemon = ServiceDaemon::new().expect("a socket");
        daemon.disable_interface(IfKind::All).expect("it runs");
        daemon.enable_interface(IfKind::LoopbackV4).expect("it runs");
        let found = daemon.browse(KIND).expect("it runs");
        let end = Instant::now() + within;
        let mut is_found = false;
        while !is_found && let Ok(event) = found.recv_deadline(end) {
            is_found = matches!(event, ServiceEvent::ServiceResolved(service)
                if service.fullname == format!("{name}.{KIND}") && service.port == port);
        }
        let _ = daemon.shutdown();
        is_found
    }

    #[test]
    fn the_service_is_found_while_it_is_announced() {
        // A port of its own tells it from others that are tested at the same time.
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let hub = format!("of port {}", address.port());
        let announcement = Announcement::new(address, Some(&hub)).expect("announced");
        let name = format!("Hearthwave {hub}");
        assert!(finds(&name, address.port(), Duration::from_secs(20)));
        drop(announcement);
        assert!(!finds(&name, address.port(), Duration::from_secs(1)));
    }
}
