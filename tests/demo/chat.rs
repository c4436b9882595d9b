//! Somebody who talks to a hub, which asks the demo model through a relay.

use host_relay::{Models, Settings};
use host_sim::options::Llm;
use host_zwave::Home;
use serde_json::json;
use world::{Setup, World};

pub(crate) struct Chat<'w> {
    world: &'w World,
    home: Home,
}

/// The result of one sentence.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) content: String,
    /// The calls, like `volume {"level":30}`.
    pub(crate) calls: Vec<String>,
}

impl Chat<'_> {
    pub(crate) async fn say(&self, text: &str) -> Answer {
        let reply = self.world.ask("chat", json!({ "text": text })).await;
        let calls = reply["tool_calls"].as_array().expect("calls").iter();
        Answer {
            content: reply["content"].as_str().expect("words").into(),
            calls: calls
                .map(|call| format!("{} {}", call["tool"].as_str().expect("a name"), call["params"]))
                .collect(),
        }
    }

    /// The state of a device.
    pub(crate) fn stands(&self, name: &str) -> String {
        self.home.device(name).expect(name).state.to_string()
    }
}

/// Runs a hub, a relay and a home, in virtual time.
pub(crate) fn chat(tell: impl AsyncFnOnce(&Chat<'_>)) {
    let home = Home::fast(7);
    let hub = Setup::new().home(&home).hub(|hub| hub.rule = Llm::Demo.rule());
    hub.relay(Settings::in_memory(Models::demo())).story(async |world| {
        world.waits_until_ready().await;
        // What needs approval has stories of its own.
        for key in ["gate.unlock", "gate.siren"] {
            world.ask("config/set", json!({ "key": key, "value": "allow" })).await;
        }
        tell(&Chat { world, home }).await;
    });
}
