//! The controller comes and goes, and says what it likes.

use std::time::Duration;

use hub_core::limits;
use tokio::time::{Instant, sleep};

use crate::world::{World, log_text, logged};

#[tokio::test(start_paused = true)]
async fn the_controller_is_greeted_and_announced() {
    let world = World::new();
    world
        .tell(async {
            let mut controller = world.controller();
            let mut person = world.person("ann").await;
            person.sees_online().await;
            controller.greets().await;
            let info = person.sees_link("ready").await;
            assert_eq!(info["controller"]["name"], "played");
            assert_eq!(info["controller"]["tools"], 2);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_real_sdk_is_greeted_too() {
    let world = World::new();
    world
        .tell(async {
            let controller = world.controller();
            let mut person = world.person("ann").await;
            tokio::spawn(host_sim::controller::Home::default().serve(controller.into_stream()));
            let info = person.sees_link("ready").await;
            assert_eq!(info["controller"]["name"], "simulated-zwave");
            assert_eq!(info["controller"]["tools"], 2);
            // Through many pings.
            sleep(Duration::from_secs(600)).await;
            person.gets_an_echo().await;
            assert!(!log_text().contains("controller: lost"), "{}", log_text());
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_never_answers_keeps_nobody_waiting() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            let start = Instant::now();
            person.sees_online().await;
            person.gets_an_echo().await;
            assert!(start.elapsed() < Duration::from_millis(100), "{:?}", start.elapsed());
            person.sees_link("degraded").await;
            assert!(log_text().contains("MCP connection failed after 3 attempts"), "{}", log_text());
            assert!(log_text().contains("Check its power"), "{}", log_text());
            person.gets_an_echo().await;
            // Much later somebody plugs it in.
            sleep(Duration::from_secs(1000)).await;
            let mut controller = world.controller();
            controller.comes_late().await;
            controller.greets().await;
            person.sees_link("ready").await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_dies_is_noticed_and_welcomed_back() {
    let world = World::new();
    world
        .tell(async {
            let mut controller = world.controller();
            let mut person = world.person("ann").await;
            controller.greets().await;
            person.sees_link("ready").await;
            // It says nothing more, not even to a ping.
            controller.hears_of("ping").await;
            let info = person.sees_link("connecting").await;
            assert!(info["controller"].is_null());
            controller.greets().await;
            person.sees_link("ready").await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn noise_on_the_line_is_said_and_survived() {
    let world = World::new();
    let noise: &[(Vec<u8>, &str)] = &[
        (b"Z-Wave JS Server starting...".to_vec(), "not JSON-RPC: Z-Wave JS Server starting..."),
        (b"\xff\xfe\x80 garbage \xc3".to_vec(), "not JSON-RPC: \u{fffd}\u{fffd}\u{fffd} garbage \u{fffd}"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":".to_vec(), "not JSON-RPC: {\"jsonrpc\""),
        (b"{\"jsonrpc\":\"1.0\",\"method\":\"x\"}".to_vec(), "not JSON-RPC: {\"jsonrpc\":\"1.0\""),
        (b"[1,2,3]".to_vec(), "not JSON-RPC: [1,2,3]"),
        (b"\x1b[31mred\x07\x1b[0m".to_vec(), "not JSON-RPC:  [31mred"),
        (vec![b'x'; 100_000], "a line of 100000 bytes, over the 16384 that fit, was skipped"),
        (vec![0; limits::LINE], "a line of 16384 bytes"),
        (b"\r".to_vec(), ""),
        (b"".to_vec(), ""),
    ];
    world
        .tell(async {
            let mut controller = world.controller();
            let mut person = world.person("ann").await;
            for (line, words) in noise {
                controller.says(line).await;
                logged(words).await;
            }
            controller.greets().await;
            person.sees_link("ready").await;
            for (line, _) in noise {
                controller.says(line).await;
            }
            controller.says(b"{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ping\"}").await;
            let mut answer = controller.hears().await;
            while answer["id"] != "q" {
                answer = controller.hears().await;
            }
            assert_eq!(answer["result"], serde_json::json!({}));
            person.gets_an_echo().await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_closed_line_is_tried_again_for_ever() {
    let world = World::new();
    world
        .tell(async {
            drop(world.controller());
            let mut person = world.person("ann").await;
            person.sees_link("degraded").await;
            sleep(Duration::from_secs(3600)).await;
            person.gets_an_echo().await;
        })
        .await;
    // A closed line fails at once, and must not make the hub spin or the log overflow.
    assert!(log_text().lines().count() < 300, "{} lines", log_text().lines().count());
}
