//! The IP stack on top of the Wi-Fi station: IPv4 with an address from DHCP, and DNS, for `.local` names by
//! multicast.

use defmt::{info, warn};
use embassy_executor::Spawner;
use embassy_net::{Runner, Stack, StackResources};
use embassy_time::{Duration, with_timeout};
use esp_hal::peripherals::WIFI;
use esp_radio::wifi::Interface;
use hub_core::{AccessPoint, Credentials, DialError, HubId, Network, NetworkStatus};
use hub_tcp::{config, mdns, udp};
use static_cell::{ConstStaticCell, StaticCell};

use crate::wifi::{self, Wifi};

/// One for DHCP, one for DNS, one to the broker, one for single datagrams, one that answers to the hub's own name.
const SOCKETS: usize = 5;

/// For the network to assign an address; after that a warning is logged.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(10);

/// The board's network.
#[derive(Clone, Copy)]
pub struct Net {
    pub stack: Stack<'static>,
    wifi: &'static Wifi,
}

/// Starts the stack and, when it is first needed, the radio. Call once. The hub's id is its name at the router and, as
/// `<id>.local`, on the network.
#[inline(never)]
pub fn start(spawner: Spawner, radio: WIFI<'static>, id: HubId<'static>, seed: u64) -> Net {
    static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();
    static WIFI: StaticCell<Wifi> = StaticCell::new();

    let wifi: &Wifi = WIFI.init_with(Wifi::new);
    let resources = RESOURCES.init_with(StackResources::new);
    let (stack, runner) = embassy_net::new(Interface::station(), config(id), resources, seed);
    spawner.spawn(run(runner).expect("spawned once"));
    spawner.spawn(log_address(stack).expect("spawned once"));
    spawner.spawn(answer_for_name(stack, id).expect("spawned once"));
    spawner.spawn(wifi::keep_joined(radio, wifi).expect("spawned once"));
    Net { stack, wifi }
}

impl Network for Net {
    fn join(&self, credentials: Option<Credentials<'_>>) {
        self.wifi.join(credentials);
    }

    fn status(&self) -> NetworkStatus {
        let (state, signal) = self.wifi.state();
        let address = self.stack.config_v4().map(|config| config.address.address().octets());
        NetworkStatus { state, has_wifi: true, signal, address }
    }

    async fn scan(&self, found: &mut dyn FnMut(&AccessPoint<'_>)) -> Result<(), &'static str> {
        self.wifi.scan(found).await
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
        Some(self.stack.config_v4()?.gateway?.octets())
    }
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

/// Answers for the hub's name on the network.
#[embassy_executor::task]
async fn answer_for_name(stack: Stack<'static>, id: HubId<'static>) {
    static MEMORY: ConstStaticCell<mdns::Memory> = ConstStaticCell::new(mdns::Memory::new());

    mdns::respond(stack, id, MEMORY.take(), |[a, b, c, d]| {
        warn!(
            "network: another machine, {}.{}.{}.{}, has the name of this hub; set another hub.id",
            a, b, c, d
        );
    })
    .await
}
