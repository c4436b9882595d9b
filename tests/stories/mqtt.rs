//! The broker comes and goes.

use std::io::ErrorKind;

use host_broker::{Access, Login, Options};
use hub_core::{DialError, limits};
use support::log::log_of;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use world::prelude::*;

const PUBLISH: u8 = 3;

#[test]
fn the_hub_says_what_it_is_and_the_broker_says_when_it_is_gone() {
    story(async |world| {
        let mut person = world.person("ann").await;
        let info = person.sees_link("connecting").await;
        assert_eq!(info["target"], "sim");
        assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(info["tools"], hub_core::tools::TOOLS.len());
        assert_eq!(info["limits"]["request"], limits::REQUEST);
        assert_eq!(info["limits"]["reply"], limits::REPLY);
        let announced = hub_core::hub::LIMITS.map(|(name, value)| (name.to_owned(), json!(value)));
        assert_eq!(info["limits"], Value::Object(announced.into_iter().collect()));
        let mut late = world.client("late", &["hearthwave/story/#"]).await;
        let kept = late.hears("availability").await;
        assert!(kept.retained && kept.payload == b"online");
        assert!(late.hears("info").await.retained);
        world.switches_off().await;
        assert_eq!(person.hears("availability").await.payload, b"offline");
    });
}

#[test]
fn an_hour_of_silence_passes_on_one_connection() {
    story(async |world| {
        let mut person = world.person("ann").await;
        sleep(Duration::from_secs(3600)).await;
        person.gets_an_echo().await;
        assert_eq!(world.dials(), 1);
    });
}

#[test]
fn a_resumed_session_is_not_subscribed_again_and_a_fresh_one_is() {
    story(async |world| {
        let mut person = world.person("ann").await;
        person.gets_an_echo().await;
        world.broker().kick(CLIENT);
        person.sees_online().await;
        person.gets_an_echo().await;
        // The answer has to be acknowledged, or it would be sent again.
        sleep(Duration::from_secs(1)).await;
        world.broker().forget_session(CLIENT);
        person.sees_online().await;
        person.gets_an_echo().await;
        // The subscriptions to requests and answers, to Home Assistant's start, and, per connection, to the relays'
        // availability.
        assert_eq!(world.subscriptions(), [3, 1, 3]);
    });
}

#[test]
fn the_connection_breaks_in_the_middle_of_a_call_and_the_caller_gets_one_answer() {
    for forgotten in [false, true] {
        story(async |world| {
            let mut person = world.person("ann").await;
            person.gets_an_echo().await;
            // The request is delivered; its acknowledgement and the answer are lost with the connection.
            assert!(world.broker().cut_after_next_delivery(CLIENT));
            person.publish(person.request("tool/call", br#"{"name":"echo"}"#).reply_to("reply/cut"));
            if forgotten {
                logged("in-memory:1883: connection lost").await;
                world.broker().forget_session(CLIENT);
            }
            let replies = person.hears_all_at("reply/cut").await;
            assert_eq!(replies.len(), 1, "forgotten {forgotten}; the log:\n{}", log_text());
            assert_eq!(replies[0].json()["success"], true);
            person.gets_an_echo().await;
        });
        assert_eq!(log_text().contains("not run twice"), !forgotten, "{}", log_text());
    }
}

#[test]
fn an_answer_that_got_lost_with_its_connection_is_sent_again() {
    for forgotten in [false, true] {
        story(async |world| {
            let mut person = world.person("ann").await;
            person.gets_an_echo().await;
            world.wire.swallows.set(true);
            person.publish(person.request("tool/call", br#"{"name":"echo"}"#).reply_to("reply/lost"));
            sleep(Duration::from_millis(100)).await;
            world.wire.swallows.set(false);
            if forgotten {
                world.broker().forget_session(CLIENT);
            } else {
                world.broker().kick(CLIENT);
            }
            let replies = person.hears_all_at("reply/lost").await;
            assert_eq!(replies.len(), 1, "forgotten {forgotten}; the log:\n{}", log_text());
            person.gets_an_echo().await;
        });
        assert_logged_times(3, "INFO tool echo");
    }
}

#[test]
fn connections_break_at_every_moment_and_every_caller_gets_one_answer() {
    const CALLS: usize = 200;
    story(async |world| {
        let mut person = world.person("ann").await;
        let mut moment = 1u64;
        for number in 0..CALLS {
            let payload = format!(r#"{{"name":"echo","transaction":{number}}}"#);
            person.publish(person.request("tool/call", payload).reply_to("reply/torn"));
            moment = moment.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            match moment >> 33 & 7 {
                0 => drop(world.broker().kick(CLIENT)),
                1 => drop(world.broker().cut_after_next_delivery(CLIENT)),
                2 => tokio::task::yield_now().await,
                // Now and then long enough for the hub to trust its connection again.
                3 | 4 => sleep(Duration::from_millis(moment >> 40 & 0xFFFF)).await,
                _ => {}
            }
        }
        let replies = person.hears_all_at("reply/torn").await;
        let mut answered: Vec<_> =
            replies.iter().map(|reply| reply.json()["transaction"].as_u64().unwrap()).collect();
        answered.sort_unstable();
        assert_eq!(answered, (0..CALLS as u64).collect::<Vec<_>>(), "{}", log_text());
        person.gets_an_echo().await;
        let connections = world.dials();
        assert!(connections > 20, "only {connections} connections");
    });
}

#[test]
fn a_broker_out_of_reach_is_dialled_ever_more_slowly_and_never_given_up() {
    for (reach, words) in [
        (Reach::Fails(DialError::Refused), "nothing listens there; check the port"),
        (Reach::Fails(DialError::UnknownHost), "no such host; check the broker's name"),
        (Reach::Fails(DialError::Unreachable), "no answer from that address"),
        (Reach::Mute, "does not speak MQTT 5; check the port"),
    ] {
        Setup::new().reach(reach).story(async |world| {
            sleep(Duration::from_secs(3600)).await;
            assert_logged(words);
            assert_logged("in-memory:1883");
            let dials: Vec<_> = world.wire.dials.borrow().iter().map(|dialled| dialled.at).collect();
            let busy = if reach == Reach::Mute { limits::MQTT_TIMEOUT.into() } else { Duration::ZERO };
            let mut longest: Duration = limits::RECONNECT_FIRST.into();
            for pair in dials.windows(2) {
                let wait = pair[1] - pair[0] - busy;
                assert!(
                    wait >= longest / 2 && wait <= longest + Duration::from_millis(1),
                    "{wait:?} of {longest:?}"
                );
                longest = (2 * longest).min(limits::RECONNECT_SLOWEST.into());
            }
            assert!(dials.len() > 40, "{}", dials.len());
            world.wire.reach.set(Reach::Open);
            let mut person = world.person("ann").await;
            person.gets_an_echo().await;
        });
    }
}

#[test]
fn a_refused_password_is_said_and_a_right_one_gets_in() {
    let access = Access::Logins(vec![Login { user: "hub".into(), password: "secret".into() }]);
    for (login, admitted) in [
        (None, false),
        (Some(("hub".to_string(), "wrong".to_string())), false),
        (Some(("hub".to_string(), "secret".to_string())), true),
    ] {
        let words =
            if admitted { "mqtt: connected" } else { "it refused the login; check user name and password" };
        let options = Options { access: access.clone(), ..Options::default() };
        Setup::new().broker(options).hub(|hub| hub.broker.login = login).story(async |_| logged(words).await);
        assert_eq!(log_text().contains("mqtt: connected"), admitted, "{}", log_text());
        assert!(!log_text().contains("secret") && !log_text().contains("wrong"), "a password is in the log");
    }
}

#[test]
fn the_brokers_password_is_in_no_log_whatever_happens() {
    const PASSWORD: &str = "hunter2-7Qx";
    let login = || Some(("hub".to_string(), PASSWORD.to_string()));
    let has = |words: &'static str| {
        async move |world: &World| {
            logged(words).await;
            // Some attempts more, and whatever is said then.
            sleep(Duration::from_secs(300)).await;
            assert!(world.dials() > 0);
        }
    };
    let access = |password: &str| {
        let login = Login { user: "hub".into(), password: password.into() };
        Options { access: Access::Logins(vec![login]), ..Options::default() }
    };
    let setup =
        |options, reach| Setup::new().broker(options).reach(reach).hub(|hub| hub.broker.login = login());
    setup(access(PASSWORD), Reach::Open).story(has("mqtt: connected"));
    assert_in_no_log(PASSWORD);
    setup(access("another"), Reach::Open).story(has("it refused the login"));
    assert_in_no_log(PASSWORD);
    setup(Options::default(), Reach::Mute).story(has("does not speak MQTT 5"));
    assert_in_no_log(PASSWORD);
    setup(Options::default(), Reach::Fails(DialError::Refused)).story(has("nothing listens there"));
    assert_in_no_log(PASSWORD);
    // Longer than any setting.
    let long = PASSWORD.repeat(6000);
    let story = Setup::new().hub(|hub| hub.broker.login = Some(("hub".into(), long)));
    story.story(has("the default of broker.password is too long"));
    assert_in_no_log(PASSWORD);
}

/// Neither the hub nor the broker nor anything else in this process has said it, at any level.
#[track_caller]
fn assert_in_no_log(secret: &str) {
    let log = log_of("");
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "the log has every level");
    assert!(!log.contains(secret), "the password is in the log:\n{log}");
}

#[test]
fn the_broker_restarts_and_knows_nobody() {
    story(async |world| {
        drop(world.person("ann").await);
        world.replaces_the_broker().await;
        let mut person = world.person("ann").await;
        person.gets_an_echo().await;
        assert_eq!(world.subscriptions(), [3, 3]);
    });
}

#[test]
fn a_greeting_that_got_lost_leaves_no_deaf_hub() {
    story(async |world| {
        let mut person = world.person("ann").await;
        // The broker has lost the session and accepts a new one, but the CONNACK is lost: from then on it has a
        // session without a subscription.
        world.wire.reach.set(Reach::OneWay);
        world.broker().forget_session(CLIENT);
        logged("does not speak MQTT 5").await;
        world.wire.reach.set(Reach::Open);
        person.sees_online().await;
        person.gets_an_echo().await;
    });
}

#[test]
fn a_refused_subscription_is_said_and_asked_for_again() {
    /// Reads one packet, and returns it.
    async fn packet(stream: &mut DuplexStream) -> Vec<u8> {
        let first = stream.read_u8().await.expect("a packet");
        let length = stream.read_u8().await.expect("a packet");
        assert!(length < 128, "a short packet");
        let mut packet = vec![first, length];
        packet.resize(2 + usize::from(length), 0);
        stream.read_exact(&mut packet[2..]).await.expect("a packet");
        packet
    }
    Setup::new().reach(Reach::Mute).story(async |world| {
        for is_known in [0, 1, 1] {
            let mut broker = world.mute().await;
            assert_eq!(packet(&mut broker).await[0], 0x10, "CONNECT");
            broker.write_all(&[0x20, 3, is_known, 0, 0]).await.expect("CONNACK");
            let subscribe = packet(&mut broker).await;
            assert_eq!(subscribe[0], 0x82, "SUBSCRIBE, and nothing before it");
            broker.write_all(&[0x90, 4, subscribe[2], subscribe[3], 0, 0x87]).await.expect("SUBACK");
            assert_eq!(
                broker.read_u8().await.expect_err("the hub hangs up").kind(),
                ErrorKind::UnexpectedEof
            );
        }
    });
    assert_logged("does not let the hub subscribe; check its access rules");
}

#[test]
fn unanswered_messages_do_not_keep_the_hub_from_being_online() {
    story(async |world| {
        let mut person = world.person("ann").await;
        // As many refusals as may wait for an acknowledgement, none of which arrives.
        world.wire.swallows.set(true);
        for _ in 0..20 {
            person.publish(person.request("tool/call", b"[]"));
            person.publish(person.request("tool/fly", b"{}"));
        }
        sleep(Duration::from_secs(1)).await;
        world.wire.swallows.set(false);
        world.broker().kick(CLIENT);
        person.sees_online().await;
        // Slots stay taken until the broker has acknowledged their replies.
        sleep(Duration::from_secs(1)).await;
        person.gets_an_echo().await;
    });
}

#[test]
fn two_hubs_with_one_id_are_told_so() {
    story(async |world| {
        let _person = world.person("ann").await;
        let _twin = world.client(CLIENT, &[]).await;
        logged("another hub with the same id connected; give each its own").await;
    });
}

/// Not every broker gives a reason when it disconnects.
#[test]
fn connections_that_are_lost_again_and_again_may_be_due_to_a_twin() {
    story(async |world| {
        let mut person = world.person("ann").await;
        let hint = "another hub may have the same id";
        world.broker().kick(CLIENT);
        logged("connection lost, by the broker or the network").await;
        assert_not_logged(hint);
        person.sees_online().await;
        world.broker().kick(CLIENT);
        logged(hint).await;
    });
}

#[test]
fn a_burst_is_served_and_not_turned_away() {
    story(async |world| {
        let mut person = world.person("ann").await;
        for scene in 0..10 {
            sleep(Duration::from_millis(100)).await;
            for light in 0..8 {
                let payload = format!(r#"{{"name":"echo","transaction":{light}}}"#);
                person.publish(person.request("tool/call", payload).reply_to("reply/scene"));
            }
            for _ in 0..8 {
                let reply = person.hears_at("reply/scene").await.json();
                assert_eq!(reply["success"], true, "scene {scene}: {reply}");
            }
        }
    });
}

#[test]
fn a_hub_that_nobody_asks_publishes_nothing_but_its_presence_and_its_health() {
    story(async |world| {
        sleep(Duration::from_secs(7200)).await;
        let sent = world.wire.dials.borrow()[0].packet_types();
        let publications = sent.iter().filter(|packet| **packet == PUBLISH).count();
        // `home`; online; `info`, at first and when the controller did not answer; a notice about that; the volume; the announcement to
        // Home Assistant. For its graphs, `health` once a minute.
        assert!(publications <= 7 + 7200 / 60, "{publications}");
    });
}

/// A broker takes the connection and the subscription, and says nothing more.
#[test]
fn a_broker_that_does_not_answer_a_subscription_is_left() {
    Setup::new().reach(Reach::Mute).story(async |world| {
        let mut broker = world.mute().await;
        let connack = [0x20, 3, 0, 0, 0];
        broker.write_all(&connack).await.expect("the hub reads");
        logged("mqtt: connected to").await;
        let connected = Instant::now();
        logged("connection lost: the broker does not react any more").await;
        assert!(connected.elapsed() <= std::time::Duration::from(limits::MQTT_TIMEOUT));
        assert_eq!(world.dials(), 1);
    });
}
