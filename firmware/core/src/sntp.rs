//! The packets of SNTP (RFC 4330): a question to a time server, and what its answer says.
//!
//! Pure; `hub/time.rs` sends and waits. No crate: `sntpc` takes 8.7 kB for it.

/// Bytes of a question, and of what is read of an answer.
pub const PACKET: usize = 48;

/// Where SNTP servers listen.
pub const PORT: u16 = 123;

/// Seconds from the beginning of 1900 to that of 1970.
const FROM_1900_TO_1970: i64 = 2_208_988_800;

/// Version 4, a client.
const CLIENT: u8 = 4 << 3 | 3;
const SERVER: u8 = 4;
const UNSYNCHRONISED: u8 = 3;
/// Servers count how far they are from a clock that knows: 1 to 15.
const FARTHEST: u8 = 15;

/// Why an answer brings no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTime {
    /// It is no answer to this question: too short, no server's, or to another one. The right one may still come.
    NotAnAnswer,
    /// The server does not know the time itself.
    Unsynchronised,
    /// The server is asked too often.
    TooOften,
    /// The server does not want to be asked.
    Denied,
}

impl NoTime {
    /// In words: the time server …
    pub const fn text(self) -> &'static str {
        match self {
            Self::NotAnAnswer => "answers with something else; check its port",
            Self::Unsynchronised => "does not know the time itself",
            Self::TooOften => "is asked too often",
            Self::Denied => "refuses to answer",
        }
    }
}

/// A question. `nonce` is what the answer has to repeat: a number that nobody can guess who does not see the question. It
/// stands where the time of the question would, which no server needs.
pub fn question(nonce: u64) -> [u8; PACKET] {
    let mut packet = [0; PACKET];
    packet[0] = CLIENT;
    packet[40..].copy_from_slice(&nonce.to_be_bytes());
    packet
}

/// The time that an answer brings, in milliseconds since 1970: the server's when it sent the answer, and half of
/// `round_trip`, the milliseconds from the question to the answer.
pub fn read(answer: &[u8], nonce: u64, round_trip: u64) -> Result<i64, NoTime> {
    let Some(answer) = answer.first_chunk::<PACKET>() else { return Err(NoTime::NotAnAnswer) };
    let (leap, mode, stratum) = (answer[0] >> 6, answer[0] & 7, answer[1]);
    let [originate, sent] = [24, 40].map(|at| number(answer, at));
    if mode != SERVER || originate != nonce {
        return Err(NoTime::NotAnAnswer);
    }
    // A kiss of death has a code where others have the name of their clock.
    if stratum == 0 {
        return Err(match &answer[12..16] {
            b"RATE" => NoTime::TooOften,
            b"DENY" | b"RSTR" => NoTime::Denied,
            _ => NoTime::Unsynchronised,
        });
    }
    if leap == UNSYNCHRONISED || stratum > FARTHEST || sent == 0 {
        return Err(NoTime::Unsynchronised);
    }
    let (seconds, fraction) = (sent >> 32, sent & u64::from(u32::MAX));
    // The counter of seconds starts again in 2036. Its upper half then is the time before, from 1968 on.
    let era = if seconds >> 31 == 1 { 0 } else { 1 << 32 };
    let milliseconds = (seconds as i64 + era - FROM_1900_TO_1970) * 1000 + ((fraction * 1000) >> 32) as i64;
    Ok(milliseconds.saturating_add(i64::try_from(round_trip / 2).unwrap_or_default()))
}

fn number(packet: &[u8; PACKET], at: usize) -> u64 {
    packet.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NONCE: u64 = 0x0123_4567_89ab_cdef;
    /// 2026-11-17 20:00:00 UTC
    const NOW: u64 = 1_794_945_600;

    /// The answer of a server that knows the time: `seconds` since 1900, and half a second.
    fn answer(seconds: u64) -> [u8; PACKET] {
        let mut packet = [0; PACKET];
        packet[0] = 4 << 3 | SERVER;
        packet[1] = 2;
        packet[24..32].copy_from_slice(&NONCE.to_be_bytes());
        packet[40..44].copy_from_slice(&(seconds as u32).to_be_bytes());
        packet[44] = 0x80;
        packet
    }

    fn now() -> [u8; PACKET] {
        answer(NOW + FROM_1900_TO_1970 as u64)
    }

    #[test]
    fn a_question_is_a_clients_and_carries_the_nonce() {
        let packet = question(NONCE);
        assert_eq!(packet[0], 0x23);
        assert_eq!(packet[40..], NONCE.to_be_bytes());
        assert!(packet[1..40].iter().all(|byte| *byte == 0), "and nothing of the hub's own time");
    }

    #[test]
    fn an_answer_brings_the_time_and_half_the_way() {
        assert_eq!(read(&now(), NONCE, 0), Ok(NOW as i64 * 1000 + 500));
        assert_eq!(read(&now(), NONCE, 80), Ok(NOW as i64 * 1000 + 540));
        let mut long = now().to_vec();
        long.extend([0; 20]);
        assert_eq!(read(&long, NONCE, 0), Ok(NOW as i64 * 1000 + 500), "with a signature behind it");
    }

    #[test]
    fn the_counter_starts_again_in_2036() {
        assert_eq!(read(&answer(u64::from(u32::MAX)), NONCE, 0), Ok(2_085_978_495_500));
        let [mut first, second] = [answer(0), answer(1)];
        assert_eq!(read(&first, NONCE, 0), Ok(2_085_978_496_500));
        assert_eq!(read(&second, NONCE, 0), Ok(2_085_978_497_500));
        first[44] = 0;
        assert_eq!(read(&first, NONCE, 0), Err(NoTime::Unsynchronised), "all zeros is no time");
    }

    #[test]
    fn what_does_not_answer_the_question_is_no_answer() {
        let mut client = now();
        client[0] = CLIENT;
        let mut broadcast = now();
        broadcast[0] = 4 << 3 | 5;
        assert_eq!(read(&client, NONCE, 0), Err(NoTime::NotAnAnswer));
        assert_eq!(read(&broadcast, NONCE, 0), Err(NoTime::NotAnAnswer));
        assert_eq!(read(&now(), NONCE + 1, 0), Err(NoTime::NotAnAnswer));
        assert_eq!(read(&now()[..47], NONCE, 0), Err(NoTime::NotAnAnswer));
        assert_eq!(read(&[], NONCE, 0), Err(NoTime::NotAnAnswer));
    }

    #[test]
    fn servers_that_do_not_know_or_do_not_want_are_told_apart() {
        let with = |change: fn(&mut [u8; PACKET])| {
            let mut packet = now();
            change(&mut packet);
            read(&packet, NONCE, 0)
        };
        assert_eq!(with(|packet| packet[0] |= 0xc0), Err(NoTime::Unsynchronised));
        assert_eq!(with(|packet| packet[1] = 16), Err(NoTime::Unsynchronised));
        let kiss = |code: &[u8; 4]| {
            let mut packet = now();
            packet[1] = 0;
            packet[12..16].copy_from_slice(code);
            read(&packet, NONCE, 0)
        };
        assert_eq!(kiss(b"RATE"), Err(NoTime::TooOften));
        assert_eq!(kiss(b"DENY"), Err(NoTime::Denied));
        assert_eq!(kiss(b"RSTR"), Err(NoTime::Denied));
        assert_eq!(kiss(b"INIT"), Err(NoTime::Unsynchronised));
        assert!(with(|packet| packet[0] |= 0x40).is_ok(), "a leap second is announced");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_time_or_not(bytes: std::vec::Vec<u8>, nonce: u64, round_trip: u64) {
            let _ = read(&bytes, nonce, round_trip);
        }

        #[test]
        fn a_forged_answer_is_not_taken(mut bytes in prop::collection::vec(0..=u8::MAX, PACKET..80), nonce: u64) {
            prop_assume!(bytes[24..32] != nonce.to_be_bytes());
            bytes[0] = 4 << 3 | SERVER;
            prop_assert_eq!(read(&bytes, nonce, 0), Err(NoTime::NotAnAnswer));
            bytes[24..32].copy_from_slice(&nonce.to_be_bytes());
            prop_assert_ne!(read(&bytes, nonce, 0), Err(NoTime::NotAnAnswer));
        }
    }
}
