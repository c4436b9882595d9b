//! How Home Assistant is talked to: by HTTP for what has no other way, and by its WebSocket.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

/// How long an answer may take. A service that drives a device of the simulated home takes seconds.
const PATIENCE: Duration = Duration::from_secs(60);

fn connect(port: u16) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Posts a form or JSON, and returns the status and the JSON that comes back. An error means that nobody answers.
pub(crate) fn post(
    port: u16,
    path: &str,
    token: &str,
    kind: &str,
    body: &str,
) -> std::io::Result<(u16, Value)> {
    let mut stream = connect(port)?;
    let authorization =
        if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{authorization}Content-Type: {kind}\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok((status, serde_json::from_str(body).unwrap_or_else(|_| body.into())))
}

/// Posts JSON, which has to succeed.
pub(crate) fn post_json(port: u16, path: &str, token: &str, body: &Value) -> Value {
    let (status, answer) =
        post(port, path, token, "application/json", &body.to_string()).expect("Home Assistant answers");
    assert!((200..300).contains(&status), "{path} with {body}: {status} {answer}");
    answer
}

/// An open WebSocket.
pub(crate) struct Socket {
    socket: WebSocket<TcpStream>,
    count: u64,
}

impl Socket {
    pub(crate) fn open(port: u16, token: &str) -> Self {
        let stream = connect(port).expect("Home Assistant listens");
        let url = format!("ws://127.0.0.1:{port}/api/websocket");
        let (socket, _) = tungstenite::client(url, stream).expect("a WebSocket");
        let mut socket = Self { socket, count: 0 };
        assert_eq!(socket.next()["type"], "auth_required");
        socket.send(&json!({ "type": "auth", "access_token": token }));
        let answer = socket.next();
        assert_eq!(answer["type"], "auth_ok", "{answer}");
        socket
    }

    fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).expect("Home Assistant listens");
    }

    fn next(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().expect("Home Assistant answers") {
                return serde_json::from_str(&text).expect("JSON");
            }
        }
    }

    /// Sends a command that has to succeed, and returns its result.
    pub(crate) fn asks(&mut self, kind: &str, arguments: Value) -> Value {
        self.count += 1;
        let mut message = arguments;
        message["id"] = self.count.into();
        message["type"] = kind.into();
        self.send(&message);
        loop {
            let mut answer = self.next();
            if answer["id"] == self.count && answer["type"] == "result" {
                assert_eq!(answer["success"], true, "{message}: {answer}");
                return answer["result"].take();
            }
        }
    }
}
