//! Names of hosts.

use embassy_net::dns::DnsQueryType;
use embassy_net::{IpAddress, Stack};
use hub_core::DialError;

/// The address of `host`: a name, a `.local` name or an IPv4 address.
pub(crate) async fn resolve(stack: Stack<'_>, host: &str) -> Result<IpAddress, DialError> {
    let addresses = stack.dns_query(host, DnsQueryType::A).await.unwrap_or_default();
    let has_no_server = || stack.config_v4().is_some_and(|config| config.dns_servers.is_empty());
    match addresses.first() {
        Some(address) => Ok(*address),
        None if !host.ends_with(".local") && has_no_server() => Err(DialError::NoNameServer),
        None => Err(DialError::UnknownHost),
    }
}
