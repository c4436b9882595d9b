//! Somebody who talks to the controller line by line.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::time::timeout;

use crate::{Gateway, Home};

/// Longer than anything takes; in virtual time it costs nothing.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Client {
    lines: BufReader<ReadHalf<DuplexStream>>,
    tx: WriteHalf<DuplexStream>,
    last_id: u64,
}

impl Client {
    pub(super) fn new(home: &Home) -> Self {
        Self::at(home.gateway())
    }

    /// One at a gateway.
    pub(super) fn at(gateway: &Gateway) -> Self {
        let (rx, tx) = tokio::io::split(gateway.connect());
        Self { lines: BufReader::new(rx), tx, last_id: 0 }
    }

    /// One that has been through the handshake.
    pub(super) async fn greeted(home: &Home) -> Self {
        let mut client = Self::new(home);
        client.greets().await;
        client
    }

    pub(super) async fn greets(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = self.asks("initialize", params).await;
        self.says(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        answer
    }

    pub(super) async fn says(&mut self, message: &Value) {
        self.tx.write_all(format!("{message}\n").as_bytes()).await.expect("the controller listens");
    }

    /// Sends a request, and returns its id.
    pub(super) async fn sends(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.says(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// The next line as it comes; None at the end.
    pub(super) async fn line(&mut self) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        timeout(PATIENCE, self.lines.read_until(b'\n', &mut line)).await.expect("a line").expect("readable");
        (!line.is_empty()).then_some(line)
    }

    /// The lines that come until nothing comes any more, and how many.
    pub(super) async fn rest(&mut self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let mut line = Vec::new();
        while let Ok(Ok(1..)) = timeout(PATIENCE, self.lines.read_until(b'\n', &mut line)).await {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            lines.push(line);
        }
        lines
    }

    /// The answer to a request, with all that is not it passed over.
    pub(super) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let line = self.line().await.expect("the line goes on");
            match serde_json::from_slice::<Value>(&line) {
                Ok(message) if message["id"] == id => return message,
                _ => {}
            }
        }
    }

    pub(super) async fn asks(&mut self, method: &str, params: Value) -> Value {
        let id = self.sends(method, params).await;
        self.answer(id).await
    }

    /// The next notification, with its URI if it has one.
    pub(super) async fn notice(&mut self) -> (String, String) {
        let line = self.line().await.expect("the line goes on");
        let message: Value = serde_json::from_slice(&line).expect("JSON");
        assert!(message.get("id").is_none(), "{message}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&message["method"]), text(&message["params"]["uri"]))
    }

    /// Reads a resource; the error is its code.
    pub(super) async fn reads(&mut self, id: &str) -> Result<Value, i64> {
        let answer = self.asks("resources/read", json!({ "uri": format!("home://devices/{id}") })).await;
        if let Some(code) = answer["error"]["code"].as_i64() {
            return Err(code);
        }
        let contents = &answer["result"]["contents"][0];
        assert_eq!(contents["mimeType"], "application/json");
        let text = contents["text"].as_str().expect("text");
        assert!(text.len() < 1024 && !text.contains('\n'), "{text}");
        Ok(serde_json::from_str(text).expect("JSON"))
    }

    /// Calls a tool, and returns the whole answer.
    pub(super) async fn calls(&mut self, tool: &str, arguments: Value) -> Value {
        self.asks("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Calls a tool, and returns what a person would hear, if it succeeds.
    pub(super) async fn hears(&mut self, tool: &str, arguments: Value) -> Result<String, String> {
        let answer = self.calls(tool, arguments).await;
        if let Some(words) = answer["error"]["message"].as_str() {
            return Err(words.into());
        }
        let words = answer["result"]["content"][0]["text"].as_str().expect("words").to_owned();
        if answer["result"]["isError"] == true { Err(words) } else { Ok(words) }
    }
}

/// One call of the switch that every home has.
pub(super) fn switch(action: &str) -> Value {
    json!({ "deviceName": "Switch One", "action": action })
}
