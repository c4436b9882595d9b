//! The IP stack on top of the Wi-Fi station: IPv4 with an address from DHCP, and DNS, for `.local` names by
//! multicast.

use defmt::{info, warn};
use embassy_executor::Spawner;
use embassy_net::{Config, DhcpConfig, Runner, Stack, StackResources};
use embassy_time::{Duration, with_timeout};
use esp_hal::peripherals::WIFI;
use esp_radio::wifi::Interface;
use static_cell::StaticCell;

use crate::{settings::Network, wifi};

/// One for DHCP, one for DNS, one to the broker.
const SOCKETS: usize = 3;

/// For the network to assign an address; after that a warning is logged.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(10);

/// Starts the radio and the stack, and returns at once: the network comes up in the background. Call once.
pub fn start(spawner: Spawner, radio: WIFI<'static>, network: Network, seed: u64) -> Stack<'static> {
    static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();

    let controller = wifi::start(radio, network).expect("the radio starts");
    let resources = RESOURCES.init_with(StackResources::new);
    let (stack, runner) =
        embassy_net::new(Interface::station(), Config::dhcpv4(DhcpConfig::default()), resources, seed);
    spawner.spawn(run(runner).expect("spawned once"));
    spawner.spawn(log_address(stack).expect("spawned once"));
    spawner.spawn(wifi::keep_joined(controller, network).expect("spawned once"));
    stack
}

#[embassy_executor::task]
async fn run(mut runner: Runner<'static, Interface>) {
    runner.run().await
}

/// Logs which address the hub has, or that it has none.
#[embassy_executor::task]
async fn log_address(stack: Stack<'static>) {
    loop {
        stack.wait_link_up().await;
        if with_timeout(ADDRESS_TIMEOUT, stack.wait_config_up()).await.is_err() && stack.is_link_up() {
            warn!("network: no address yet; check the DHCP server, usually the router");
        }
        stack.wait_config_up().await;
        if let Some(config) = stack.config_v4() {
            info!("network: address {}", config.address);
        }
        stack.wait_config_down().await;
    }
}
