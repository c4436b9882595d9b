//! A client of Improv by other hands: the SDK that browsers use, run by Node.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;

/// Has the SDK set up the hub whose serial port is at this address, `HOST:PORT` or a socket's path, with a wrong password
/// first. Returns everything that it understood.
pub async fn sets_up(address: &str, ssid: &str, password: &str) -> Value {
    let sdk = std::env::var_os("HEARTHWAVE_IMPROV").expect("HEARTHWAVE_IMPROV is the folder of the SDK");
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../console/improv.mjs");
    let mut command = Command::new("node");
    command.arg(script).arg(sdk).args([address, ssid, password, "wrong password"]);
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await.expect("node runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("the SDK failed:\n{text}\n{errors}"))
}

/// Whether the SDK understood everything that a hub says that is called `id` and sees these networks.
pub fn check(seen: &Value, chip: &str, id: &str, networks: &Value) {
    let info = &seen["info"];
    assert_eq!((&info["firmware"], &info["chipFamily"]), (&json!("Hearthwave"), &json!(chip)), "{seen}");
    assert_eq!((&info["name"], &info["version"]), (&json!("Hearthwave"), &json!(env!("CARGO_PKG_VERSION"))));
    assert_eq!(seen["networks"], *networks);
    assert_eq!(seen["refused"], json!({ "error": "UNABLE_TO_CONNECT" }));
    assert_eq!(seen["joined"], Value::Null, "{seen}");
    assert_eq!([&seen["before"], &seen["between"], &seen["after"], &seen["asked"]], [2, 2, 4, 4], "{seen}");
    assert_eq!(seen["online"], json!([false, true]));
    assert_eq!(seen["names"], json!(["Hearthwave", "Hallway", "Hallway"]));
    assert_eq!(seen["hosts"], json!([id, { "error": "BAD_HOSTNAME" }, "hallway"]));
    assert_eq!(seen["logged"], json!([]), "nothing that came was strange to it");
}
