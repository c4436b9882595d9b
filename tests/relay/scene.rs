//! A broker in memory, a server in memory, a relay between them, and a hub that asks.

use std::time::Duration;

use host_broker::{Options, Server as Broker};
use host_relay::{Provider, Settings};
use host_sim::network::Network;
use support::log::log_of;
use support::server::Server;
use tokio::time::sleep;
use world::in_virtual_time;
use world::relay::{Relay, settings};

use crate::hub::Hub;

/// A body with every member that the relay reads.
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

pub(crate) struct Scene {
    pub(crate) broker: Broker,
    pub(crate) network: Network,
    pub(crate) server: Server,
    pub(crate) relay: Relay,
    pub(crate) hub: Hub,
}

/// Starts a relay, and waits until it has its subscriptions.
pub(crate) async fn started(network: &Network, settings: Settings) -> Relay {
    let relay = Relay::start(network, settings);
    sleep(Duration::from_secs(1)).await;
    relay
}

/// Tells a story of a relay whose services are all at `server`, in virtual time.
pub(crate) fn story(server: Server, tell: impl AsyncFnOnce(Scene)) {
    in_virtual_time(async {
        let broker = Broker::start(Options::default());
        let network = Network::Memory(broker.clone());
        let hub = Hub::connect(broker.connect(), "kitchen").await;
        let relay = started(&network, settings(&server)).await;
        tell(Scene { broker, network, server, relay, hub }).await;
    });
}

/// What the relay has logged about requests.
pub(crate) fn logged_requests() -> Vec<String> {
    let of_requests = |line: &&str| line.contains(" asked ");
    log_of("host_relay").lines().filter(of_requests).map(str::to_owned).collect()
}
