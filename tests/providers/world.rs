//! A hub, a home, a broker and a relay in this thread, with a server that plays the providers; in virtual time.

use std::time::Duration;

use host_sim::broker::{Options, Server as Broker};
use host_sim::flash::MemoryFlash;
use host_sim::hub::{self, Settings};
use host_sim::network::Network;
use host_sim::relay::{self, Endpoint, Http, Key, Model, Models, ProviderExt as _, SearchUrl};
use host_sim::zwave::Home;
use host_sim::{caller, link};
use serde_json::Value;
use support::exchange::Provider;
use support::log::log_to_memory;
use support::search;
use support::server::Server;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep};

/// A key, which a server may repeat and nobody may see.
const KEY: &str = "sk-very-secret-7";

/// Longer than a hub lets a person wait; in virtual time it costs nothing.
const PATIENCE: Duration = Duration::from_secs(300);

pub struct World {
    network: Network,
    settings: Settings,
    pub server: Server,
    pub home: Home,
}

impl World {
    /// Asks the hub for something. Returns the reply, and how long it took.
    pub async fn ask(&self, name: &str, request: Value) -> (Value, Duration) {
        let start = Instant::now();
        let payload = request.to_string();
        let asking = caller::ask(self.network.clone(), &self.settings, name, payload.as_bytes(), PATIENCE);
        let reply = asking.await.expect("a reply");
        (serde_json::from_slice(&reply).expect("JSON"), start.elapsed())
    }

    /// Has the hub go by the provider's rule when it is asked to.
    pub async fn sets_rule(&self, provider: &Provider) {
        let (reply, _) = self.ask("config/set", provider.rule()).await;
        assert_eq!(reply["success"], true, "{reply}");
    }
}

/// Runs a story in a world of its own.
pub fn story(searches: bool, tell: impl AsyncFnOnce(World)) {
    log_to_memory();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let local = LocalSet::new();
    runtime.expect("a runtime").block_on(local.run_until(async {
        let (server, home) = (Server::default(), Home::fast(7));
        let network = Network::Memory(Broker::start(Options::default()));
        let settings = Settings::in_memory("story");
        let relay = relay_settings(&server, searches);
        let (relays, hubs) = (network.clone(), network.clone());
        tokio::task::spawn_local(async move {
            relay::run(relays, &relay, std::future::pending()).await.expect("settings that fit");
        });
        let (own, line) = (settings.clone(), link::to_home(&home));
        tokio::task::spawn_local(async move {
            hub::run(&own, line, hubs, MemoryFlash::default(), 7).await;
        });
        caller::wait_for_controller(network.clone(), &settings, PATIENCE).await.expect("a hub");
        // The relay has its subscriptions.
        sleep(Duration::from_secs(1)).await;
        tell(World { network, settings, server, home }).await;
    }));
}

/// A relay that has all services at one server.
fn relay_settings(server: &Server, searches: bool) -> relay::Settings {
    const SERVER: &str = "http://server.test";
    let mut models = Models::default();
    for service in relay::Provider::ALL {
        let key = service.key_variable().map(|_| Key::new(KEY).expect("a key"));
        models.set(service, Model::At(Endpoint::at(service, SERVER, key).expect("an address")));
    }
    let mut settings = relay::Settings::in_memory(models);
    let server = server.clone();
    settings.http = Http::in_memory(move |_| Ok(server.connect()));
    settings.seed = 7;
    settings.search =
        searches.then(|| SearchUrl::new(&format!("{SERVER}{}", search::PATH)).expect("an address"));
    settings
}
