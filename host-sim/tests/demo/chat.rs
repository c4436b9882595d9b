//! Somebody who talks to a hub, which asks the demo model through a relay.

use std::time::Duration;

use host_sim::broker::{Options, Server};
use host_sim::caller::{ask, wait_for_controller};
use host_sim::flash::MemoryFlash;
use host_sim::hub::{self, Settings};
use host_sim::link;
use host_sim::network::Network;
use host_sim::options::Llm;
use host_sim::relay::{self, Models};
use host_sim::zwave::Home;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Chat {
    network: Network,
    settings: Settings,
    pub(crate) home: Home,
}

/// What came of one thing that was said.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) content: String,
    /// The calls, like `volume {"level":30}`.
    pub(crate) calls: Vec<String>,
}

impl Chat {
    pub(crate) async fn say(&self, text: &str) -> Answer {
        let payload = json!({ "text": text }).to_string();
        let reply = ask(self.network.clone(), &self.settings, "chat", payload.as_bytes(), PATIENCE).await;
        let reply: Value = serde_json::from_slice(&reply.expect("an answer")).expect("JSON");
        let calls = reply["tool_calls"].as_array().expect("calls").iter();
        Answer {
            content: reply["content"].as_str().expect("words").into(),
            calls: calls
                .map(|call| format!("{} {}", call["tool"].as_str().expect("a name"), call["params"]))
                .collect(),
        }
    }

    /// How a device stands.
    pub(crate) fn stands(&self, name: &str) -> String {
        self.home.device(name).expect(name).state.to_string()
    }
}

/// Runs a hub, a relay and a home, in virtual time.
pub(crate) fn chat(tell: impl AsyncFnOnce(&Chat)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let network = Network::Memory(Server::start(Options::default()));
        let settings = Settings { rule: Llm::Demo.rule(), ..Settings::in_memory("sim") };
        let home = Home::fast(7);
        let hub = hub::run(&settings, link::to_home(&home), network.clone(), MemoryFlash::default(), 7);
        let models = relay::Settings::in_memory(Models::demo());
        let relaying = relay::run(network.clone(), &models, std::future::pending());
        let telling = async {
            wait_for_controller(network.clone(), &settings, PATIENCE).await.expect("a controller");
            let chat = Chat { network: network.clone(), settings: settings.clone(), home: home.clone() };
            tell(&chat).await;
        };
        tokio::select! {
            never = hub => never,
            ended = relaying => panic!("the relay ended: {ended:?}"),
            () = telling => {}
        }
    });
}
