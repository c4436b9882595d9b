//! The broker comes and goes.

use std::io::ErrorKind;
use std::time::Duration;

use host_sim::broker::{Access, Login, Options, Server};
use hub_core::{DialError, limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::sleep;

use crate::world::{CLIENT, Dialled, Person, Reach, Request, World, log_text, logged};

const PUBLISH: u8 = 3;

#[tokio::test(start_paused = true)]
async fn the_hub_says_what_it_is_and_the_broker_says_when_it_is_gone() {
    let world = World::new();
    let mut person = world.person("ann").await;
    world
        .tell(async {
            person.sees_online().await;
            let info = person.sees_link("connecting").await;
            assert_eq!(info["target"], "sim");
            assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
            assert_eq!(info["tools"], hub_core::tools::TOOLS.len());
            assert_eq!(info["limits"]["request"], limits::REQUEST);
            assert_eq!(info["limits"]["reply"], limits::REPLY);
            let mut late = world.person("late").await;
            let kept = late.hears("hearthwave/story/availability").await;
            assert!(kept.retained && kept.payload == b"online");
            assert!(late.hears("hearthwave/story/info").await.retained);
        })
        .await;
    let gone = person.hears("hearthwave/story/availability").await;
    assert_eq!(gone.payload, b"offline");
}

#[tokio::test(start_paused = true)]
async fn an_hour_of_silence_passes_on_one_connection() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            sleep(Duration::from_secs(3600)).await;
            person.gets_an_echo().await;
        })
        .await;
    assert_eq!(world.dials.borrow().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_session_is_not_subscribed_again_and_a_fresh_one_is() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            person.gets_an_echo().await;
            world.server().kick(CLIENT);
            person.sees_online().await;
            person.gets_an_echo().await;
            // The answer has to be acknowledged, or it would be sent again to be sure.
            sleep(Duration::from_secs(1)).await;
            world.server().forget_session(CLIENT);
            person.sees_online().await;
            person.gets_an_echo().await;
        })
        .await;
    let subscriptions = world.dials.borrow().iter().map(Dialled::subscriptions).collect::<Vec<_>>();
    assert_eq!(subscriptions, [1, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn the_connection_breaks_in_the_middle_of_a_call_and_the_caller_gets_one_answer() {
    for forgotten in [false, true] {
        let world = World::new();
        world
            .tell(async {
                let mut person = world.person("ann").await;
                person.sees_online().await;
                person.gets_an_echo().await;
                // The request is delivered; its acknowledgement and the answer find no connection any more.
                assert!(world.server().cut_after_next_delivery(CLIENT));
                person.asks(Request {
                    response: Some("reply/cut"),
                    ..Request::new("tool/call", br#"{"name":"echo"}"#)
                });
                if forgotten {
                    logged("in-memory:1883: connection lost").await;
                    world.server().forget_session(CLIENT);
                }
                let replies = person.hears_all("reply/cut").await;
                assert_eq!(replies.len(), 1, "forgotten {forgotten}; the log:\n{}", log_text());
                assert_eq!(replies[0].json()["success"], true);
                person.gets_an_echo().await;
            })
            .await;
        assert_eq!(log_text().contains("not run twice"), !forgotten, "{}", log_text());
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_got_lost_with_its_connection_is_sent_again() {
    for forgotten in [false, true] {
        let world = World::new();
        world
            .tell(async {
                let mut person = world.person("ann").await;
                person.sees_online().await;
                person.gets_an_echo().await;
                world.swallowed.set(true);
                person.asks(Request {
                    response: Some("reply/lost"),
                    ..Request::new("tool/call", br#"{"name":"echo"}"#)
                });
                sleep(Duration::from_millis(100)).await;
                world.swallowed.set(false);
                if forgotten {
                    world.server().forget_session(CLIENT);
                } else {
                    world.server().kick(CLIENT);
                }
                let replies = person.hears_all("reply/lost").await;
                assert_eq!(replies.len(), 1, "forgotten {forgotten}; the log:\n{}", log_text());
                person.gets_an_echo().await;
            })
            .await;
        assert_eq!(log_text().matches("INFO tool echo").count(), 3, "{}", log_text());
    }
}

#[tokio::test(start_paused = true)]
async fn connections_break_at_every_moment_and_every_caller_gets_one_answer() {
    const CALLS: usize = 200;
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            let mut moment = 1u64;
            for number in 0..CALLS {
                let payload = format!(r#"{{"name":"echo","transaction":{number}}}"#);
                person.asks(Request {
                    response: Some("reply/torn"),
                    ..Request::new("tool/call", payload.as_bytes())
                });
                moment = moment.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                match moment >> 33 & 7 {
                    0 => drop(world.server().kick(CLIENT)),
                    1 => drop(world.server().cut_after_next_delivery(CLIENT)),
                    2 => tokio::task::yield_now().await,
                    // Now and then long enough for the hub to trust its connection again.
                    3 | 4 => sleep(Duration::from_millis(moment >> 40 & 0xFFFF)).await,
                    _ => {}
                }
            }
            let replies = person.hears_all("reply/torn").await;
            let mut answered: Vec<_> =
                replies.iter().map(|reply| reply.json()["transaction"].as_u64().unwrap()).collect();
            answered.sort_unstable();
            assert_eq!(answered, (0..CALLS as u64).collect::<Vec<_>>(), "{}", log_text());
            person.gets_an_echo().await;
        })
        .await;
    let connections = world.dials.borrow().len();
    assert!(connections > 20, "only {connections} connections");
}

#[tokio::test(start_paused = true)]
async fn a_broker_out_of_reach_is_dialled_ever_more_slowly_and_never_given_up() {
    for (reach, words) in [
        (Reach::Fails(DialError::Refused), "nothing listens there; check the port"),
        (Reach::Fails(DialError::UnknownHost), "no such host; check the broker's name"),
        (Reach::Fails(DialError::Unreachable), "no answer from that address"),
        (Reach::Mute, "does not speak MQTT 5; check the port"),
    ] {
        let world = World::new();
        world.reach.set(reach);
        world
            .tell(async {
                sleep(Duration::from_secs(3600)).await;
                assert!(log_text().contains(words), "{words:?} not in {}", log_text());
                assert!(log_text().contains("in-memory:1883"));
                let dials: Vec<_> = world.dials.borrow().iter().map(|dialled| dialled.at).collect();
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
                world.reach.set(Reach::Open);
                let mut person = world.person("ann").await;
                person.sees_online().await;
                person.gets_an_echo().await;
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_password_is_said_and_a_right_one_gets_in() {
    let access = Access::Logins(vec![Login { user: "hub".into(), password: "secret".into() }]);
    for (login, admitted) in [
        (None, false),
        (Some(("hub".to_string(), "wrong".to_string())), false),
        (Some(("hub".to_string(), "secret".to_string())), true),
    ] {
        let mut world = World::with(Options { access: access.clone(), ..Options::default() });
        world.settings.broker.login = login;
        let words =
            if admitted { "mqtt: connected" } else { "it refused the login; check user name and password" };
        world.tell(logged(words)).await;
        assert_eq!(log_text().contains("mqtt: connected"), admitted, "{}", log_text());
        assert!(!log_text().contains("secret") && !log_text().contains("wrong"), "a password is in the log");
    }
}

#[tokio::test(start_paused = true)]
async fn the_broker_restarts_and_knows_nobody() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            drop(person);
            let old = world.server.replace(Server::start(Options::default()));
            old.shutdown().await;
            let mut person = world.person("ann").await;
            person.sees_online().await;
            person.gets_an_echo().await;
        })
        .await;
    let subscriptions = world.dials.borrow().iter().map(Dialled::subscriptions).collect::<Vec<_>>();
    assert_eq!(subscriptions, [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_greeting_that_got_lost_leaves_no_deaf_hub() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            // The broker has forgotten the hub, welcomes it, and the welcome is lost on the way: from then on it
            // knows a session that has no subscription.
            world.reach.set(Reach::OneWay);
            world.server().forget_session(CLIENT);
            logged("does not speak MQTT 5").await;
            world.reach.set(Reach::Open);
            person.sees_online().await;
            person.gets_an_echo().await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_subscription_is_said_and_asked_for_again() {
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
    let world = World::new();
    world.reach.set(Reach::Mute);
    world
        .tell(async {
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
        })
        .await;
    assert!(log_text().contains("does not let the hub subscribe; check its access rules"), "{}", log_text());
}

#[tokio::test(start_paused = true)]
async fn unanswered_messages_do_not_keep_the_hub_from_being_online() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            // As many refusals as may wait for an acknowledgement, none of which arrives.
            world.swallowed.set(true);
            for _ in 0..20 {
                person.asks(Request::new("tool/call", b"[]"));
                person.asks(Request::new("tool/fly", b"{}"));
            }
            sleep(Duration::from_secs(1)).await;
            world.swallowed.set(false);
            world.server().kick(CLIENT);
            person.sees_online().await;
            // Until the broker has the answers of before, their slots are taken.
            sleep(Duration::from_secs(1)).await;
            person.gets_an_echo().await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn two_hubs_with_one_id_are_told_so() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            let _twin = Person::connect(&world.server(), CLIENT, &[]).await;
            logged("another hub with the same id connected; give each its own").await;
        })
        .await;
}

/// Not every broker says why it hangs up.
#[tokio::test(start_paused = true)]
async fn connections_that_are_lost_again_and_again_may_be_due_to_a_twin() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            let hint = "another hub may have the same id";
            person.sees_online().await;
            world.server().kick(CLIENT);
            logged("connection lost, by the broker or the network").await;
            assert!(!log_text().contains(hint), "once is no reason: {}", log_text());
            person.sees_online().await;
            world.server().kick(CLIENT);
            logged(hint).await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_served_and_not_turned_away() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            for scene in 0..10 {
                sleep(Duration::from_millis(100)).await;
                for light in 0..8 {
                    let payload = format!(r#"{{"name":"echo","transaction":{light}}}"#);
                    person.asks(Request {
                        response: Some("reply/scene"),
                        ..Request::new("tool/call", payload.as_bytes())
                    });
                }
                for _ in 0..8 {
                    let reply = person.hears("reply/scene").await.json();
                    assert_eq!(reply["success"], true, "scene {scene}: {reply}");
                }
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_nobody_asks_publishes_nothing_but_its_presence() {
    let world = World::new();
    world.tell(sleep(Duration::from_secs(7200))).await;
    let sent = world.dials.borrow()[0].packet_types();
    let publications = sent.iter().filter(|packet| **packet == PUBLISH).count();
    // Online; what it knows of itself, at first and when the controller did not answer; and a notice about that.
    assert!(publications <= 4, "{publications}");
}
