//! The hub on the desktop with the broker that people run, asked with the programs that people use.

mod guarded;
mod house;
mod roles;

use std::time::Duration;

use host_sim::network::Network;
use host_sim::zwave::Home;
use serde_json::{Value, json};
use support::log::{assert_logged, assert_not_logged};
use support::mosquitto::Mosquitto;
use support::person::assert_refused;
use support::server::{Act, Server};
use support::wait_for;
use tokio::sync::oneshot;
use world::flood::{REQUESTS, flood};
use world::model::stop;
use world::{Setup, in_real_time};

const CALL: &str = "hearthwave/desk/request/tool/call";

/// A hub at the broker at `port`.
fn desk(port: u16, login: Option<(&'static str, &'static str)>) -> Setup {
    Setup::new().network(Network::Tcp).home(&Home::default()).hub(|hub| {
        hub.hub_id = "desk".into();
        (hub.broker.host, hub.broker.port) = ("localhost".into(), port);
        hub.broker.login = login.map(|(user, password)| (user.into(), password.into()));
    })
}

/// A hub in a thread of its own, which ends when this is dropped.
struct HubThread(Option<oneshot::Sender<()>>);

impl HubThread {
    fn start(port: u16, login: Option<(&'static str, &'static str)>) -> Self {
        let (stop, stopped) = oneshot::channel();
        std::thread::spawn(move || {
            in_real_time(desk(port, login).tell(async |_| drop(stopped.await)));
        });
        Self(Some(stop))
    }
}

impl Drop for HubThread {
    fn drop(&mut self) {
        let _ = self.0.take().map(|stop| stop.send(()));
    }
}

#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn the_hub_serves_through_mosquitto_and_survives_its_restart() {
    let mut broker = Mosquitto::start();
    let desk = HubThread::start(broker.port, None);
    assert_eq!(broker.next_message("hearthwave/desk/availability"), "online");
    broker.echo("desk", "first");

    let call = br#"{"name":"echo","arguments":{"a":1}}"#;
    let reply = broker.ask_in_two_terminals(CALL, call, "hearthwave/desk/response/tool/call");
    let reply: Value = serde_json::from_str(&reply).expect("JSON");
    assert_eq!(reply["result"]["echo"]["a"], 1);

    let reply: Value = serde_json::from_str(&broker.ask(CALL, &[b'x'; 100_000])).expect("JSON");
    assert_eq!(reply["error_type"], "too_large", "{reply}");
    broker.echo("desk", "still there");

    broker.kill();
    std::thread::sleep(Duration::from_secs(2));
    broker.restart();
    assert_eq!(broker.next_message("hearthwave/desk/availability"), "online");
    broker.echo("desk", "back again");

    drop(desk);
    wait_for("the will", || broker.next_message("hearthwave/desk/availability") == "offline");
}

/// While a model thinks, the broker is killed and loses all sessions. Hub, relay and person reconnect by themselves.
#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn a_restart_in_mid_conversation_costs_no_reply() {
    let mut broker = Mosquitto::start();
    let server = Server::always(Act::slow(4, &stop("Hello.").to_string()));
    let mut relay = world::relay::settings(&server);
    (relay.broker.host, relay.broker.port) = ("localhost".into(), broker.port);
    in_real_time(desk(broker.port, None).relay(relay).tell(async |world| {
        let ann = world.person("ann").await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        ann.says(json!({ "text": "Hi" }));
        tokio::time::sleep(Duration::from_secs(1)).await;
        broker.kill();
        tokio::time::sleep(Duration::from_secs(1)).await;
        broker.restart();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut ann = world.person("ann").await;
        assert_eq!(ann.reply().await["content"], "Hello.");
    }));
}

#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn the_hub_logs_in() {
    let broker = Mosquitto::start_locked(("hub", "secret"));
    let _desk = HubThread::start(broker.port, Some(("hub", "secret")));
    assert_eq!(broker.next_message("hearthwave/desk/availability"), "online");
    broker.echo("desk", "inside");
}

#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn a_flood_through_mosquitto_gets_answers_and_leaves_the_hub_well() {
    let broker = Mosquitto::start_with(None, "set_tcp_nodelay true");
    let server = Server::always(Act::ok(&stop("Hello.").to_string()));
    let mut relay = world::relay::settings(&server);
    (relay.broker.host, relay.broker.port) = ("localhost".into(), broker.port);
    in_real_time(desk(broker.port, None).relay(relay).tell(async |world| {
        let mut mallory = world.person("mallory").await;
        // On a busy machine mosquitto may be slow to acknowledge.
        flood(&mut mallory, "reply/flood", REQUESTS / 10).await;
        assert_eq!(world.dials(), 1, "the hub kept its connection");
    }));
}

#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn a_broker_without_qos_1_does() {
    let broker = Mosquitto::start_with(None, "max_qos 0");
    let _desk = HubThread::start(broker.port, None);
    for number in 0..12 {
        assert_eq!(broker.next_message("hearthwave/desk/availability"), "online");
        broker.echo("desk", &number.to_string());
    }
}

#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn a_mosquitto_that_keeps_nothing_is_named_and_served() {
    let broker = Mosquitto::start_with(None, "retain_available false");
    in_real_time(desk(broker.port, None).tell(async |world| {
        // Who is there before the hub hears that it comes.
        let mut ann = world.client("ann", &["hearthwave/desk/#", "reply/#"]).await;
        world.restarts_the_hub().await;
        ann.sees_online().await;
        ann.gets_an_echo().await;
        assert_logged(
            "it refuses retained messages (mosquitto: retain_available); the hub tries without them",
        );
        assert_logged("the broker keeps no retained messages");
        world.switches_off().await;
        assert_eq!(ann.hears("availability").await.payload, b"offline", "the will");
    }));
}

#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn a_mosquitto_that_takes_only_small_packets_is_named_with_its_setting() {
    for (setting, words) in [
        ("max_packet_size", "packets of at most 2000: raise its limit (mosquitto: max_packet_size)"),
        ("message_size_limit", "raise its limit (mosquitto: message_size_limit)"),
    ] {
        let broker = Mosquitto::start_with(None, &format!("{setting} 2000"));
        in_real_time(desk(broker.port, None).tell(async |world| {
            let mut ann = world.person("ann").await;
            assert_refused(&ann.asks("tool/list", json!({})).await, "too_large", words);
            ann.gets_an_echo().await;
            // A question to a model that is too large is reported at once; one that the hub can shorten is shorter.
            if setting == "message_size_limit" {
                ann.says(json!({ "text": "Hi" }));
                assert_refused(&ann.reply().await, "too_large", "than the broker takes");
            }
            assert_not_logged("access rules");
            assert_eq!(world.dials(), 1);
        }));
    }
}
