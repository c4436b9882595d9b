//! The link without a line: framing, and the client's decisions.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use embassy_time::{Duration, Instant};
use proptest::prelude::*;

use super::{Incoming, Lines, LinkState, Loss, McpClient, Outgoing, Piece, Reaction, Retries};
use crate::json::Value;
use crate::limits;
use crate::tool::Registry;

/// Feeds `bytes` in pieces of the given sizes, and collects the lines as they come out, with the bytes that each had.
fn frame(bytes: &[u8], mut sizes: impl Iterator<Item = usize>) -> Vec<(Vec<u8>, usize)> {
    let mut lines = Lines::new();
    let mut rest = bytes;
    let mut out = Vec::new();
    loop {
        while let Some(piece) = lines.advance() {
            assert_eq!(piece, Piece::Line);
            let line = lines.current();
            assert_eq!(line.is_cut, line.length > limits::LINE);
            out.push((line.text.to_vec(), line.length));
        }
        if rest.is_empty() {
            return out;
        }
        let room = lines.room();
        assert!(!room.is_empty());
        let size = sizes.next().unwrap_or(1).clamp(1, room.len().min(rest.len()));
        let (now, later) = rest.split_at(size);
        room[..size].copy_from_slice(now);
        lines.commit(size);
        rest = later;
    }
}

/// What framing means for lines that are not JSON, the slow and obvious way.
fn expected(bytes: &[u8]) -> Vec<(Vec<u8>, usize)> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    lines.pop();
    let kept = |line: &&[u8]| {
        let text = &line[..line.len().min(limits::LINE)];
        (text.strip_suffix(b"\r").unwrap_or(text).to_vec(), line.len())
    };
    let is_blank = |line: &[u8]| line.iter().all(|byte| b" \t\r".contains(byte));
    lines.iter().filter(|line| !is_blank(line)).map(kept).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_come_out_whole_however_the_bytes_come_in(
        lines in proptest::collection::vec(
            (prop_oneof![9 => 0usize..40, 1 => limits::LINE - 2..limits::LINE + 3, 1 => Just(100_000)], any::<u8>(), any::<bool>()),
            0..6,
        ),
        sizes in proptest::collection::vec(1usize..20_000, 1..20),
    ) {
        let mut bytes = Vec::new();
        for (length, byte, carriage_return) in lines {
            bytes.resize(bytes.len() + length, if b"\n{[".contains(&byte) { b'x' } else { byte });
            bytes.extend_from_slice(if carriage_return { b"\r\n" } else { b"\n" });
        }
        bytes.extend_from_slice(b"not ended");
        prop_assert_eq!(frame(&bytes, sizes.into_iter().cycle()), expected(&bytes));
    }

    #[test]
    fn nothing_a_controller_says_upsets_the_client(
        messages in proptest::collection::vec((
            prop::sample::select(&["result", "error", "method"][..]),
            prop::sample::select(&["{}", "[]", "null", "7", "\"ping\"", "{\"tools\":[1,2]}", "{\"tools\":[],\"nextCursor\":\"n\"}"][..]),
            prop::option::of(prop::sample::select(&["1", "2", "3", "-1", "99999999999", "\"1\"", "null"][..])),
            0u64..20_000,
        ), 0..60),
    ) {
        let (mut client, registry) = (McpClient::new(0, Retries::STANDARD), Registry::new());
        let mut now = Instant::MIN;
        for (member, value, id, pause) in messages {
            let mut sends = 0;
            while client.poll(now, false, &registry).is_some() {
                sends += 1;
                prop_assert!(sends < 4, "the client talks without end");
            }
            let id = id.map(|id| format!(",\"id\":{id}")).unwrap_or_default();
            let text = format!("{{\"jsonrpc\":\"2.0\"{id},\"{member}\":{value}}}");
            if let Some(message) = Incoming::read(Value::parse(text.as_bytes()).unwrap()) {
                client.receive(now, message, &registry);
            }
            now += Duration::from_millis(pause);
        }
    }
}

/// A client with a clock and a controller played by hand.
struct Table {
    client: McpClient,
    registry: Registry,
    now: Instant,
    /// The number of the client's last request.
    last_id: u64,
}

impl Table {
    fn new() -> Self {
        Self::with(Retries::STANDARD)
    }

    fn with(retries: Retries) -> Self {
        Self { client: McpClient::new(0, retries), registry: Registry::new(), now: Instant::MIN, last_id: 0 }
    }

    /// What the client has to say now.
    fn says(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        // News comes before the next attempt, which is in another round.
        loop {
            while let Some(message) = self.client.poll(self.now, false, &self.registry) {
                let line = line(&message);
                let message: serde_json::Value = serde_json::from_str(&line).unwrap();
                self.last_id = message["id"].as_u64().unwrap_or(self.last_id);
                said.push(line);
            }
            if self.client.take_news().is_none() {
                break;
            }
        }
        said
    }

    fn hears(&mut self, text: &str) -> Option<String> {
        let message = Incoming::read(Value::parse(text.as_bytes()).unwrap()).unwrap();
        match self.client.receive(self.now, message, &self.registry) {
            Reaction::Reply(answer) => Some(line(&answer)),
            Reaction::Done | Reaction::Answer(_) | Reaction::Watch(_) => None,
        }
    }

    fn wait_until(&mut self, milliseconds: u64) {
        self.now = Instant::from_millis(milliseconds);
    }

    fn next_moment(&self) -> u64 {
        self.client.deadline().as_millis()
    }

    fn become_ready(&mut self) {
        self.says();
        let first = self.last_id;
        self.hears(&format!(
            r#"{{"jsonrpc":"2.0","id":{first},"result":{{"protocolVersion":"2025-06-18","capabilities":{{}},"serverInfo":{{"name":"zw","version":"9"}}}}}}"#
        ));
        self.says();
        self.hears(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[{{"name":"a"}},{{"name":"b"}}]}}}}"#,
            first + 1
        ));
        assert_eq!(self.client.state(), LinkState::Ready);
    }
}

fn line(message: &Outgoing<'_>) -> String {
    let mut buffer = [0; 512];
    let length = message.write(&mut buffer).unwrap();
    let text = core::str::from_utf8(&buffer[..length]).unwrap();
    let oracle: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(oracle["jsonrpc"], "2.0");
    text.to_string()
}

#[test]
fn the_handshake_in_order() {
    let mut table = Table::new();
    let hello: serde_json::Value = serde_json::from_str(&table.says()[0]).unwrap();
    assert_eq!(hello["method"], "initialize");
    assert_eq!(hello["params"]["clientInfo"]["name"], "hearthwave");
    table.hears(r#"{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"zw","version":"9"}}}"#);
    let said = table.says();
    assert_eq!(said[0], r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(said[1], r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#);
    table.hears(
        r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"},{"name":"b"}],"nextCursor":"p2"}}"#,
    );
    assert_eq!(table.says(), [r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"p2"}}"#]);
    assert_eq!(table.client.state(), LinkState::Connecting);
    table.hears(r#"{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"c"}]}}"#);
    assert_eq!(table.client.state(), LinkState::Ready);
    let controller = table.client.controller();
    assert_eq!((controller.name.as_str(), controller.version.as_str(), controller.tools), ("zw", "9", 3));
}

/// When the first `count` attempts are made, what the state is then, and when the controller is reported as missing.
fn attempts(table: &mut Table, count: usize, mut answer: impl FnMut(&mut Table)) -> (Vec<u64>, u64) {
    let (mut attempts, mut missing) = (Vec::new(), None);
    while attempts.len() < count {
        if !table.says().is_empty() {
            attempts.push(table.now.as_millis());
            answer(table);
            table.says();
        }
        if table.client.state() == LinkState::Degraded {
            missing.get_or_insert(table.now.as_millis());
        }
        table.wait_until(table.next_moment());
    }
    (attempts, missing.unwrap())
}

fn refuse(table: &mut Table) {
    let id = table.last_id;
    table.hears(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"not now"}}}}"#));
}

/// spec: gateway-37, gateway-41
#[test]
fn attempts_follow_the_schedule_whether_the_controller_refuses_or_is_silent() {
    const SECOND: Duration = Duration::from_secs(1);
    const OTHER: Retries = Retries {
        starts: &[Duration::MIN, SECOND, Duration::from_secs(4), Duration::from_secs(9)],
        missing: Duration::from_secs(20),
        slow: Duration::from_secs(7),
    };
    let slow_silence = limits::LINK_TIMEOUT.as_secs();
    for (retries, starts, missing, slow) in
        [(Retries::STANDARD, &[0, 2, 6][..], 8, 30), (OTHER, &[0, 1, 4, 9], 20, 7)]
    {
        let expected = |missing: u64, silence: u64| {
            let later = [missing + slow, missing + slow + silence + slow];
            let all: Vec<u64> = starts.iter().copied().chain(later).map(|seconds| seconds * 1000).collect();
            (all, missing * 1000)
        };
        let count = starts.len() + 2;
        let silent = attempts(&mut Table::with(retries), count, |_| {});
        assert_eq!(silent, expected(missing, slow_silence));
        let refused = attempts(&mut Table::with(retries), count, refuse);
        assert_eq!(refused, expected(*starts.last().unwrap(), 0));
    }
}

#[test]
fn a_slow_controller_may_answer_a_greeting_that_was_given_up() {
    for answered in 1..=4 {
        let mut table = Table::new();
        while table.last_id < 4 {
            table.says();
            table.wait_until(table.next_moment());
        }
        assert_eq!(table.client.state(), LinkState::Degraded);
        table.hears(&format!(
            r#"{{"jsonrpc":"2.0","id":{answered},"result":{{"serverInfo":{{"name":"zw"}}}}}}"#
        ));
        let said = table.says();
        assert!(said[0].contains("initialized") && said[1].contains("tools/list"), "{said:?}");
        let other = answered % 4 + 1;
        table
            .hears(&format!(r#"{{"jsonrpc":"2.0","id":{other},"result":{{"serverInfo":{{"name":"zw"}}}}}}"#));
        assert!(table.says().is_empty(), "it was greeted already");
        table.hears(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[]}}}}"#, table.last_id));
        assert_eq!((table.client.state(), table.client.controller().name.as_str()), (LinkState::Ready, "zw"));
    }
}

#[test]
fn a_controller_that_was_never_greeted_cannot_answer() {
    let mut table = Table::new();
    table.become_ready();
    table.client.lost(table.now, Loss::Closed, &table.registry);
    table.says();
    table.hears(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert!(table.says().is_empty(), "an answer from before the line was lost");
}

#[test]
fn a_list_may_take_its_time_as_long_as_tools_come() {
    let mut table = Table::new();
    table.says();
    table.hears(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    table.says();
    for tool in 0..20 {
        table.wait_until(tool * (limits::LINK_TIMEOUT.as_millis() - 1));
        let text = format!(r#"{{"name":"t{tool}"}}"#);
        let tool = Value::parse(text.as_bytes()).ok();
        table.client.listed_tool(table.now, tool, false, &table.registry);
        assert!(table.says().is_empty());
    }
    table.hears(r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#);
    assert_eq!((table.client.state(), table.client.controller().tools), (LinkState::Ready, 20));
}

#[test]
fn a_late_list_is_not_taken_for_the_one_that_was_asked_for() {
    let mut table = Table::new();
    table.become_ready();
    table.hears(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    table.says();
    let asked = table.last_id;
    table.client.listed_tool(table.now, Value::parse(b"{\"name\":\"old\"}").ok(), false, &table.registry);
    table.hears(r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#);
    table.hears(&format!(r#"{{"jsonrpc":"2.0","id":{asked},"result":{{"tools":[]}}}}"#));
    assert!(table.says()[0].contains("tools/list"), "it is asked for again, to be sure");
    table.hears(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[]}}}}"#, table.last_id));
    assert_eq!((table.client.state(), table.client.controller().tools), (LinkState::Ready, 0));
}

#[test]
fn a_controller_that_comes_late_is_welcome() {
    let mut table = Table::new();
    while table.client.state() != LinkState::Degraded {
        table.says();
        table.wait_until(table.next_moment());
    }
    table.become_ready();
}

#[test]
fn a_controller_that_falls_silent_is_missed() {
    let mut table = Table::new();
    table.become_ready();
    table.wait_until(limits::LINK_PING.as_millis());
    assert!(table.says()[0].contains("\"ping\""));
    assert_eq!(table.client.state(), LinkState::Ready);
    table.wait_until(table.next_moment());
    assert!(table.says()[0].contains("\"initialize\""));
    assert_eq!(table.client.state(), LinkState::Connecting);
    assert_eq!(table.client.controller().tools, 0);
}

#[test]
fn a_controller_that_speaks_needs_no_ping() {
    let mut table = Table::new();
    table.become_ready();
    table.wait_until(10_000);
    table.hears(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#);
    assert_eq!(table.next_moment(), 10_000 + limits::LINK_PING.as_millis());
    assert!(table.says().is_empty());
}

#[test]
fn whoever_answers_a_ping_stays() {
    let mut table = Table::new();
    table.become_ready();
    for answer in ["\"result\":{}", "\"error\":{\"code\":-32601,\"message\":\"no\"}"] {
        table.wait_until(table.next_moment());
        table.says();
        table.hears(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{answer}}}", table.last_id));
        assert_eq!(table.client.state(), LinkState::Ready);
        assert!(table.says().is_empty());
    }
}

#[test]
fn requests_of_the_controller_are_answered() {
    let mut table = Table::new();
    let pong = table.hears(r#"{"jsonrpc":"2.0","id":"x-1","method":"ping"}"#);
    assert_eq!(pong.as_deref(), Some(r#"{"jsonrpc":"2.0","id":"x-1","result":{}}"#));
    let refusal = table.hears(r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#).unwrap();
    assert!(refusal.contains("\"id\":5") && refusal.contains("-32601"), "{refusal}");
}

#[test]
fn a_changed_list_is_asked_for_again() {
    let mut table = Table::new();
    table.become_ready();
    table.hears(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    assert!(table.says()[0].contains("tools/list"));
    let known = |table: &Table| (table.client.state(), table.client.controller().tools);
    assert_eq!(known(&table), (LinkState::Ready, 2), "the old list holds until the new one is there");
    table.hears(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    table.hears(&format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[{{"name":"a"}}]}}}}"#,
        table.last_id
    ));
    assert_eq!(
        known(&table),
        (LinkState::Ready, 1),
        "the newest that is known counts, also if it changed again"
    );
    assert!(table.says()[0].contains("tools/list"));
    table.hears(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[]}}}}"#, table.last_id));
    assert_eq!(known(&table), (LinkState::Ready, 0));
    assert!(table.says().is_empty());
}

#[test]
fn answers_to_nobody_change_nothing() {
    let mut table = Table::new();
    table.says();
    table.hears(r#"{"jsonrpc":"2.0","id":77,"result":{"tools":[]}}"#);
    table.hears(r#"{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"x"}}"#);
    assert_eq!(table.client.state(), LinkState::Connecting);
    table.hears(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    table.says();
    table.hears(r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#);
    assert_eq!(table.client.state(), LinkState::Ready);
}

#[test]
fn a_list_without_end_is_cut() {
    let mut table = Table::new();
    table.says();
    table.hears(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    for page in 0..limits::LINK_PAGES {
        assert_eq!(table.client.state(), LinkState::Connecting, "page {page}");
        table.says();
        let id = table.last_id;
        table.hears(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"t{page}"}}],"nextCursor":"more"}}}}"#
        ));
    }
    assert_eq!(table.client.state(), LinkState::Ready);
    assert_eq!(table.client.controller().tools, usize::from(limits::LINK_PAGES));
}
