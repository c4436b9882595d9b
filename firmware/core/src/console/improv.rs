//! Improv Wi-Fi over serial: the frames by which browsers that have flashed a board ask it for networks and give it one.
//!
//! `IMPROV`, the version, a type, a length, the data, and the sum of all bytes before. No crate is used: those that there
//! are need a heap or a Bluetooth stack.

use core::str::from_utf8;

use heapless::Vec;

use super::screen::Screen;

/// How every frame begins: its mark, and the one version that there is.
pub const START: &[u8] = b"IMPROV\x01";

/// The longest frame after its beginning: type, length, data, checksum.
pub const FRAME: usize = 2 + DATA + 1;

/// The most data that a frame can have.
const DATA: usize = u8::MAX as usize;

const TYPE_STATE: u8 = 1;
const TYPE_ERROR: u8 = 2;
const TYPE_RPC: u8 = 3;
const TYPE_RESULT: u8 = 4;

/// Where the set-up stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ImprovState {
    /// Waits for a network.
    Ready = 2,
    /// Tries the one that it was given.
    Provisioning = 3,
    /// Is in a network.
    Provisioned = 4,
}

/// Why a command fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ImprovError {
    /// It is malformed.
    Invalid = 1,
    /// It is not known.
    Unknown = 2,
    /// The network cannot be joined.
    Unable = 3,
    /// It is no host name.
    BadHostName = 5,
    /// It did not work.
    Failed = 0xFF,
}

/// What a browser wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImprovCommand<'a> {
    /// Join this network, and keep it.
    Join {
        /// Its name.
        name: &'a str,
        /// Its password, empty for an open one.
        password: &'a str,
    },
    /// Where does the set-up stand?
    State,
    /// What are you?
    Info,
    /// Which networks are there?
    Scan,
    /// Which host name do you have? Or: have this one.
    HostName(Option<&'a str>),
    /// Which name do you have? Or: have this one.
    Name(Option<&'a str>),
    /// Are you online, and by which kinds of network can you be?
    Network,
}

impl ImprovCommand<'_> {
    /// Its number.
    pub const fn command(&self) -> u8 {
        match self {
            Self::Join { .. } => 1,
            Self::State => 2,
            Self::Info => 3,
            Self::Scan => 4,
            Self::HostName(_) => 5,
            Self::Name(_) => 6,
            Self::Network => 7,
        }
    }
}

/// Reads a frame, without its beginning. `None` if it is none for a device: frames of other types come back from a port that
/// echoes.
pub fn read(frame: &[u8]) -> Option<Result<ImprovCommand<'_>, ImprovError>> {
    let (checksum, rest) = frame.split_last()?;
    let [TYPE_RPC, _, data @ ..] = rest else { return None };
    let is_intact = sum(START).wrapping_add(sum(rest)) == *checksum;
    Some(if is_intact { request(data) } else { Err(ImprovError::Invalid) })
}

/// A command, the length of its data, and the data.
fn request(data: &[u8]) -> Result<ImprovCommand<'_>, ImprovError> {
    let [command, length, data @ ..] = data else { return Err(ImprovError::Invalid) };
    if usize::from(*length) != data.len() {
        return Err(ImprovError::Invalid);
    }
    let text = || from_utf8(data).map_err(|_| ImprovError::Invalid);
    let new_name = || Ok(Some(text()?).filter(|name| !name.is_empty()));
    Ok(match command {
        1 => {
            let (name, rest) = string(data).ok_or(ImprovError::Invalid)?;
            let (password, _) = string(rest).ok_or(ImprovError::Invalid)?;
            ImprovCommand::Join { name, password }
        }
        2 => ImprovCommand::State,
        3 => ImprovCommand::Info,
        4 => ImprovCommand::Scan,
        5 => ImprovCommand::HostName(new_name()?),
        6 => ImprovCommand::Name(new_name()?),
        7 => ImprovCommand::Network,
        _ => return Err(ImprovError::Unknown),
    })
}

/// A length, and a text that is so long.
fn string(data: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = data.split_first()?;
    let (text, rest) = rest.split_at_checked(usize::from(*length))?;
    Some((from_utf8(text).ok()?, rest))
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}

/// Writes a frame that reports the state.
pub fn write_state(state: ImprovState, out: &mut Screen) {
    write(TYPE_STATE, &[state as u8], &[], out);
}

/// Writes a frame that reports an error.
pub fn write_error(error: ImprovError, out: &mut Screen) {
    write(TYPE_ERROR, &[error as u8], &[], out);
}

/// Writes the result of a command. Texts for which there is no room are left out.
pub fn write_result(command: u8, texts: &[&str], out: &mut Screen) {
    write(TYPE_RESULT, &[command, 0], texts, out);
}

/// Writes a frame between line feeds: clients look for it at the beginning of a line.
fn write(kind: u8, head: &[u8], texts: &[&str], out: &mut Screen) {
    let mut data: Vec<u8, DATA, u16> = Vec::new();
    let _ = data.extend_from_slice(head);
    for text in texts {
        // Both fit, or neither is added.
        if let (Ok(length), true) = (u8::try_from(text.len()), data.len() + text.len() < DATA) {
            let _ = data.push(length);
            let _ = data.extend_from_slice(text.as_bytes());
        }
    }
    // The usual client takes a length of ten for a line feed, and misses the frame. Another text, an empty one, does no harm.
    if data.len() == 10 {
        let _ = data.push(0);
    }
    let length = |bytes: usize| u8::try_from(bytes).unwrap_or(u8::MAX);
    let texts_length = length(data.len() - head.len());
    if let (TYPE_RESULT, Some(total)) = (kind, data.get_mut(1)) {
        *total = texts_length;
    }
    let mut frame: Vec<u8, { 1 + START.len() + FRAME + 1 }, u16> = Vec::new();
    let _ = frame.push(b'\n');
    let _ = frame.extend_from_slice(START);
    let _ = frame.extend_from_slice(&[kind, length(data.len())]);
    let _ = frame.extend_from_slice(&data);
    let checksum = sum(frame.get(1..).unwrap_or_default());
    let _ = frame.extend_from_slice(&[checksum, b'\n']);
    out.push(&frame);
}

#[cfg(test)]
mod tests {
    use super::super::line_reader::{ConsoleEvent, LineReader};
    use super::*;
    use proptest::prelude::*;
    use std::boxed::Box;
    use std::string::String;
    use std::vec::Vec as StdVec;

    /// A frame as a client builds it.
    fn frame(kind: u8, data: &[u8]) -> StdVec<u8> {
        let mut frame = [START, &[kind, data.len() as u8], data].concat();
        frame.push(frame.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
        frame
    }

    fn rpc(command: u8, data: &[u8]) -> StdVec<u8> {
        frame(3, &[&[command, data.len() as u8], data].concat())
    }

    fn asked(frame: &[u8]) -> Option<Result<ImprovCommand<'_>, ImprovError>> {
        read(frame.strip_prefix(START).expect("its beginning"))
    }

    #[test]
    fn every_command_is_read() {
        let join = rpc(1, b"\x04Home\x06secret");
        assert_eq!(asked(&join), Some(Ok(ImprovCommand::Join { name: "Home", password: "secret" })));
        let open = rpc(1, b"\x04Cafe\x00");
        assert_eq!(asked(&open), Some(Ok(ImprovCommand::Join { name: "Cafe", password: "" })));
        for (command, data, request) in [
            (2, &b""[..], ImprovCommand::State),
            (3, b"", ImprovCommand::Info),
            (4, b"", ImprovCommand::Scan),
            (5, b"", ImprovCommand::HostName(None)),
            (5, b"attic", ImprovCommand::HostName(Some("attic"))),
            (6, b"", ImprovCommand::Name(None)),
            (6, b"The attic", ImprovCommand::Name(Some("The attic"))),
            (7, b"", ImprovCommand::Network),
        ] {
            let bytes = rpc(command, data);
            assert_eq!(asked(&bytes), Some(Ok(request)));
            assert_eq!(request.command(), command);
        }
    }

    #[test]
    fn what_is_malformed_is_refused_and_what_is_ours_ignored() {
        let mut damaged = rpc(2, b"");
        *damaged.last_mut().expect("a checksum") ^= 1;
        assert_eq!(asked(&damaged), Some(Err(ImprovError::Invalid)));
        assert_eq!(asked(&rpc(99, b"")), Some(Err(ImprovError::Unknown)));
        for data in [&b""[..], b"\x05Home", b"\x04Home", b"\x04Home\x09short", b"\x02\xff\xfe\x00"] {
            assert_eq!(asked(&rpc(1, data)), Some(Err(ImprovError::Invalid)), "{data:?}");
        }
        assert_eq!(asked(&frame(3, b"")), Some(Err(ImprovError::Invalid)));
        assert_eq!(asked(&frame(3, &[2, 7])), Some(Err(ImprovError::Invalid)));
        // A port that echoes must not make the two talk for ever.
        for kind in [0, 1, 2, 4, 255] {
            assert_eq!(asked(&frame(kind, &[2, 0])), None);
        }
    }

    #[test]
    fn frames_are_those_of_the_protocol() {
        let mut out = Screen::new();
        write_state(ImprovState::Provisioned, &mut out);
        assert_eq!(out.bytes(), [b"\n", &frame(1, &[4])[..], b"\n"].concat());
        out.clear();
        write_error(ImprovError::Unable, &mut out);
        assert_eq!(out.bytes(), [b"\n", &frame(2, &[3])[..], b"\n"].concat());
        out.clear();
        write_result(4, &["Home", "-60", "YES"], &mut out);
        assert_eq!(out.bytes(), [b"\n", &frame(4, b"\x04\x0d\x04Home\x03-60\x03YES")[..], b"\n"].concat());
    }

    /// What a client finds in a stream, by the algorithm of the usual one: a frame begins a line.
    fn found(stream: &[u8]) -> StdVec<StdVec<u8>> {
        let (mut line, mut frames) = (StdVec::new(), StdVec::new());
        let mut skips = false;
        for byte in stream {
            if skips {
                skips = *byte != b'\n';
            } else if line.len() >= 9 {
                line.push(*byte);
                if line.len() == 10 + usize::from(line[8]) {
                    frames.push(core::mem::take(&mut line));
                }
            } else if *byte == b'\n' {
                line.clear();
            } else {
                line.push(*byte);
                if line.len() == 9 && !line.starts_with(b"IMPROV") {
                    line.clear();
                    skips = true;
                }
            }
        }
        frames
    }

    proptest! {
        #[test]
        fn a_client_finds_every_result(texts in prop::collection::vec("[ -~]{0,24}", 0..5), before in "[ -~]{0,20}") {
            let mut out = Screen::new();
            let texts: StdVec<&str> = texts.iter().map(String::as_str).collect();
            out.push(before.as_bytes());
            write_result(6, &texts, &mut out);
            let frames = found(out.bytes());
            prop_assert_eq!(frames.len(), 1);
            let data = &frames[0][9..];
            prop_assert_eq!(data[0], 6);
            let (mut rest, mut read) = (&data[2..2 + usize::from(data[1])], StdVec::new());
            while let Some((text, after)) = string(rest) {
                read.push(text);
                rest = after;
            }
            prop_assert_eq!(&read[..texts.len()], &texts[..]);
            prop_assert!(read[texts.len()..].iter().all(|text| text.is_empty()));
        }

        #[test]
        fn a_frame_is_found_anywhere(
            command in 1u8..8, data in prop::collection::vec(any::<u8>(), 0..200),
            before in prop::collection::vec(any::<u8>(), 0..40), after in "[a-z]{0,9}",
        ) {
            let mut input = Box::new(LineReader::new());
            let sent = rpc(command, &data);
            // What comes before must not itself begin a frame.
            prop_assume!(!before.windows(START.len()).any(|window| window == START));
            let mut echo = Screen::new();
            let mut frames = 0;
            for byte in [&before[..], b"\r", &sent, b"\n", after.as_bytes()].concat() {
                echo.clear();
                if input.push(byte, &mut echo) == Some(ConsoleEvent::Frame) {
                    frames += 1;
                    prop_assert_eq!(input.frame(), &sent[START.len()..]);
                    let _ = read(input.frame());
                }
            }
            prop_assert_eq!(frames, 1);
            // The line feed after the frame is the frame's.
            echo.clear();
            prop_assert_eq!(input.push(b'\n', &mut echo), Some(ConsoleEvent::Line));
            prop_assert_eq!(input.line(), after);
        }

        #[test]
        fn nothing_breaks_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
        }
    }
}
