//! How a stack gets its address.

use embassy_net::{Config, DhcpConfig};
use hub_core::HubId;

/// From DHCP. The router lists the hub by its id.
pub fn config(id: HubId<'_>) -> Config {
    let mut dhcp = DhcpConfig::default();
    // Both have at most 32 bytes.
    dhcp.hostname = id.as_str().try_into().ok();
    Config::dhcpv4(dhcp)
}
