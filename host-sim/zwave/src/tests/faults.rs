//! Everything that can go wrong does so when it is told to, the same each time, and ends.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::client::{Client, switch};
use crate::{Fate, Fault, Home, STRAY_ANSWER};

/// Asks for a sign of life, and returns the lines that come.
async fn ping(client: &mut Client) -> Vec<Vec<u8>> {
    client.sends("ping", json!({})).await;
    client.rest().await
}

fn is_pong(line: &[u8]) -> bool {
    serde_json::from_slice::<Value>(line)
        .is_ok_and(|pong| pong["jsonrpc"] == "2.0" && pong["result"] == json!({}))
}

#[tokio::test(start_paused = true)]
async fn each_fault_does_what_it_says_and_no_more() {
    for seed in 0..20 {
        let home = Home::fast(seed);
        let mut client = Client::greeted(&home).await;
        for fault in [
            Fault::Silence,
            Fault::Deafness,
            Fault::Slowness,
            Fault::Garbage,
            Fault::WrongId,
            Fault::Duplicate,
            Fault::LongLine,
        ] {
            home.faults().on(fault);
            let start = Instant::now();
            let lines = ping(&mut client).await;
            let time = start.elapsed() - Duration::from_secs(60);
            let pongs = lines.iter().filter(|line| is_pong(line)).count();
            let others: Vec<_> = lines.iter().filter(|line| !is_pong(line)).collect();
            match fault {
                Fault::Silence | Fault::Deafness => assert_eq!((pongs, others.len()), (0, 0), "{fault}"),
                Fault::Slowness => {
                    assert_eq!((pongs, others.len()), (1, 0));
                    assert!((200..2000).contains(&time.as_millis()), "{time:?}");
                }
                Fault::Garbage => assert!(pongs == 1 && (1..=3).contains(&others.len()), "{lines:?}"),
                Fault::WrongId => {
                    assert_eq!((pongs, others.len()), (1, 1));
                    let stray: Value = serde_json::from_slice(others[0]).expect("JSON");
                    assert_eq!(stray["result"]["content"][0]["text"], STRAY_ANSWER);
                }
                Fault::Duplicate => assert_eq!((pongs, others.len()), (2, 0)),
                _ => {
                    assert_eq!((pongs, others.len()), (1, 1));
                    assert!((20_000..61_000).contains(&others[0].len()));
                }
            }
            assert_eq!(home.faults().count(fault), 1, "{fault}");
            home.faults().off(fault);
            let lines = ping(&mut client).await;
            assert!(lines.len() == 1 && is_pong(&lines[0]), "after {fault}: {lines:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn half_a_line_is_half_a_line() {
    let mut endings = BTreeSet::new();
    for seed in 0..20 {
        let home = Home::fast(seed);
        let mut client = Client::greeted(&home).await;
        home.faults().once(Fault::HalfLine);
        client.sends("ping", json!({})).await;
        client.sends("ping", json!({})).await;
        let lines = client.rest().await;
        let is_continued = lines.len() == 1;
        assert!(!is_pong(&lines[0]), "{lines:?}");
        assert!(is_continued || is_pong(&lines[1]), "{lines:?}");
        endings.insert(is_continued);
    }
    assert_eq!(endings.len(), 2, "a line is either continued or ended");
}

#[tokio::test(start_paused = true)]
async fn a_restart_loses_the_session_and_not_the_home() {
    let mut fates = BTreeSet::new();
    for seed in 0..30 {
        let home = Home::new(seed);
        let mut client = Client::greeted(&home).await;
        client.hears("control_zwave_device", switch("on")).await.expect("done");
        home.faults().once(Fault::Reset);
        client
            .sends("tools/call", json!({ "name": "control_zwave_device", "arguments": switch("off") }))
            .await;
        let said: Vec<u8> = client.rest().await.concat();
        assert!(String::from_utf8_lossy(&said).contains("ets Jul 29 2019"), "no boot log");
        fates.insert(home.record().calls().get(1).map(|call| format!("{:?}", call.fate)));
        assert_eq!(home.faults().count(Fault::Reset), 1);
        // It does not know the client any more.
        let refused = client.calls("list_scenes", json!({})).await;
        assert!(refused["error"].is_object(), "{refused}");
        client.greets().await;
        client.hears("control_zwave_device", switch("on")).await.expect("done");
    }
    // It never arrived, it was lost on the way, or its answer was.
    let all = [None, Some("Cancelled".into()), Some("Done".into())];
    assert_eq!(fates, BTreeSet::from(all));
}

#[tokio::test(start_paused = true)]
async fn a_restart_at_once_calls_off_what_is_running() {
    let home = Home::default();
    let mut client = Client::greeted(&home).await;
    client.sends("tools/call", json!({ "name": "ping_node", "arguments": { "nodeId": 18 } })).await;
    sleep(Duration::from_millis(500)).await;
    home.faults().restart();
    sleep(Duration::from_millis(10)).await;
    assert_eq!(home.record().calls()[0].fate, Fate::Cancelled);
    // While it starts it hears nothing.
    home.faults().restart();
    client.sends("ping", json!({})).await;
    let said = client.rest().await;
    assert!(said.iter().all(|line| !is_pong(line)), "{said:?}");
    let boots = said.iter().filter(|line| line.starts_with(b"ets ")).count();
    assert_eq!(boots, 1, "a restart in the middle of a restart is one");
    client.greets().await;
}

#[tokio::test(start_paused = true)]
async fn unplugged_nothing_passes_and_plugged_the_session_goes_on() {
    let home = Home::fast(0);
    let mut client = Client::greeted(&home).await;
    home.faults().unplug();
    client.sends("tools/call", json!({ "name": "list_scenes" })).await;
    assert_eq!(client.rest().await, [[0; 0]; 0]);
    assert_eq!(home.record().calls(), []);
    home.faults().plug();
    client.hears("list_scenes", json!({})).await.expect("the same session");

    // A loose contact comes back by itself.
    home.faults().once(Fault::Unplugged);
    assert_eq!(ping(&mut client).await, [[0; 0]; 0]);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(ping(&mut client).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_closed_line_ends_and_a_new_one_can_be_had() {
    let home = Home::default();
    let mut client = Client::greeted(&home).await;
    client.sends("tools/call", json!({ "name": "ping_node", "arguments": { "nodeId": 18 } })).await;
    sleep(Duration::from_millis(100)).await;
    home.faults().once(Fault::Closed);
    assert_eq!(client.line().await, None);
    assert_eq!(home.record().calls()[0].fate, Fate::Cancelled);
    Client::greeted(&home).await;
    home.faults().on(Fault::Closed);
    assert_eq!(Client::new(&home).line().await, None);
    home.faults().clear();
    Client::greeted(&home).await;
}

/// A client that does as a careful hub does, for a long time, through everything.
#[tokio::test(start_paused = true)]
async fn through_every_fault_no_call_arrives_twice_and_the_line_never_sticks() {
    let home = Home::new(3);
    let mut client = Client::greeted(&home).await;
    for fault in Fault::ALL {
        if fault != Fault::Closed {
            home.faults().set(fault, 0.02);
        }
    }
    let (mut answered, mut unknown) = (0, 0);
    for _ in 0..2000 {
        let params = json!({ "name": "control_zwave_device", "arguments": switch("toggle") });
        let id = client.sends("tools/call", params).await;
        match timeout(Duration::from_secs(10), client.answer(id)).await {
            Ok(answer) if answer.get("result").is_some() => answered += 1,
            // Restarted: it wants a handshake.
            Ok(_) => while timeout(Duration::from_secs(10), client.greets()).await.is_err() {},
            Err(_) => unknown += 1,
        }
    }
    assert!(answered > 1400 && unknown > 50, "{answered} answered, {unknown} unknown");
    let calls = home.record().calls();
    let ids: BTreeSet<_> = calls.iter().map(|call| call.id.as_u64()).collect();
    assert_eq!(ids.len(), calls.len(), "a call arrived twice");
    for fault in Fault::ALL {
        assert!(home.faults().count(fault) > 0 || fault == Fault::Closed, "{fault} never happened");
    }
}
