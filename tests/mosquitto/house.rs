//! A whole house at the broker that `docs/broker/make.sh` sets up: everybody does what they are there for, over TLS and with
//! their own logins.

use std::time::Duration;

use host_sim::network::Network;
use host_zwave::Home;
use serde_json::{Value, json};
use support::client::{Client, Publish, QoS};
use support::log::{assert_logged_times, assert_not_logged, log_text, logged};
use support::server::{Act, Server};
use tokio::time::{sleep, timeout};
use world::model::{calls, stop};
use world::{Setup, in_real_time};

use crate::guarded::{Guarded, WITNESS};

const PATIENCE: Duration = Duration::from_secs(60);

/// The hub `kitchen` with its own login.
fn kitchen(broker: &Guarded) -> Setup {
    Setup::new().network(Network::Tcp).hub(|hub| {
        hub.hub_id = "kitchen".into();
        hub.broker = broker.url("kitchen");
    })
}

/// Waits for a message on a topic that begins so.
async fn hears_below(client: &mut Client, prefix: &str) -> Value {
    let prefix = client.topic(prefix);
    loop {
        let message = client.next(PATIENCE).await.unwrap_or_else(|| panic!("nothing below {prefix}"));
        if message.topic.starts_with(&prefix) {
            return message.json();
        }
    }
}

/// Waits until the broker has refused something of this client's.
async fn is_refused(client: &Client) {
    let refused = async {
        while client.refused() == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, refused).await.expect("the broker refuses it");
}

#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn a_house_of_satellites_relay_and_home_assistant_works_with_their_rights_alone() {
    let broker = Guarded::start();
    let home = Home::fast(7);
    let unlock = ("lock_door", json!({ "deviceName": "Front Door", "action": "unlock" }));
    let server = Server::doing([
        Act::ok(&calls(&[unlock]).to_string()),
        Act::ok(&stop("The front door is unlocked.").to_string()),
    ]);
    let mut relay = world::relay::settings(&server);
    relay.broker = broker.url("relay");
    in_real_time(kitchen(&broker).home(&home).relay(relay).tell(async |_| {
        let hears = ["availability", "speech", "event/chat"].map(|name| format!("hearthwave/kitchen/{name}"));
        let mut porch = broker.client("porch", "kitchen", &hears.each_ref().map(String::as_str)).await;
        let seen = ["availability", "info", "device/+", "approval/+", "log"];
        let seen = seen.map(|name| format!("hearthwave/kitchen/{name}"));
        let mut ha = broker.client("ha", "kitchen", &seen.each_ref().map(String::as_str)).await;
        porch.waits_for_the_hub().await;
        while ha.hears("info").await.json()["devices"].as_u64() < Some(1) {}

        // Home Assistant switches a light, and sees it change.
        let on = json!({ "device": "Kitchen Light", "action": "on" });
        let reply = ha.asks_with_response_topic("device/set", on).await;
        assert_eq!(reply["success"], true, "{reply}");
        let topic = format!("device/{}", reply["device"].as_str().expect("an id"));
        while ha.hears(&topic).await.json()["state"]["on"] != true {}

        // A satellite hears somebody ask for the door. The relay carries the question, and a person has to approve.
        porch.sends(
            "transcript",
            json!({ "text": "Hearthwave, unlock the front door", "satellite": "porch" }),
        );
        let approval = hears_below(&mut ha, "approval/").await;
        assert_eq!((&approval["state"], &approval["what"]), (&json!("waiting"), &json!("unlock Front Door")));
        let decision = json!({ "id": approval["id"], "allow": true });
        // The satellite tries to.
        porch.sends("approve", decision.clone());
        is_refused(&porch).await;
        sleep(Duration::from_millis(500)).await;
        assert_eq!(home.device("Front Door").expect("it").state.to_string(), "locked");
        // Home Assistant may.
        let reply = ha.asks_with_response_topic("approve", decision).await;
        assert_eq!(reply["allowed"], true, "{reply}");
        while hears_below(&mut porch, "speech").await["text"] != "The front door is unlocked." {}
        assert_eq!(home.device("Front Door").expect("it").state.to_string(), "unlocked");

        // A satellite changes no setting and calls no tool; another hub does not speak as this one.
        let den = broker.client("den", "kitchen", &[]).await;
        let mut witness = broker.client(WITNESS, "kitchen", &["hearthwave/#"]).await;
        porch.sends("config/set", json!({ "key": "gate.unlock", "value": "allow" }));
        porch.sends("tool/call", json!({ "name": "echo" }));
        den.publish(Publish::new("hearthwave/kitchen/availability", "offline").retained());
        den.sends("approve", json!({ "id": 1, "allow": true }));
        witness.gets_an_echo().await;
        while porch.refused() < 3 || den.refused() < 2 {
            sleep(Duration::from_millis(10)).await;
        }
        let reply = witness.asks_with_response_topic("config/get", json!({ "key": "gate.unlock" })).await;
        assert_eq!(reply["settings"]["gate.unlock"], "ask", "{reply}");
        // Nothing that the hub needs was denied to it.
        assert_not_logged("access rules");
        assert_not_logged("refused a message");
    }));
}

/// A caller may ask for its reply where the hub may not write. The hub says so once, in words, and goes on.
#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn a_reply_that_the_broker_does_not_take_is_reported_and_costs_nothing_else() {
    let broker = Guarded::start();
    in_real_time(kitchen(&broker).tell(async |world| {
        let mut me = broker.client("me", "kitchen", &["hearthwave/kitchen/#"]).await;
        me.waits_for_the_hub().await;
        let call = json!({ "name": "echo", "arguments": {} }).to_string();
        for _ in 0..40 {
            me.publish(me.request("tool/call", &call).reply_to("reply/me"));
            sleep(Duration::from_millis(5)).await;
        }
        let notice = me.hears("log").await.json();
        let words = "The broker does not let the hub publish on reply/me: check its access rules. Replies are to be had \
                     below hearthwave/kitchen/reply/";
        assert_eq!(notice, json!({ "level": "warning", "text": words }));
        me.gets_an_echo().await;
        sleep(Duration::from_secs(1)).await;
        assert_logged_times(1, "does not let the hub publish on reply/me");
        assert_logged_times(1, "the broker refused a message");
        assert_eq!(world.dials(), 1, "it kept its connection");
        let mut console = world.console();
        console.sees("log", words).await;
    }));
}

/// Somebody gave the hub the login of a satellite: it may not even say that it is there.
#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn a_hub_with_the_login_of_another_says_what_it_may_not() {
    let broker = Guarded::start();
    let setup = kitchen(&broker).hub(|hub| hub.broker = broker.url("porch"));
    in_real_time(setup.tell(async |world| {
        let words =
            "The broker does not let the hub publish on hearthwave/kitchen/#: check its access rules.";
        logged(words).await;
        sleep(Duration::from_secs(3)).await;
        assert_eq!(world.dials(), 1, "it does not come back again and again: {}", log_text());
        let mut console = world.console();
        console.sees("log", words).await;
    }));
}

/// A satellite that is taken over floods the hub over TLS with chats, garbage and large payloads, then stops reading. Others
/// are answered within ten seconds after the flood.
#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn a_flood_by_a_satellite_over_tls_leaves_the_hub_to_others() {
    let broker = Guarded::start();
    let server = Server::always(Act::ok(&stop("Hello.").to_string()));
    let mut relay = world::relay::settings(&server);
    relay.broker = broker.url("relay");
    in_real_time(kitchen(&broker).home(&Home::fast(7)).relay(relay).tell(async |_| {
        let mut me = broker.client("me", "kitchen", &["hearthwave/kitchen/availability"]).await;
        me.waits_for_the_hub().await;
        let porch = broker.client("porch", "kitchen", &[]).await;
        for number in 0..2000 {
            let chat = json!({ "text": "Hi", "conversation": format!("c{number}") }).to_string();
            let payload = match number % 4 {
                0 | 2 => chat.into_bytes(),
                1 => b"{{{{".to_vec(),
                _ => vec![b'x'; 65536],
            };
            let qos = [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce][number / 4 % 3];
            porch.publish(
                porch.request("chat", payload).qos(qos).reply_to("hearthwave/kitchen/reply/porch/1"),
            );
        }
        // All of it is sent; nobody reads the replies any more.
        sleep(Duration::from_secs(5)).await;
        drop(porch);
        sleep(Duration::from_secs(8)).await;
        let echo = json!({ "name": "echo", "arguments": {} });
        for _ in 0..10 {
            let asked = me.asks_with_response_topic("tool/call", echo.clone());
            let reply = timeout(Duration::from_secs(2), asked).await.expect("a reply in time");
            assert_eq!(reply["success"], true, "{reply}");
        }
    }));
}
