//! People talk with the firmware, and models answer them through a relay that is a program of its own.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use host_sim::hub::Settings;
use host_sim::network::Network;
use host_zwave::Home;
use hub_core::limits::RELAY_EXPIRY;
use serde_json::{Value, json};
use support::exchange::{Exchange, Said, providers};
use support::process::Running;
use support::server::Server;
use support::{sdk, search};
use tokio::time::timeout;
use world::relay::KEY;
use world::{ask, client};

use crate::way::{Site, Way};
use crate::{STACK, serves};
use support::machine::Machine;

/// Longer than the hub lets a person wait.
const PATIENCE: Duration = Duration::from_secs(90);

/// Starts a relay with the broker at `port`, and waits until it can be asked.
pub(crate) fn relay(port: u16, options: &[&str]) -> Running {
    let program = std::env::var_os("HEARTHWAVE_RELAY").expect("HEARTHWAVE_RELAY is that program");
    let mut command = Command::new(program);
    command.args(["--broker", &format!("mqtt://127.0.0.1:{port}")]).args(options).env("RUST_LOG", "debug");
    command.env("ANTHROPIC_API_KEY", KEY).env("OPENAI_API_KEY", KEY).stdin(Stdio::null());
    let relay = Running::start(&mut command);
    relay.output.has("relay: subscribed");
    relay
}

/// The firmware with a home on its line and a broker.
struct World {
    machine: Machine,
    site: Site,
    home: Home,
    settings: Settings,
}

impl World {
    fn new(way: Way) -> Self {
        let site = way.broker();
        let machine = site.machine(&["report=1"]);
        let home = Home::fast(7);
        serves(&home, machine.line());
        let mut settings = Settings::in_memory("qemu");
        (settings.broker.host, settings.broker.port) = ("127.0.0.1".into(), site.broker.port);
        Self { machine, site, home, settings }
    }

    /// Waits for the firmware, then runs this.
    fn tell(&self, story: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let info = format!("hearthwave/{}/#", self.settings.hub_id);
            let mut client = client(&Network::Tcp, &self.settings, "waiting", &[&info]).await;
            timeout(PATIENCE, client.sees_link("ready")).await.expect("the firmware");
            drop(client);
            story.await;
        });
    }

    /// Asks the firmware for something. Returns the reply, and how long it took.
    async fn ask(&self, name: &str, request: Value) -> (Value, Duration) {
        let start = Instant::now();
        let asking = ask(&Network::Tcp, &self.settings, name, request);
        (timeout(PATIENCE, asking).await.expect("a reply"), start.elapsed())
    }

    /// The stack at its deepest, which must be less than a board has.
    fn holds_the_stack(&self, over: &str) {
        // The next report but one covers everything so far.
        std::thread::sleep(Duration::from_millis(2100));
        let used = self.machine.stack_used();
        println!("the firmware's stack, deepest over {over}: {used} bytes");
        assert!(used < STACK, "{used} bytes of stack");
    }
}

#[test]
#[ignore = "needs qemu, mosquitto, the firmware, the relay and a Python with the SDKs; ./tests/run runs it"]
fn what_the_providers_answer_reaches_people_through_the_firmware() {
    Way::each(|way| {
        let (world, server) = (World::new(way), Server::default());
        let providers = providers();
        let mut said = Said::default();
        world.tell(async {
            let url = server.listen().await;
            let urls = ["anthropic", "openai", "ollama"].map(|service| format!("{service}={url}"));
            let options = ["--url", &urls[0], "--url", &urls[1], "--url", &urls[2]];
            let ask = async |name, request| world.ask(name, request).await;
            let ask_only = async |name, request| world.ask(name, request).await.0;

            let without_search = relay(world.site.broker.port, &options);
            search::plays_without_a_service(ask_only).await;
            // Its client id at the broker is free then.
            without_search.stop();

            let search_url = format!("{url}{}", search::PATH);
            let options = [&options[..], &["--search-url", &search_url]].concat();
            let _relay = relay(world.site.broker.port, &options);
            for provider in &providers {
                let (reply, _) = world.ask("config/set", provider.rule()).await;
                assert_eq!(reply["success"], true, "{reply}");
            }
            // The hub asks again as long as the broker may send questions to the relay that left, and this server counts them.
            tokio::time::sleep(Duration::from_secs(RELAY_EXPIRY.as_secs() + 1)).await;
            // One person waits a minute in vain, and blocks nobody else.
            let is_silent = |exchange: &Exchange<'_>| exchange.name == "no answer in time";
            let silent = providers[0].exchanges().find(is_silent).expect("an exchange");
            let others = async {
                let mut said = Said::default();
                for exchange in providers.iter().flat_map(|provider| provider.exchanges()) {
                    if exchange.is_quick {
                        said.0.append(&mut exchange.play(&server, ask, false).await.0);
                    }
                }
                search::plays(&server, ask_only).await;
                said
            };
            let start = Instant::now();
            let others = async {
                let said = others.await;
                println!("{} requests and replies in {:.1} s", said.0.len(), start.elapsed().as_secs_f32());
                said
            };
            let (one, others) = tokio::join!(silent.play(&server, ask, false), others);
            said.0 = [one.0, others.0].concat();
            for device in ["Kitchen Light", "Porch Light", "Coffee Machine"] {
                assert_eq!(world.home.device(device).expect(device).state.to_string(), "on");
            }
        });
        sdk::check(&said);
        world.holds_the_stack("conversations with the providers");
    });
}

#[test]
#[ignore = "needs qemu, mosquitto, the firmware and the relay; ./tests/run runs it"]
fn a_person_talks_with_the_demo_model_through_the_firmware() {
    Way::each(|way| {
        let world = World::new(way);
        let _relay = relay(world.site.broker.port, &["--provider", "demo"]);
        world.tell(async {
            let says = async |text: &str| world.ask("chat", json!({ "text": text })).await.0;
            let reply = says("Turn on the kitchen light and tell me what time it is.").await;
            let words = reply["content"].as_str().unwrap_or_default();
            assert!(words.starts_with("Kitchen Light is now on. It is "), "{reply}");
            let tools: Vec<_> =
                reply["tool_calls"].as_array().expect("calls").iter().map(|call| &call["tool"]).collect();
            assert_eq!(tools, ["control_zwave_device", "hub_datetime"], "{reply}");
            assert_eq!(world.home.device("Kitchen Light").expect("it").state.to_string(), "on");
            let call = world.home.record().calls().into_iter().next_back().expect("a call");
            let arguments = Value::from(call.arguments.expect("arguments"));
            assert_eq!(arguments, json!({ "deviceName": "Kitchen Light", "action": "on" }));
            // The conversation goes on with its history.
            for (text, words) in [
                ("is the kitchen light on", "Yes, Kitchen Light is on."),
                ("what is 6 times 7", "42"),
                ("good night", ""),
            ] {
                let reply = says(text).await;
                assert!(reply["content"].as_str().is_some_and(|content| content.contains(words)), "{reply}");
            }
            assert_eq!(world.home.device("Kitchen Light").expect("it").state.to_string(), "off");
        });
        world.holds_the_stack("conversations with the demo model");
    });
}
