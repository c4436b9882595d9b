//! A time server, played by hand.

use tokio::time::Instant;

/// Seconds from the beginning of 1900 to that of 1970.
const FROM_1900: i64 = 2_208_988_800;

/// A server's clock, which goes on with the time of the test.
#[derive(Clone, Copy, Debug)]
pub struct TimeServer {
    unix_seconds: i64,
    started: Instant,
}

impl TimeServer {
    /// It is `unix_seconds` now.
    pub fn at(unix_seconds: i64) -> Self {
        Self { unix_seconds, started: Instant::now() }
    }

    /// What the clock shows.
    pub fn now(&self) -> i64 {
        self.unix_seconds + self.started.elapsed().as_secs() as i64
    }

    /// The answer to a question.
    pub fn answer(&self, question: &[u8]) -> Vec<u8> {
        let mut packet = reply(question, 2);
        let seconds = (self.now() + FROM_1900) as u32;
        packet[32..36].copy_from_slice(&seconds.to_be_bytes());
        packet[40..44].copy_from_slice(&seconds.to_be_bytes());
        packet
    }
}

/// A kiss of death: the server does not want to be asked.
pub fn kiss(question: &[u8], code: &[u8; 4]) -> Vec<u8> {
    let mut packet = reply(question, 0);
    packet[12..16].copy_from_slice(code);
    packet
}

fn reply(question: &[u8], stratum: u8) -> Vec<u8> {
    assert_eq!((question.len(), question[0]), (48, 0x23), "a client's question, version 4");
    let mut packet = vec![0; 48];
    packet[0] = 0x24;
    packet[1] = stratum;
    packet[24..32].copy_from_slice(&question[40..48]);
    packet
}
