//! The serial line to the controller: nothing but JSON-RPC, whatever the hub logs.

use serde_json::Value;

/// Asserts that a line to the controller, without its end, is one message of JSON-RPC 2.0. Returns it.
#[track_caller]
pub fn assert_json_rpc(line: &[u8]) -> Value {
    let shown = || String::from_utf8_lossy(line);
    let message: Value =
        serde_json::from_slice(line).unwrap_or_else(|error| panic!("{error} on the line: {:?}", shown()));
    assert_eq!(message["jsonrpc"], "2.0", "not JSON-RPC: {message}");
    let has = |name: &str| usize::from(message.get(name).is_some());
    assert_eq!(has("method") + has("result") + has("error"), 1, "not one message: {message}");
    assert!(message["method"].is_string() || has("id") == 1, "an answer to nobody: {message}");
    message
}

/// Watches what the hub writes on the line.
#[derive(Default)]
pub struct LineTap {
    begun: Vec<u8>,
    count: usize,
}

impl LineTap {
    /// The hub has written these bytes. Every line that ends in them is checked.
    #[track_caller]
    pub fn wrote(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' => {
                    assert_json_rpc(&std::mem::take(&mut self.begun));
                    self.count += 1;
                }
                byte => self.begun.push(*byte),
            }
        }
    }

    /// How many lines were checked.
    pub fn count(&self) -> usize {
        self.count
    }
}
