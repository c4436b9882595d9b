//! Somebody who has a hub and asks it things.

use std::time::Duration;

use embedded_io_adapters::tokio_1::FromTokio;
use host_sim::broker::{Options, Server};
use host_sim::caller::ask;
use host_sim::flash::MemoryFlash;
use host_sim::hub::{self, Settings};
use host_sim::network::Network;
use host_sim::zwave::Home;
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// A hub whose owner asks it things.
pub struct Owner {
    network: Network,
    settings: Settings,
    flash: Mutex<MemoryFlash>,
}

impl Owner {
    /// Of a hub that was never switched on.
    pub fn new() -> Self {
        let network = Network::Memory(Server::start(Options::default()));
        Self { network, settings: Settings::in_memory("own"), flash: Mutex::default() }
    }

    /// Tells a story while a hub with these settings runs.
    pub async fn of_a_hub<T>(change: impl FnOnce(&mut Settings), story: impl AsyncFnOnce(&Self) -> T) -> T {
        let mut owner = Self::new();
        change(&mut owner.settings);
        owner.switches_on(story).await
    }

    /// Tells a story while the hub runs. What it remembered when it was on before is there again.
    pub async fn switches_on<T>(&self, story: impl AsyncFnOnce(&Self) -> T) -> T {
        let (rx, tx) = tokio::io::split(Home::start());
        let line = (FromTokio::new(rx), FromTokio::new(tx));
        let mut flash = self.flash.lock().await;
        tokio::select! {
            biased;
            never = hub::run(&self.settings, line, self.network.clone(), &mut *flash, 3) => never,
            end = story(self) => end,
        }
    }

    pub async fn asks(&self, name: &str, request: Value) -> Value {
        let request = request.to_string();
        let patience = Duration::from_secs(120);
        let reply = ask(self.network.clone(), &self.settings, name, request.as_bytes(), patience).await;
        serde_json::from_slice(&reply.expect("an answer")).expect("JSON")
    }

    pub async fn calls(&self, tool: &str, arguments: Value) -> Value {
        self.asks("tool/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// The names of all tools, page by page.
    pub async fn lists(&self, format: &str) -> Vec<Value> {
        let mut tools = Vec::new();
        let mut after = Value::Null;
        loop {
            let mut request = json!({ "format": format });
            if after.is_string() {
                request["after"] = after;
            }
            let reply = self.asks("tool/list", request).await;
            assert_eq!(reply["success"], true, "{reply}");
            tools.extend(reply["tools"].as_array().expect("a list").iter().cloned());
            match &reply["next"] {
                Value::Null => return tools,
                next => after = next.clone(),
            }
        }
    }
}
