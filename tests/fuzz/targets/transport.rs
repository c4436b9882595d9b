//! Any bytes from a broker, in any pieces: small packets pass unchanged, large ones are cut, none is lost or invented.
//! Neither the sizes of the pieces nor cancelled reads make a difference.
#![no_main]

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use embedded_io_async::{ErrorKind, ErrorType, Read, Write};
use hub_core::limits::MQTT_RECEIVE;
use hub_core::mqtt::{PacketInfo, Transport};
use libfuzzer_sys::fuzz_target;
use support::broker::{packet, variable};
use support::input::stretch;
use support::wire::{Inbox, pause};

/// The input's header: the sizes of the pieces, and of the read buffer.
const HEAD: usize = 4;

fuzz_target!(init: support::stack::guard(), |input: &[u8]| {
    let Some((head, stream)) = input.split_at_checked(HEAD) else { return };
    let stream = stretch(stream, MQTT_RECEIVE + 2048);
    let whole = sift(&stream, &[], MQTT_RECEIVE);
    let room = usize::from(head[0]).max(1);
    assert_eq!(whole, sift(&stream, &head[1..], room));
    check(&stream, &whole);
    announce(&stream, room);
});

/// The output, and the reported cut of each packet: from which byte on, and how much.
#[derive(Debug, Default, PartialEq)]
struct Passed {
    bytes: Vec<u8>,
    cuts: Vec<(usize, Option<usize>)>,
}

impl Passed {
    /// The reported cut of the packet at `place`.
    fn cut(&self, place: usize) -> Option<usize> {
        self.cuts.iter().rfind(|(from, _)| *from <= place).and_then(|(_, cut)| *cut)
    }
}

fn sift(stream: &[u8], pieces: &[u8], room: usize) -> Passed {
    let mut inbox = Inbox::in_pieces(pieces);
    inbox.push(stream);
    inbox.closed = true;
    let info = PacketInfo::new();
    let mut transport = Transport::new(Broker { inbox, written: Vec::new(), piece: 0 }, &info, true);
    let mut passed = Passed::default();
    let mut buffer = vec![0; room];
    loop {
        // A read that has to wait is cancelled, and another one begun.
        let Poll::Ready(count) = once(transport.read(&mut buffer)) else { continue };
        let count = count.expect("no failure");
        if count == 0 {
            return passed;
        }
        if passed.cuts.last().is_none_or(|(_, cut)| *cut != info.uncut()) {
            passed.cuts.push((passed.bytes.len(), info.uncut()));
        }
        passed.bytes.extend_from_slice(&buffer[..count]);
        assert!(passed.bytes.len() <= stream.len(), "more comes out than goes in");
    }
}

fn once<T>(future: impl Future<Output = T>) -> Poll<T> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Goes through both streams packet by packet, up to the first that is broken: after that, anything goes.
fn check(stream: &[u8], passed: &Passed) {
    let (mut before, mut after) = (stream, &passed.bytes[..]);
    while let Some((first, length, body)) = packet(before) {
        let (bytes, rest) = before.split_at(length);
        let cut = passed.cut(passed.bytes.len() - after.len());
        if length > MQTT_RECEIVE && first >> 4 == 3 {
            if !is_sound(first, body) {
                return;
            }
            let (kept_first, kept, body) = packet(after).expect("something is left of it");
            assert!(kept <= MQTT_RECEIVE && kept_first == first && is_sound(first, body));
            assert!(cut.is_some_and(|cut| cut > 0 && cut <= length), "{cut:?} of {length}");
            after = &after[kept..];
        } else {
            assert_eq!(cut, None);
            after = after.strip_prefix(bytes).expect("untouched");
        }
        before = rest;
    }
    assert!(after.len() <= before.len());
}

/// Whether a PUBLISH has a topic, an identifier where it needs one, and properties.
fn is_sound(first: u8, body: &[u8]) -> bool {
    let identifier = if first >> 1 & 3 > 0 { 2 } else { 0 };
    let properties = body.split_at_checked(2).and_then(|(length, rest)| {
        let topic = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let (length, rest) = variable(rest.get(topic + identifier..)?)?;
        rest.get(..length)
    });
    properties.is_some()
}

/// In the other direction everything passes, but for the four bytes of one number near the start.
fn announce(stream: &[u8], piece: usize) {
    let mut broker = Broker { inbox: Inbox::default(), written: Vec::new(), piece };
    let info = PacketInfo::new();
    let mut transport = Transport::new(&mut broker, &info, true);
    let mut rest = stream;
    while !rest.is_empty() {
        if let Poll::Ready(count) = once(transport.write(rest)) {
            rest = &rest[count.expect("no failure")..];
        }
    }
    assert_eq!(broker.written.len(), stream.len());
    let differing: Vec<_> = (0..stream.len()).filter(|at| broker.written[*at] != stream[*at]).collect();
    if let (Some(first), Some(last)) = (differing.first(), differing.last()) {
        assert!(*last < 32 && last - first < 4, "{differing:?}");
    }
}

struct Broker {
    inbox: Inbox,
    written: Vec<u8>,
    /// How much it accepts at once.
    piece: usize,
}

impl ErrorType for Broker {
    type Error = ErrorKind;
}

impl Read for Broker {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        loop {
            match self.inbox.take(buf) {
                Some(count) => return Ok(count),
                None => pause().await,
            }
        }
    }
}

impl Write for Broker {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        let taken = &buf[..self.piece.min(buf.len())];
        self.written.extend_from_slice(taken);
        Ok(taken.len())
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}
