//! A second hub at the same broker. Its controller offers devices that the simulated home does not have.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use host_sim::network::Network;
use serde_json::{Value, json};
use support::mosquitto::Mosquitto;
use tokio::sync::oneshot;
use world::prelude::*;
use world::{Setup, in_real_time};

/// The second hub's id.
pub(crate) const ATTIC: &str = "attic";

/// A hub that runs in a separate thread.
pub(crate) struct Attic {
    /// The arguments of the calls to its controller's tool.
    calls: Arc<Mutex<Vec<Value>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Attic {
    pub(crate) fn start(broker: &Mosquitto) -> Self {
        let port = broker.port;
        let calls = Arc::<Mutex<Vec<Value>>>::default();
        let (stop, stopped) = oneshot::channel();
        let record = calls.clone();
        let thread = std::thread::spawn(move || {
            let setup = Setup::new().network(Network::Tcp).hub(|hub| {
                hub.hub_id = ATTIC.into();
                (hub.broker.host, hub.broker.port) = ("127.0.0.1".into(), port);
            });
            in_real_time(setup.tell(async |world| {
                let mut controller = world.controller();
                tokio::select! {
                    () = serve(&mut controller, &record) => {}
                    _ = stopped => {}
                }
            }));
        });
        Self { calls, stop: Some(stop), thread: Some(thread) }
    }

    /// The actions since the last call of this function: device, action and value.
    pub(crate) fn takes_calls(&self) -> Vec<Value> {
        let calls = std::mem::take(&mut *self.calls.lock().expect("no thread has panicked"));
        calls.iter().map(|call| json!([call["id"], call["action"], call["value"]])).collect()
    }
}

impl Drop for Attic {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(
            !matches!(ended, Some(Err(_))) || std::thread::panicking(),
            "the attic's thread has panicked"
        );
    }
}

/// The actions of a device, each with the schema of its value.
fn actions(id: &str, actions: &Value) -> Value {
    let action = |(name, schema): (&String, &Value)| {
        let mut value = schema.clone();
        value["argument"] = json!("value");
        let call = json!({ "tool": "set_thing", "arguments": { "id": id, "action": name }, "value": value });
        (name.clone(), call)
    };
    actions.as_object().expect("an object").iter().map(action).collect()
}

fn device(id: &str, name: &str, kind: &str, state: Value, can: &Value) -> Value {
    json!({ "id": id, "name": name, "kind": kind, "state": state, "actions": actions(id, can) })
}

fn devices() -> Vec<Value> {
    let degrees = json!({ "type": "number", "minimum": 5, "maximum": 30 });
    let modes = json!({ "type": "string", "enum": ["off", "energy heat", "moist", "auto changeover"] });
    let level = json!({ "type": "integer", "minimum": 0, "maximum": 99 });
    vec![
        device(
            "boiler",
            "Boiler",
            "climate",
            json!({ "mode": "energy heat", "setpoint": 20, "temperature": 18 }),
            &json!({ "mode": modes, "setpoint": degrees }),
        ),
        device(
            "valve",
            "Valve",
            "climate",
            json!({ "setpoint": 19, "temperature": 18 }),
            &json!({ "setpoint": degrees }),
        ),
        device(
            "strip",
            "Strip",
            "light",
            json!({ "on": true, "level": 30, "color": "ffffff" }),
            &json!({ "level": level, "color": { "type": "string" } }),
        ),
        device(
            "skylight",
            "Skylight",
            "binary_sensor",
            json!({ "class": "window", "active": false }),
            &json!({}),
        ),
        // A device that cannot be announced.
        device("riddle", "Riddle", "unknown", json!({}), &json!({})),
    ]
}

/// Plays the controller.
async fn serve(controller: &mut Controller, record: &Mutex<Vec<Value>>) {
    let tool = json!({ "name": "set_thing", "inputSchema": { "type": "object" } });
    let mut devices = devices();
    let uri = |device: &Value| format!("home://devices/{}", device["id"].as_str().expect("an id"));
    loop {
        let request = controller.hears().await;
        let params = &request["params"];
        let result = match request["method"].as_str() {
            Some("initialize") => {
                let mut about = about_it(&params["protocolVersion"]);
                about["capabilities"]["resources"] = json!({ "subscribe": true, "listChanged": true });
                about
            }
            Some("tools/list") => json!({ "tools": [tool] }),
            Some("resources/list") => {
                let listed =
                    devices.iter().map(|device| json!({ "uri": uri(device), "name": device["name"] }));
                json!({ "resources": listed.collect::<Vec<_>>() })
            }
            Some("resources/read") => {
                let device = devices.iter().find(|device| params["uri"] == uri(device)).expect("one of them");
                json!({ "contents": [{ "uri": uri(device), "text": device.to_string() }] })
            }
            Some("tools/call") => {
                let call = &params["arguments"];
                record.lock().expect("no thread has panicked").push(call.clone());
                let changed = devices.iter_mut().find(|device| device["id"] == call["id"]);
                let changed = changed.expect("one of them");
                changed["state"][call["action"].as_str().expect("an action")] = call["value"].clone();
                let uri = uri(changed);
                controller.replies(&request, "done").await;
                controller.notifies("resources/updated", json!({ "uri": uri })).await;
                continue;
            }
            Some(_) if !request["id"].is_null() => json!({}),
            _ => continue,
        };
        controller.answers(&request, result).await;
    }
}
