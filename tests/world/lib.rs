//! The world that a test takes place in: a broker, a hub, and what the test puts around them, all in one thread and,
//! unless a test says otherwise, in virtual time.
//!
//! [`story`] opens one with a controller that the test plays by hand. [`Setup`] opens others.

mod erase;
pub mod flood;
mod lan;
pub mod model;
pub mod relay;
pub mod tls;
mod wire;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use embedded_io_adapters::tokio_1::FromTokio;
use host_broker::{Options, Server as Broker};
use host_sim::console;
use host_sim::flash::MemoryFlash;
use host_sim::hub::{self, Settings};
use host_sim::link;
use host_sim::network::Network;
use host_sim::wifi::{OverWifi, Wifi};
use host_zwave::Home;
use serde_json::Value;
use support::client::Client;
use support::controller::{Controller, zwave_tools};
use support::log::log_to_memory;
use support::typist::Typist;
use support::unique;
use tokio::io::DuplexStream;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, watch};
use tokio::task::LocalSet;
use tokio::time::{sleep, timeout};

pub use erase::Stop;
use erase::{Fifo, Slow};
pub use lan::Lan;
pub use relay::Relay;
pub use wire::{Dialled, Reach, Way, Wire};

/// What nearly every story needs.
pub mod prelude {
    pub use serde_json::{Value, json};
    pub use support::client::{Client, Message, Publish, QoS};
    pub use support::controller::{Controller, a_tool, about_it, zwave_tools};
    pub use support::log::{assert_logged, assert_logged_times, assert_not_logged, log_text, logged};
    pub use support::person::{assert_contains, assert_refused, count};
    pub use tokio::time::{Duration, Instant, sleep, timeout};

    pub use crate::{CLIENT, Reach, Setup, World, story};
}

/// The hub's name in topics.
pub const HUB: &str = "story";

/// The hub's name at the broker.
pub const CLIENT: &str = "hearthwave-story";

/// Longer than any story; a story that hangs ends here.
const A_WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

/// Tells a story of a hub, its broker, and a controller that is played by hand, in virtual time.
pub fn story<T>(tell: impl AsyncFnOnce(&World) -> T) -> T {
    Setup::new().story(tell)
}

/// Runs something in virtual time: when nothing can go on, the clock jumps to the next timer.
pub fn in_virtual_time<T>(story: impl Future<Output = T>) -> T {
    run(true, async { timeout(A_WEEK, story).await.expect("the story came to its end") })
}

/// Runs something in real time.
pub fn in_real_time<T>(story: impl Future<Output = T>) -> T {
    run(false, story)
}

fn run<T>(is_virtual: bool, story: impl Future<Output = T>) -> T {
    log_to_memory();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(is_virtual).build();
    runtime.expect("a runtime").block_on(LocalSet::new().run_until(story))
}

/// What a world is made of.
#[derive(Clone)]
pub struct Setup {
    options: Options,
    network: Option<Network>,
    settings: Settings,
    home: Option<Home>,
    relay: Option<host_relay::Settings>,
    reach: Reach,
    wifi: Option<Wifi>,
    seed: u64,
    line: usize,
    has_slow_flash: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self::new()
    }
}

impl Setup {
    /// A broker in memory, a hub, and a controller that is played by hand.
    pub fn new() -> Self {
        let settings = Settings::in_memory(HUB);
        let (options, reach) = (Options::default(), Reach::Open);
        Self {
            options,
            network: None,
            settings,
            home: None,
            relay: None,
            reach,
            wifi: None,
            seed: 7,
            line: 256 * 1024,
            has_slow_flash: false,
        }
    }

    /// With a hub that is set up in another way.
    pub fn hub(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// With a broker that has these options.
    pub fn broker(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// With a broker that runs already.
    pub fn network(self, network: Network) -> Self {
        Self { network: Some(network), ..self }
    }

    /// With a simulated home at the end of the serial line.
    pub fn home(self, home: &Home) -> Self {
        Self { home: Some(home.clone()), ..self }
    }

    /// With a relay at the broker.
    pub fn relay(self, settings: host_relay::Settings) -> Self {
        Self { relay: Some(settings), ..self }
    }

    /// With another network to the broker.
    pub fn reach(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// With a broker that is reached only while this radio has joined a network.
    pub fn wifi(self, wifi: &Wifi) -> Self {
        Self { wifi: Some(wifi.clone()), ..self }
    }

    /// With other random numbers in the hub.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// With a serial line that takes this many bytes in each direction before its other end reads them.
    pub fn line(self, bytes: usize) -> Self {
        Self { line: bytes, ..self }
    }

    /// With a flash that stops the board while it erases a page, as that of an ESP32 does.
    pub fn slow_flash(self) -> Self {
        Self { has_slow_flash: true, ..self }
    }

    /// Tells a story in this world, in virtual time. The hub ends with it.
    pub fn story<T>(self, tell: impl AsyncFnOnce(&World) -> T) -> T {
        in_virtual_time(self.tell(tell))
    }

    /// Tells a story in this world, in real time.
    pub async fn tell<T>(self, tell: impl AsyncFnOnce(&World) -> T) -> T {
        let world = World::open(self);
        tokio::select! {
            biased;
            never = world.run_hub() => never,
            end = tell(&world) => end,
        }
    }
}

/// Everything around one hub.
pub struct World {
    pub settings: Settings,
    pub wire: Rc<Wire>,
    pub lan: Lan,
    home: Option<Home>,
    _relay: Option<Relay>,
    seed: u64,
    flash: Mutex<MemoryFlash>,
    /// What erases do to the serial line.
    pub stop: Rc<Stop>,
    line_bytes: usize,
    /// The controller's end of the serial line, until it is taken.
    line: RefCell<Option<DuplexStream>>,
    wifi: Option<Wifi>,
    /// What somebody at the hub's console has open, until it is taken.
    console: RefCell<Option<DuplexStream>>,
    power: watch::Sender<bool>,
    is_running: Cell<bool>,
}

impl World {
    fn open(setup: Setup) -> Self {
        let network = setup.network.unwrap_or_else(|| Network::Memory(Broker::start(setup.options)));
        Self {
            settings: setup.settings,
            home: setup.home,
            _relay: setup.relay.map(|settings| Relay::start(&network, settings)),
            wire: Rc::new(Wire::new(network, setup.reach)),
            lan: Lan::new(setup.wifi.clone()),
            seed: setup.seed,
            flash: Mutex::default(),
            stop: Rc::new(Stop::new(setup.has_slow_flash)),
            line_bytes: setup.line,
            line: RefCell::default(),
            wifi: setup.wifi,
            console: RefCell::default(),
            power: watch::Sender::new(true),
            is_running: Cell::new(false),
        }
    }

    /// Runs the hub while it is switched on.
    async fn run_hub(&self) -> ! {
        let mut power = self.power.subscribe();
        // As a platform's seed does, it differs from start to start.
        for seed in (self.seed..).step_by(1 << 40) {
            power.wait_for(|is_on| *is_on).await.expect("the world stands");
            self.is_running.set(true);
            let line = match &self.home {
                Some(home) => {
                    let (rx, tx) = link::to_home(home);
                    (wire::Rx::Home(rx), wire::Tx::new(wire::Line::Home(tx)))
                }
                None => {
                    let (theirs, ours) = tokio::io::duplex(self.line_bytes);
                    self.line.replace(Some(ours));
                    let (rx, tx) = tokio::io::split(theirs);
                    let tx = wire::Line::Played(FromTokio::new(tx));
                    (wire::Rx::Played(FromTokio::new(rx)), wire::Tx::new(tx))
                }
            };
            let (port, people) = console::pair();
            self.console.replace(Some(people));
            let dial = OverWifi(self.wifi.clone(), wire::WireDial::new(self.wire.clone()));
            let (rx, tx) = line;
            let line = (Fifo::new(rx, self.stop.clone()), tx);
            let mut flash = self.flash.lock().await;
            let slow = Slow { flash: &mut *flash, stop: &self.stop };
            tokio::select! {
                biased;
                never = hub::run(
                    &self.settings,
                    line,
                    port,
                    dial,
                    &self.lan,
                    slow,
                    seed,
                ) => never,
                off = power.wait_for(|is_on| !is_on) => drop(off.expect("the world stands")),
            }
            self.is_running.set(false);
        }
        unreachable!("nobody restarts it so often")
    }

    /// Switches the hub off, as if by pulling its plug. It keeps what is in its flash.
    pub async fn switches_off(&self) {
        self.power.send_replace(false);
        while self.is_running.get() {
            tokio::task::yield_now().await;
        }
    }

    /// Switches the hub off and on again.
    pub async fn restarts_the_hub(&self) {
        self.switches_off().await;
        self.power.send_replace(true);
    }

    /// The network to the current broker.
    pub fn network(&self) -> Network {
        self.wire.network.borrow().clone()
    }

    /// A connection to the broker that is current at the time of dialling.
    pub fn way(&self) -> Way {
        Way(self.wire.clone())
    }

    /// The current broker in memory.
    pub fn broker(&self) -> Broker {
        match self.network() {
            Network::Memory(broker) => broker,
            Network::Tcp => panic!("the broker is not in memory"),
        }
    }

    /// Replaces the broker by a new one without sessions.
    pub async fn replaces_the_broker(&self) {
        let old = self.broker();
        self.wire.network.replace(Network::Memory(Broker::start(Options::default())));
        old.shutdown().await;
    }

    /// How often the hub has dialled the broker.
    pub fn dials(&self) -> usize {
        self.wire.dials.borrow().len()
    }

    /// How often the hub has subscribed, each time that it dialled the broker.
    pub fn subscriptions(&self) -> Vec<usize> {
        self.wire.dials.borrow().iter().map(Dialled::subscriptions).collect()
    }

    /// The far end of the last connection that was [`Reach::Mute`], once there is one.
    pub async fn mute(&self) -> DuplexStream {
        loop {
            if let Some(stream) = self.wire.mutes.borrow_mut().pop() {
                return stream;
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// The controller's end of the serial line.
    pub fn controller(&self) -> Controller {
        Controller::at(self.line.take().expect("one controller a story"))
    }

    /// The far end of the hub's serial port of people.
    pub fn console_port(&self) -> DuplexStream {
        self.console.take().expect("one at a time")
    }

    /// Somebody at the hub's console.
    pub fn console(&self) -> Typist {
        Typist::at(self.console_port())
    }

    /// A client with these subscriptions.
    pub async fn client(&self, id: &str, filters: &[&str]) -> Client {
        client(&self.network(), &self.settings, id, filters).await
    }

    /// Somebody with a client, who hears everything of the hub's. The hub is online.
    pub async fn person(&self, id: &str) -> Client {
        let mut person =
            self.client(id, &[&format!("hearthwave/{}/#", self.settings.hub_id), "reply/#"]).await;
        person.waits_for_the_hub().await;
        person
    }

    /// A language model, played by hand: a client that hears what models are asked.
    pub async fn model(&self) -> Client {
        self.client("model", &[&format!("hearthwave/{}/llm/request/#", self.settings.hub_id)]).await
    }

    /// Somebody at a hub whose controller is connected.
    pub async fn connected(&self) -> (Controller, Client) {
        self.connected_with(zwave_tools()).await
    }

    /// Somebody at a hub whose controller, which has these tools, is connected.
    pub async fn connected_with(&self, tools: Value) -> (Controller, Client) {
        let mut controller = self.controller();
        let mut person = self.person("ann").await;
        controller.greets_with(tools).await;
        person.sees_link("ready").await;
        (controller, person)
    }

    /// Somebody and a model, with the hub between them.
    pub async fn talking(&self) -> (Client, Client) {
        (self.person("ann").await, self.model().await)
    }

    /// Waits until the hub knows whether its controller can be reached, and the relay has its subscriptions.
    pub async fn waits_until_ready(&self) {
        let mut client = self.person(&unique("waiting")).await;
        while client.hears("info").await.json()["link"] == "connecting" {}
        sleep(Duration::from_secs(1)).await;
    }

    /// Sends a request over a connection of its own. Returns the reply.
    pub async fn ask(&self, name: &str, request: Value) -> Value {
        ask(&self.network(), &self.settings, name, request).await
    }
}

/// A client of the broker that a hub with these settings has.
pub async fn client(network: &Network, settings: &Settings, id: &str, filters: &[&str]) -> Client {
    let hub = &settings.hub_id;
    match network {
        Network::Memory(broker) => Client::connect(broker.connect(), hub, id, filters).await,
        Network::Tcp => {
            let stream = TcpStream::connect((settings.broker.host.as_str(), settings.broker.port))
                .await
                .expect("a broker");
            Client::connect(stream, hub, id, filters).await
        }
    }
}

/// Asks a hub with these settings for something, over a connection of its own. Returns the reply.
pub async fn ask(network: &Network, settings: &Settings, name: &str, request: Value) -> Value {
    let id = unique("asking");
    let availability = format!("hearthwave/{}/availability", settings.hub_id);
    let mut client = client(network, settings, &id, &[&availability, &format!("reply/{id}")]).await;
    client.waits_for_the_hub().await;
    client.asks_with_response_topic(name, request).await
}
