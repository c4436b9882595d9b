//! A broker in memory, a server in memory, and a relay between them.

use std::time::Duration;

use host_sim::broker::{Options, Server as Broker};
use host_sim::network::Network;
use host_sim::relay::{self, Endpoint, Http, Key, Model, Models, Provider, ProviderExt as _, Settings};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::log;
use support::server::Server;

/// What must not be seen anywhere but in a header.
pub(crate) const KEY: &str = "sk-very-secret-7";

/// A body with everything that is looked at.
pub(crate) const BODY: &str = r#"{ "model" : "best-1", "messages":[{"role":"user","content":"grüezi"}] }"#;

/// A reply of each service, with its usage.
pub(crate) fn reply(service: Provider) -> &'static str {
    match service {
        Provider::Anthropic => {
            r#"{"content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":12,"output_tokens":3}}"#
        }
        Provider::OpenAi => {
            r#"{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":12,"completion_tokens":3}}"#
        }
        Provider::Ollama => {
            r#"{"message":{"content":"hi"},"done":true,"prompt_eval_count":12,"eval_count":3}"#
        }
    }
}

/// All services at one server.
pub(crate) fn models(url: &str) -> Models {
    let mut models = Models::default();
    for service in Provider::ALL {
        let key = service.key_variable().map(|_| Key::new(KEY).expect("a key"));
        models.set(service, Model::At(Endpoint::at(service, url, key).expect("an address")));
    }
    models
}

/// A relay that runs until it is stopped.
pub(crate) struct Relay {
    pub(crate) settings: Settings,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Relay {
    /// Must be within a `LocalSet`: what runs over a network is not for other threads.
    pub(crate) fn start(network: &Network, settings: Settings) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let (network, own) = (network.clone(), settings.clone());
        let task = tokio::task::spawn_local(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            relay::run(network, &own, stopped).await.expect("settings that fit");
        });
        Self { settings, stop: Some(stop), task }
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) async fn stop(mut self) {
        let _ = self.stop.take().expect("still running").send(());
        self.task.await.expect("no panic");
    }
}

pub(crate) struct World {
    pub(crate) broker: Broker,
    pub(crate) network: Network,
    pub(crate) server: Server,
    pub(crate) relay: Relay,
    pub(crate) hub: Client,
}

impl World {
    pub(crate) async fn new(server: Server) -> Self {
        log::keep();
        let broker = Broker::start(Options::default());
        let network = Network::Memory(broker.clone());
        let relay = Relay::start(&network, settings(&server));
        let hub = Client::hub(&network, "kitchen", 0).await;
        // The relay has its subscriptions.
        tokio::time::sleep(Duration::from_secs(1)).await;
        Self { broker, network, server, relay, hub }
    }
}

/// A relay whose services are all at a server in memory.
pub(crate) fn settings(server: &Server) -> Settings {
    let server = server.clone();
    let mut settings = Settings::in_memory(models("http://server.test"));
    settings.http = Http::in_memory(move |_| Ok(server.connect()));
    settings.seed = 7;
    settings
}

/// Runs a story in a world of its own, in virtual time.
pub(crate) fn story(server: Server, tell: impl AsyncFnOnce(World)) {
    in_virtual_time(async { tell(World::new(server).await).await });
}

/// Runs something in virtual time.
pub(crate) fn in_virtual_time(story: impl Future<Output = ()>) {
    run(true, story);
}

/// Runs something in real time.
pub(crate) fn in_real_time(story: impl Future<Output = ()>) {
    run(false, story);
}

fn run(is_paused: bool, story: impl Future<Output = ()>) {
    log::keep();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(is_paused).build();
    let local = tokio::task::LocalSet::new();
    runtime.expect("a runtime").block_on(local.run_until(story));
}
