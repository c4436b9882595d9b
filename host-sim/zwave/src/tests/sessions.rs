//! Clients come, go, begin anew and call things off.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::client::{Client, switch};
use crate::{DeviceState, Fate, Home};

#[tokio::test(start_paused = true)]
async fn a_client_that_begins_anew_gets_a_session_of_its_own() {
    let home = Home::default();
    let mut client = Client::greeted(&home).await;
    client.sends("tools/call", json!({ "name": "control_zwave_device", "arguments": switch("on") })).await;
    sleep(Duration::from_millis(10)).await;
    // The hub at the far end has restarted.
    let answer = client.greets().await;
    assert_eq!(answer["result"]["serverInfo"]["name"], "simulated-zwave");
    assert_eq!(home.record().calls()[0].fate, Fate::Cancelled);
    assert_eq!(home.device("Switch One").expect("one").state, DeviceState::Switch(false));
    assert_eq!(client.hears("control_zwave_device", switch("on")).await, Ok("Switch One is now on".into()));
    assert_eq!(client.rest().await, [[0; 0]; 0], "an answer from the session before");
}

#[tokio::test(start_paused = true)]
async fn whatever_comes_before_the_handshake_does_not_prevent_it() {
    let home = Home::fast(0);
    let mut client = Client::new(&home);
    client.says(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    client
        .says(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 5 } }))
        .await;
    client.says(&json!({ "jsonrpc": "2.0", "id": 77, "result": {} })).await;
    client.says(&json!("noise")).await;
    let early = client.calls("list_scenes", json!({})).await;
    assert!(early["error"].is_object(), "{early}");
    assert_eq!(home.record().calls(), []);
    assert_eq!(client.greets().await["result"]["protocolVersion"], "2025-06-18");
    client.hears("list_scenes", json!({})).await.expect("scenes");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_called_off_does_nothing() {
    let home = Home::default();
    let mut client = Client::greeted(&home).await;
    let params = json!({ "name": "control_zwave_device", "arguments": switch("on") });
    let id = client.sends("tools/call", params).await;
    sleep(Duration::from_millis(20)).await;
    let params = json!({ "requestId": id, "reason": "it takes too long" });
    client.says(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
    assert_eq!(client.rest().await, [[0; 0]; 0], "a cancelled call was answered");
    assert_eq!(home.record().calls()[0].fate, Fate::Cancelled);
    assert_eq!(home.device("Switch One").expect("one").state, DeviceState::Switch(false));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_gone_ends_nothing_for_the_others() {
    let home = Home::default();
    let (mut one, other) = (Client::greeted(&home).await, Client::greeted(&home).await);
    drop(other);
    sleep(Duration::from_secs(60)).await;
    one.hears("control_zwave_device", switch("on")).await.expect("done");
}
