//! What a line carries beside messages: garbage, stray answers, long lines, boot logs.

use host_desktop::random::Random;
use serde_json::json;

use super::fault::STRAY_ANSWER;

/// Lines that are no JSON-RPC message, each in its own way.
const GARBAGE: [&[u8]; 12] = [
    b"Z-Wave JS Server starting...",
    b"I (2471) zwave_api: SerialAPI started, library Z-Wave 7.18",
    b"\x1b[0;33mW (3120) nvs: page 3 is nearly full\x1b[0m\r",
    b"\xff\xfe\x80\x00\xc3",
    b"\x00\x00\x00\x00",
    b"[1,2,3]",
    b"null",
    b"{\"jsonrpc\":\"2.0\",\"id\":",
    b"{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}",
    b"{\"level\":\"debug\",\"msg\":\"{\\\"jsonrpc\\\":\\\"2.0\\\"}\"}",
    b"}}]]\"",
    b"",
];

/// One to three lines of garbage.
pub(super) fn garbage(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..=random.below(3) {
        bytes.extend_from_slice(GARBAGE[random.index(GARBAGE.len())]);
        bytes.push(b'\n');
    }
    bytes
}

/// An answer to a request that was never sent.
pub(super) fn stray_answer(random: &mut Random) -> Vec<u8> {
    let number = random.below(1000);
    let id = match random.below(5) {
        // The hub counts from 1 and does not get that far.
        0 => json!(4_000_000_000_u64 + number),
        1 => json!(-1 - number as i64),
        2 => json!(number.to_string()),
        3 => json!(number as f64 + 0.5),
        _ => json!(0),
    };
    let result = json!({ "content": [{ "type": "text", "text": STRAY_ANSWER }], "isError": false });
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "result": result })).into_bytes()
}

/// A line of 20 to 60 kB: a message, or nothing of the kind.
pub(super) fn long_line(random: &mut Random) -> Vec<u8> {
    let length = 20_000 + random.index(40_000);
    let mut line = if random.happens(0.5) {
        let params = json!({ "level": "info", "data": "long ".repeat(length / 5) });
        json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params })
            .to_string()
            .into_bytes()
    } else {
        vec![b'x'; length]
    };
    line.push(b'\n');
    line
}

/// What a controller writes when it starts, even in the middle of a line.
pub(super) fn boot_log(random: &mut Random) -> Vec<u8> {
    let reason = ["POWERON_RESET", "RTCWDT_RTC_RESET", "SW_CPU_RESET"][random.index(3)];
    format!(
        "ets Jul 29 2019 12:21:46\r\n\r\nrst:0x10 ({reason}),boot:0x13 (SPI_FAST_FLASH_BOOT)\r\n\
         entry 0x400805f0\r\nI (29) boot: Z-Wave controller\r\n"
    )
    .into_bytes()
}
