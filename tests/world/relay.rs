//! A relay in this process.

use host_relay::{self as relay, Endpoint, Http, Key, Model, Models, Provider, ProviderExt as _, Settings};
use host_sim::network::Network;
use support::server::Server;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The key of every service, which must appear only in a header.
pub const KEY: &str = "sk-very-secret-7";

/// The address of a server in memory.
pub const SERVER: &str = "http://server.test";

/// A relay that runs until it is stopped or dropped.
pub struct Relay {
    pub settings: Settings,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Relay {
    /// Call within a `LocalSet`: its tasks are not `Send`.
    pub fn start(network: &Network, settings: Settings) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let (network, own) = (network.clone(), settings.clone());
        let task = tokio::task::spawn_local(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            relay::run(network, &own, stopped).await.expect("settings that fit");
        });
        Self { settings, stop, task }
    }

    /// Ends it in the middle of whatever it does.
    pub fn kill(self) {
        self.task.abort();
    }

    /// Asks it to stop, and waits until it has.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        self.task.await.expect("no panic");
    }
}

/// All services at one address.
pub fn models(url: &str) -> Models {
    let mut models = Models::default();
    for service in Provider::ALL {
        let key = service.key_variable().map(|_| Key::new(KEY).expect("a key"));
        models.set(service, Model::At(Endpoint::at(service, url, key).expect("an address")));
    }
    models
}

/// A relay whose services are all at a server in memory.
pub fn settings(server: &Server) -> Settings {
    let server = server.clone();
    let mut settings = Settings::in_memory(models(SERVER));
    settings.http = Http::in_memory(move |_| Ok(server.connect()));
    settings.seed = 7;
    settings
}
