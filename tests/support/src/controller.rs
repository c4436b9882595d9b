//! A controller, played by hand: the far end of the hub's serial line.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::time::timeout;

use crate::client::{Client, PATIENCE};
use crate::line::assert_json_rpc;

pub struct Controller {
    lines: BufReader<ReadHalf<DuplexStream>>,
    tx: WriteHalf<DuplexStream>,
}

impl Controller {
    /// The controller at this end of the line.
    pub fn at(line: DuplexStream) -> Self {
        let (rx, tx) = tokio::io::split(line);
        Self { lines: BufReader::new(rx), tx }
    }

    /// The next line from the hub, which has to be JSON-RPC.
    pub async fn hears(&mut self) -> Value {
        let mut line = String::new();
        let count =
            timeout(PATIENCE, self.lines.read_line(&mut line)).await.expect("a line").expect("readable");
        assert!(count > 0 && line.ends_with('\n'), "half a line: {line:?}");
        assert_json_rpc(line.as_bytes())
    }

    /// The next `count` bytes of a line from the hub.
    pub async fn hears_bytes(&mut self, count: usize) -> String {
        let mut bytes = vec![0; count];
        timeout(PATIENCE, self.lines.read_exact(&mut bytes)).await.expect("bytes").expect("readable");
        String::from_utf8(bytes).expect("text")
    }

    /// What is left of a line from the hub.
    pub async fn hears_rest(&mut self) -> String {
        let mut rest = String::new();
        timeout(PATIENCE, self.lines.read_line(&mut rest)).await.expect("a line").expect("readable");
        rest
    }

    /// The next request `method`; those before it are skipped.
    pub async fn hears_of(&mut self, method: &str) -> Value {
        loop {
            let message = self.hears().await;
            if message["method"] == method {
                return message;
            }
        }
    }

    /// The next call of a tool.
    pub async fn hears_call(&mut self) -> Value {
        self.hears_of("tools/call").await
    }

    /// Discards everything received so far.
    pub async fn comes_late(&mut self) {
        let mut line = Vec::new();
        while timeout(Duration::from_millis(1), self.lines.read_until(b'\n', &mut line)).await.is_ok() {}
    }

    /// Writes a line of anything.
    pub async fn says(&mut self, line: impl AsRef<[u8]>) {
        self.sends(line.as_ref()).await;
        self.sends(b"\n").await;
    }

    /// Writes a part of a line.
    pub async fn sends(&mut self, bytes: &[u8]) {
        self.tx.write_all(bytes).await.expect("the hub listens");
    }

    /// Sends a notification.
    pub async fn notifies(&mut self, method: &str, params: Value) {
        let message =
            json!({ "jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": params });
        self.says(message.to_string()).await;
    }

    /// Notifies that its list of tools changed.
    pub async fn changes_its_tools(&mut self) {
        self.says(br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await;
    }

    /// Answers a request.
    pub async fn answers(&mut self, request: &Value, result: Value) {
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.says(answer.to_string()).await;
    }

    /// Answers a call with a text.
    pub async fn replies(&mut self, call: &Value, text: &str) {
        self.answers(call, json!({ "content": [{ "type": "text", "text": text }] })).await;
    }

    /// Answers a request with an error.
    pub async fn refuses(&mut self, request: &Value, code: i64, message: &str, data: Value) {
        let error = json!({ "code": code, "message": message, "data": data });
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "error": error });
        self.says(answer.to_string()).await;
    }

    /// Waits for a call and answers it with a text. Returns the call.
    pub async fn serves(&mut self, text: &str) -> Value {
        let call = self.hears_call().await;
        self.replies(&call, text).await;
        call
    }

    /// Waits for a call and answers it with this result. Returns the call.
    pub async fn serves_result(&mut self, result: Value) -> Value {
        let call = self.hears_call().await;
        self.answers(&call, result).await;
        call
    }

    /// Answers the next `initialize` with the version that the hub offers.
    pub async fn says_hello(&mut self) {
        let hello = self.hears_of("initialize").await;
        self.answers(&hello, about_it(&hello["params"]["protocolVersion"])).await;
    }

    /// Goes through the handshake, with two tools.
    pub async fn greets(&mut self) {
        self.greets_with(json!([a_tool("one"), a_tool("two")])).await;
    }

    /// Goes through the handshake, with these tools.
    pub async fn greets_with(&mut self, tools: Value) {
        self.says_hello().await;
        self.hears_of("notifications/initialized").await;
        self.lists(tools).await;
    }

    /// Has restarted: `person` calls its `tool`, which shows it to the hub. The hub takes it for lost.
    pub async fn forgets_the_handshake(&mut self, person: &mut Client, tool: &str) {
        let words = "Received request before initialization was complete";
        // Until the hub has its tools.
        tokio::time::sleep(Duration::from_millis(1)).await;
        person.calls(tool, json!({}));
        let call = self.hears_call().await;
        self.refuses(&call, -32600, words, Value::Null).await;
        person.result().await;
        let list = self.hears_of("tools/list").await;
        self.refuses(&list, -32600, words, Value::Null).await;
    }

    /// Answers the next `tools/list`.
    pub async fn lists(&mut self, tools: Value) {
        let list = self.hears_of("tools/list").await;
        self.answers(&list, json!({ "tools": tools })).await;
    }
}

/// The result of `initialize`.
pub fn about_it(version: &Value) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "played", "version": "1" },
    })
}

/// A tool that takes anything.
pub fn a_tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

/// The tools of a Z-Wave controller.
pub fn zwave_tools() -> Value {
    json!([
        {
            "name": "control_zwave_device",
            "description": "Controls a device.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "deviceName": { "type": "string" },
                    "action": { "enum": ["on", "off", "toggle"] },
                    "level": { "type": "integer", "minimum": 0, "maximum": 99 },
                    "fadeSeconds": { "type": "number" },
                },
                "required": ["deviceName", "action"],
            },
            "annotations": { "destructiveHint": false, "readOnlyHint": false },
        },
        { "name": "list_devices", "description": "Lists them.", "inputSchema": { "type": "object" },
          "annotations": { "readOnlyHint": true } },
    ])
}
