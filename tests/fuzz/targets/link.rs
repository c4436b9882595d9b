//! Arbitrary bytes from a controller, in any pieces and at any pace: lines come out whole, and the client's state stays
//! valid.
#![no_main]

use embassy_time::{Duration, Instant};
use hub_core::json::{Value, Writer};
use hub_core::limits;
use hub_core::link::{Incoming, Lines, LinkState, McpClient, Message, Outgoing, Piece, Reaction, Retries};
use hub_core::tool::{Format, Registry};
use libfuzzer_sys::fuzz_target;
use support::input::stretch;
use support::wire::Inbox;

/// The input's header: the sizes of four pieces, and four pauses.
const HEAD: usize = 8;

fuzz_target!(init: support::stack::guard(), |input: &[u8]| {
    let Some((head, stream)) = input.split_at_checked(HEAD) else { return };
    let (pieces, pauses) = head.split_at(HEAD / 2);
    let stream = stretch(stream, limits::LINE + 2048);
    let mut inbox = Inbox::in_pieces(pieces);
    inbox.push(&stream);
    inbox.closed = true;

    let mut pauses = pauses.iter().map(|pause| Duration::from_millis(u64::from(*pause) * 100)).cycle();
    let mut client = McpClient::new(0, Retries::STANDARD);
    let mut now = Instant::MIN;
    let registry = Box::new(Registry::new());
    let mut lines = Box::new(Lines::new());
    let mut expected = frame(&stream).into_iter();
    loop {
        while let Some(piece) = lines.advance() {
            let message = lines.current();
            assert!(message.text.len() <= limits::LINE);
            match piece {
                Piece::Item(_) => client.listed_tool(now, message.value().ok(), message.is_cut, &registry),
                Piece::Line => {
                    let line = expected.next().expect("a line");
                    assert_eq!(message.length, line.len());
                    agree(message, line);
                    hear(&mut client, now, message.text, &registry);
                }
            }
            now += pauses.next().unwrap_or_default();
            talk(&mut client, now, &registry);
        }
        match inbox.take(lines.room()) {
            Some(0) => break,
            Some(count) => lines.commit(count),
            None => {
                now += pauses.next().unwrap_or_default();
                talk(&mut client, now, &registry);
            }
        }
    }
    assert_eq!(expected.next(), None);
    list(&registry);
});

/// The lines of a stream, by a naive splitter.
fn frame(stream: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<_> = stream.split(|byte| *byte == b'\n').collect();
    lines.pop();
    lines.retain(|line| line.iter().any(|byte| !b" \t\r".contains(byte)));
    lines
}

/// A line that fits is whole, unless its list was handed out; one that is JSON still is when it is cut.
fn agree(message: Message<'_>, line: &[u8]) {
    let Ok(whole) = serde_json::from_slice::<serde_json::Value>(line) else { return };
    if !whole.is_object() && !whole.is_array() {
        return;
    }
    message.value().expect("still JSON");
    let kept: serde_json::Value = serde_json::from_slice(message.text).expect("still JSON");
    let is_list = |message: &serde_json::Value| message["result"]["tools"].is_array();
    let has_list = is_list(&whole) || whole.as_array().is_some_and(|batch| batch.iter().any(is_list));
    assert!(message.is_cut || has_list || kept == whole, "{kept} is not {whole}");
}

/// Handles a line.
fn hear(client: &mut McpClient, now: Instant, line: &[u8], registry: &Registry) {
    let mut is_message = false;
    if let Ok(value) = Value::parse(line) {
        for message in Incoming::all(value) {
            is_message = true;
            if let Reaction::Reply(reply) = client.receive(now, message, registry) {
                // The answer echoes what the controller sent, which may not fit.
                let _ = write(&reply);
            }
        }
    }
    if !is_message {
        client.noticed_noise(now);
    }
}

/// Sends everything that the client has queued. It ends, and nothing is due then.
fn talk(client: &mut McpClient, now: Instant, registry: &Registry) {
    let mut said = 0;
    // News comes before the next attempt, which is in another round.
    loop {
        while let Some(message) = client.poll(now, false, registry) {
            assert!(write(&message), "{message:?} does not fit");
            said += 1;
            assert!(said < 5, "the client talks without end");
        }
        if client.take_news().is_none() {
            break;
        }
    }
    assert!(client.deadline() > now, "the client wants to be asked again at once");
    assert!(client.state() == LinkState::Ready || client.controller().tools == 0);
}

/// Whether it fits. If so, it is one line of JSON-RPC.
fn write(message: &Outgoing<'_>) -> bool {
    let mut buffer = [0; limits::LINE_OWN - 1];
    let Ok(length) = message.write(&mut buffer) else { return false };
    let line = &buffer[..length];
    // JSON from a line has no end of line in it.
    assert!(!line.contains(&b'\n'));
    let value: serde_json::Value = serde_json::from_slice(line).expect("JSON");
    assert_eq!(value["jsonrpc"], "2.0");
    true
}

/// The definitions of any tools are JSON.
fn list(registry: &Registry) {
    assert!(registry.len() <= limits::TOOLS);
    for format in [Format::Mcp, Format::OpenAi, Format::Markdown] {
        let mut buffer = [0; limits::REPLY];
        let mut writer = Writer::new(&mut buffer);
        writer.array(|out| drop(format.write_all(registry, &|_| true, None, out)));
        let length = writer.finish().expect("no more than fits");
        let list: serde_json::Value = serde_json::from_slice(&buffer[..length]).expect("JSON");
        assert!(list.as_array().is_some_and(|list| list.len() <= registry.len()));
    }
}
