//! The way from Home Assistant's voice assistants to a hub: a Wyoming service of the kind `handle`.
//!
//! ```text
//!   satellite ──► Home Assistant ──transcript──► server ──► requests ──► session ──request/transcript──► hub
//!                        ▲ ◄──handled, not-handled──┘ ◄───────┘ ◄─────reply, speech, availability──────┘
//! ```
//!
//! `event` reads and writes the frames of Wyoming, `server` keeps its peers within limits, `requests` decides what becomes of each
//! question, without I/O, and `session` keeps the connection to the broker. Whatever happens, a question is answered in words
//! that can be said, and before Home Assistant gives up.

mod announce;
mod event;
mod no_reply;
mod requests;
mod server;
mod session;

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use host_desktop::broker::BrokerUrl;
use host_desktop::random::random_seed;

pub use announce::Announcement;
pub use event::{Event, Malformed, ReadError};
pub use no_reply::NoReply;
pub use server::Listener;
pub use session::run;

/// The settings of the service.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the broker is; means nothing to a network in memory.
    pub broker: BrokerUrl,
    /// The service's name at the broker, at most 64 bytes. No two may have the same.
    pub client_id: String,
    /// The hub that is spoken to; the only one at the broker if none is named.
    pub hub: Option<String>,
    /// Decides the random waits.
    pub seed: u64,
}

impl Settings {
    /// A service for the only hub of the broker in this process.
    pub fn in_memory() -> Self {
        Self {
            broker: BrokerUrl::in_memory(),
            client_id: format!("hearthwave-voice-{:016x}", random_seed()),
            hub: None,
            seed: random_seed(),
        }
    }
}

/// Reads where to listen: `[tcp://][HOST:]PORT`. Without a host, only programs on this machine get in.
pub fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let text = text.strip_prefix("tcp://").unwrap_or(text);
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let port = port.parse().map_err(|_| "it ends with a port, like 10900 or 192.168.1.5:10900".to_owned())?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let ip = match host {
        "" | "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        host => host
            .parse()
            .map_err(|_| "the host is an address of this machine, like 192.168.1.5, or 0.0.0.0 for all")?,
    };
    Ok(SocketAddr::new(ip, port))
}
