//! A hub, and the broker at the other end of its line.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use embedded_io_async::{ErrorKind, ErrorType, Read, Write};
use hub_core::{Config, Destination, Dial, DialError, Hub, Memory, NoConsole, Platform, Wired};
use test_flash::Flash;

use crate::clock;
use crate::wire::Inbox;

/// The prefix of the hub's topics.
pub const BASE: &str = "hearthwave/hub/";

/// A message from the hub.
#[derive(Debug)]
pub struct Published {
    /// The topic.
    pub topic: String,
    /// As they are on the wire.
    pub properties: Vec<u8>,
    /// The payload.
    pub payload: Vec<u8>,
}

/// A broker that behaves correctly, unless a target changes that.
#[derive(Clone, Default)]
pub struct Broker(Rc<RefCell<Line>>);

#[derive(Default)]
struct Line {
    inbox: Inbox,
    /// Bytes from the hub that are not a whole packet yet.
    sent: Vec<u8>,
    published: Vec<Published>,
    /// Whether the hub has subscribed on this connection.
    subscribed: bool,
    /// It answers nothing.
    silent: bool,
    /// What the next connection sends instead of correct packets.
    next: Option<Inbox>,
    /// Whether any bytes were transferred.
    moved: bool,
}

impl Broker {
    /// Sends only this on the next connection.
    pub fn misbehave(&self, inbox: Inbox) {
        self.0.borrow_mut().next = Some(inbox);
    }

    /// Sends further bytes in these pieces.
    pub fn send(&self, bytes: &[u8], pieces: &[u8]) {
        let line = &mut *self.0.borrow_mut();
        line.inbox = Inbox::in_pieces(pieces);
        line.inbox.push(bytes);
        line.moved = true;
    }

    /// Whether the hub has subscribed on this connection.
    pub fn is_subscribed(&self) -> bool {
        self.0.borrow().subscribed
    }

    /// Closes the connection.
    pub fn close(&self) {
        let line = &mut *self.0.borrow_mut();
        line.inbox.closed = true;
        line.moved = true;
    }

    /// The complete messages that the hub has published since the last call.
    pub fn published(&self) -> Vec<Published> {
        std::mem::take(&mut self.0.borrow_mut().published)
    }
}

impl Dial for Broker {
    type Io<'a> = Self;

    async fn dial(&mut self, _: &Destination<'_>) -> Result<Self, DialError> {
        let line = &mut *self.0.borrow_mut();
        line.sent.clear();
        line.subscribed = false;
        line.moved = true;
        line.silent = line.next.is_some();
        line.inbox = line.next.take().unwrap_or_default();
        Ok(self.clone())
    }
}

impl ErrorType for Broker {
    type Error = ErrorKind;
}

impl Read for Broker {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        std::future::poll_fn(|_| {
            let line = &mut *self.0.borrow_mut();
            let taken = line.inbox.take(buf);
            line.moved |= taken.is_some() || !line.inbox.is_empty();
            taken.map_or(Poll::Pending, |count| Poll::Ready(Ok(count)))
        })
        .await
    }
}

impl Write for Broker {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        let line = &mut *self.0.borrow_mut();
        line.sent.extend_from_slice(buf);
        line.moved = true;
        while let Some((first, length, body)) = packet(&line.sent) {
            if !line.silent {
                line.inbox.push(&answer(first, body));
                line.published.extend(message(first, body));
                line.subscribed |= first >> 4 == 8;
            }
            line.sent.drain(..length);
        }
        Ok(buf.len())
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

/// The whole packet at the start of `bytes`: its first byte, its length and its body.
pub fn packet(bytes: &[u8]) -> Option<(u8, usize, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (length, after) = variable(rest)?;
    Some((*first, bytes.len() - after.len() + length, after.get(..length)?))
}

/// The variable byte integer at the start of `bytes`, and the rest. `None` if it is incomplete or too long.
pub fn variable(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let count = bytes.iter().take(4).position(|byte| byte & 0x80 == 0)? + 1;
    let (number, rest) = bytes.split_at(count);
    Some((number.iter().rev().fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7F)), rest))
}

/// Encodes a variable byte integer.
fn push_variable(mut number: usize, out: &mut Vec<u8>) {
    while number > 0x7F {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A message for the hub, as a PUBLISH.
pub fn publish(topic: &str, qos: u8, properties: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut body = (topic.len() as u16).to_be_bytes().to_vec();
    body.extend_from_slice(topic.as_bytes());
    if qos > 0 {
        body.extend_from_slice(&[0, 7]);
    }
    push_variable(properties.len(), &mut body);
    body.extend_from_slice(properties);
    body.extend_from_slice(payload);
    let mut packet = vec![0x30 | qos << 1];
    push_variable(body.len(), &mut packet);
    packet.extend_from_slice(&body);
    packet
}

/// The broker's answer to a packet.
fn answer(first: u8, body: &[u8]) -> Vec<u8> {
    let id = |body: &[u8]| [body[0], body[1]];
    match first >> 4 {
        // CONNECT, without a session from before.
        1 => vec![0x20, 3, 0, 0, 0],
        // PUBLISH.
        3 if first >> 1 & 3 > 0 => {
            let topic = usize::from(u16::from_be_bytes(id(body)));
            let [high, low] = id(&body[2 + topic..]);
            vec![if first >> 1 & 3 == 1 { 0x40 } else { 0x50 }, 2, high, low]
        }
        // PUBREC and PUBREL.
        5 => [&[0x62, 2], &id(body)[..]].concat(),
        6 => [&[0x70, 2], &id(body)[..]].concat(),
        // SUBSCRIBE, and every filter is granted.
        8 => {
            let granted = vec![2; filters(&body[2..])];
            [&[0x90, 3 + granted.len() as u8], &id(body)[..], &[0], &granted[..]].concat()
        }
        // PINGREQ.
        12 => vec![0xD0, 0],
        _ => Vec::new(),
    }
}

/// How many filters a subscription has.
fn filters(body: &[u8]) -> usize {
    let (properties, rest) = variable(body).expect("properties of the hub's");
    let mut rest = &rest[properties..];
    let mut count = 0;
    while let [high, low, after @ ..] = rest {
        let filter = usize::from(u16::from_be_bytes([*high, *low]));
        rest = &after[filter + 1..];
        count += 1;
    }
    count
}

fn message(first: u8, body: &[u8]) -> Option<Published> {
    if first >> 4 != 3 {
        return None;
    }
    let topic = usize::from(u16::from_be_bytes([body[0], body[1]]));
    let (topic, rest) = body[2..].split_at(topic);
    let rest = if first >> 1 & 3 > 0 { &rest[2..] } else { rest };
    let (properties, rest) = variable(rest).expect("properties of the hub's");
    let (properties, payload) = rest.split_at(properties);
    let topic = String::from_utf8(topic.to_vec()).expect("a topic of the hub's");
    Some(Published { topic, properties: properties.to_vec(), payload: payload.to_vec() })
}

/// A controller that sends what a target gives it, and reads nothing.
#[derive(Clone, Default)]
pub struct Controller(Rc<RefCell<Inbox>>);

impl Controller {
    /// Sends further bytes in these pieces.
    pub fn send(&self, bytes: &[u8], pieces: &[u8]) {
        let inbox = &mut *self.0.borrow_mut();
        *inbox = Inbox::in_pieces(pieces);
        inbox.push(bytes);
    }
}

impl ErrorType for Controller {
    type Error = ErrorKind;
}

impl Read for Controller {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        std::future::poll_fn(|context| {
            let inbox = &mut *self.0.borrow_mut();
            let taken = inbox.take(buf);
            if !inbox.is_empty() {
                context.waker().wake_by_ref();
            }
            taken.map_or(Poll::Pending, |count| Poll::Ready(Ok(count)))
        })
        .await
    }
}

impl Write for Controller {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        Ok(buf.len())
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

/// A machine that does nothing.
#[derive(Default)]
struct Machine {
    volume: Cell<u8>,
}

impl Platform for Machine {
    fn seed(&self) -> u64 {
        1
    }

    fn wall_clock(&self) -> Option<i64> {
        Some(1_767_225_600)
    }

    fn volume(&self) -> u8 {
        self.volume.get()
    }

    fn set_volume(&self, percent: u8) {
        assert!(percent <= 100);
        self.volume.set(percent);
    }

    fn restart(&self) {}
}

#[derive(Default)]
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Tells a story of a hub between `broker` and `controller`. The story is handed what lets the hub run until it has nothing more to do.
pub fn with_hub(broker: &Broker, controller: &Controller, story: impl FnOnce(&mut dyn FnMut())) {
    clock::reset();
    let config = Config {
        target: "fuzz",
        broker: hub_core::Broker { url: "mqtt://broker", user: "user", password: "password", ca: "" },
        example_tools: true,
        ..Config::DEFAULT
    };
    let mut memory = Box::new(Memory::new());
    let mut hub = Hub::new(config, &mut memory);
    let mut flash = Flash::<256>::new(16);
    let allowance = flash.limit();
    let line = (controller.clone(), controller.clone());
    let console = (NoConsole, NoConsole);
    let mut run = Box::pin(hub.run(line, console, broker.clone(), Wired, &mut flash, Machine::default()));
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(bell.clone());
    story(&mut || {
        /// A few polls for every piece of the longest input.
        const POLLS: usize = 1_000_000;
        for _ in 0..POLLS {
            allowance.renew();
            let Poll::Pending = run.as_mut().poll(&mut Context::from_waker(&waker));
            let moved = std::mem::take(&mut broker.0.borrow_mut().moved);
            if !bell.0.swap(false, Ordering::Relaxed) && !moved {
                return;
            }
        }
        panic!("the hub does not come to rest");
    });
}
