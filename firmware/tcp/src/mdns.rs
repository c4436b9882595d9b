//! Answers for the hub's name, `<hub-id>.local`, to whoever on the network asks for it (mDNS, RFC 6762).
//!
//! [`answer`] decides without I/O; [`respond`] is its driver. By hand: the crates for it bring a runtime, or are far larger
//! than one name needs.

use embassy_futures::select::{Either, select};
use embassy_net::udp::{PacketMetadata, UdpSocket};
use embassy_net::{IpAddress, IpEndpoint, Ipv4Address, Stack};
use embassy_time::{Duration, Timer};
use hub_core::HubId;

const GROUP: Ipv4Address = Ipv4Address::new(224, 0, 0, 251);
const PORT: u16 = 5353;

/// Largest packet that is read. Questions for one name are much shorter; what is larger is dropped by the stack.
const PACKET: usize = 512;

/// Room for an answer: a name of 40 bytes, 34 bytes around it, and the question again.
pub const ANSWER: usize = 96;

/// How long others may remember the address, in seconds. The RFC's number for addresses.
const TTL: u32 = 120;
/// The same for those who ask from another port, and do not hear when it changes.
const LEGACY_TTL: u32 = 10;

/// The name is announced this often, each a second after the last.
const ANNOUNCEMENTS: u8 = 2;
const ANNOUNCEMENT_PAUSE: Duration = Duration::from_secs(1);
/// Between two looks whether the address is another one.
const ADDRESS_POLL: Duration = Duration::from_secs(10);

const TYPE_A: u16 = 1;
const TYPE_AAAA: u16 = 28;
const TYPE_NSEC: u16 = 47;
const TYPE_ANY: u16 = 255;
const CLASS_IN: u16 = 1;
const CLASS_ANY: u16 = 255;
/// In a question: the answer may come straight to the asker. In an answer: it is the only one.
const TOP_BIT: u16 = 1 << 15;
const RESPONSE: u16 = 1 << 15;
const AUTHORITATIVE: u16 = 1 << 10;
const OPCODE: u16 = 15 << 11;

/// The name in packets: `<id>`, `local`.
#[derive(Clone, Copy, Debug)]
pub struct Host<'a> {
    /// The first part of the name.
    pub id: HubId<'a>,
    /// Its address.
    pub address: [u8; 4],
}

/// What to do about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It does not concern the hub.
    Ignore,
    /// Send so many bytes to everybody.
    ToAll(usize),
    /// Send so many bytes to whoever sent the packet.
    ToSender(usize),
    /// Somebody at this address has the same name.
    Conflict([u8; 4]),
}

/// What to do about a packet from `port` of some machine. An answer is written to `out`.
pub fn answer(packet: &[u8], port: u16, host: Host<'_>, out: &mut [u8; ANSWER]) -> Action {
    read(packet, port, host, out).unwrap_or(Action::Ignore)
}

/// `None` if the packet ends too early, or is malformed in another way.
fn read(packet: &[u8], port: u16, host: Host<'_>, out: &mut [u8; ANSWER]) -> Option<Action> {
    let mut reader = Reader { packet, at: 0 };
    let id = reader.number()?;
    let flags = reader.number()?;
    let [questions, answers, authorities, additional] =
        [reader.number()?, reader.number()?, reader.number()?, reader.number()?];
    if flags & OPCODE != 0 {
        return None;
    }
    if flags & RESPONSE != 0 {
        for _ in 0..questions {
            reader.question(host)?;
        }
        for _ in 0..answers.saturating_add(authorities).saturating_add(additional) {
            match reader.record(host)? {
                Some((address, _)) if address != host.address => return Some(Action::Conflict(address)),
                _ => {}
            }
        }
        return None;
    }

    let mut asked = None;
    let mut may_be_direct = true;
    for _ in 0..questions {
        if let Some((kind, is_direct)) = reader.question(host)? {
            // The address says more than that there is no other.
            asked = if kind == TYPE_AAAA { asked.or(Some(kind)) } else { Some(TYPE_A) };
            may_be_direct &= is_direct;
        }
    }
    let asked = asked?;
    let is_legacy = port != PORT;
    for _ in 0..answers {
        // Whoever asks knows it already, and for long enough. A packet that is cut here asks nevertheless.
        match reader.record(host) {
            Some(Some((address, ttl))) if address == host.address && ttl >= TTL / 2 && asked == TYPE_A => {
                return Some(Action::Ignore);
            }
            Some(_) => {}
            None => break,
        }
    }
    let length = write(host, asked, is_legacy.then_some(id), out);
    Some(if is_legacy || may_be_direct { Action::ToSender(length) } else { Action::ToAll(length) })
}

/// An answer that nobody asked for: the name has this address now. Returns its length.
pub fn announcement(host: Host<'_>, out: &mut [u8; ANSWER]) -> usize {
    write(host, TYPE_A, None, out)
}

/// Asks whether somebody else has the name. Returns the length of the question.
pub fn probe(host: Host<'_>, out: &mut [u8; ANSWER]) -> usize {
    let mut writer = Writer { out, length: 0 };
    writer.numbers(&[0, 0, 1, 0, 0, 0]);
    writer.name(host.id);
    writer.numbers(&[TYPE_ANY, CLASS_IN | TOP_BIT]);
    writer.length
}

/// Writes an answer: the address, or that there is no other kind of address. With the id of a question, for those who know
/// only DNS, and want to see their question again.
fn write(host: Host<'_>, kind: u16, question: Option<u16>, out: &mut [u8; ANSWER]) -> usize {
    /// A pointer to the first name of a packet.
    const FIRST_NAME: u16 = 0xc00c;
    let mut writer = Writer { out, length: 0 };
    let flags = RESPONSE | AUTHORITATIVE;
    writer.numbers(&[question.unwrap_or(0), flags, question.is_some().into(), 1, 0, 0]);
    writer.name(host.id);
    let (class, ttl) = match question {
        Some(_) => {
            writer.numbers(&[kind, CLASS_IN, FIRST_NAME]);
            (CLASS_IN, LEGACY_TTL)
        }
        None => (CLASS_IN | TOP_BIT, TTL),
    };
    let record = if kind == TYPE_A { TYPE_A } else { TYPE_NSEC };
    writer.numbers(&[record, class, 0, ttl as u16]);
    if kind == TYPE_A {
        writer.numbers(&[4]);
        writer.bytes(&host.address);
    } else {
        // The next name is the same one; then the types that there are, as bits: A.
        writer.numbers(&[5, FIRST_NAME]);
        writer.bytes(&[0, 1, 0x40]);
    }
    writer.length
}

/// Writes into a packet. What does not fit is lost; the longest answer fits.
struct Writer<'a> {
    out: &'a mut [u8; ANSWER],
    length: usize,
}

impl Writer<'_> {
    fn bytes(&mut self, bytes: &[u8]) {
        if let Some(room) = self.out.get_mut(self.length..self.length + bytes.len()) {
            room.copy_from_slice(bytes);
            self.length += bytes.len();
        }
    }

    fn numbers(&mut self, numbers: &[u16]) {
        numbers.iter().for_each(|number| self.bytes(&number.to_be_bytes()));
    }

    fn name(&mut self, id: HubId<'_>) {
        let id = id.as_str();
        self.bytes(&[id.len() as u8]);
        self.bytes(id.as_bytes());
        self.bytes(b"\x05local\0");
    }
}

/// Reads a packet. `None` where it ends or is malformed.
struct Reader<'a> {
    packet: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u16> {
        let bytes = self.packet.get(self.at..)?.first_chunk()?;
        self.at += 2;
        Some(u16::from_be_bytes(*bytes))
    }

    /// Reads a question. If it is for the host's address: which kind is asked for, and whether the answer may come straight
    /// to the asker.
    fn question(&mut self, host: Host<'_>) -> Option<Option<(u16, bool)>> {
        let is_hosts = self.name(host)?;
        let (kind, class) = (self.number()?, self.number()?);
        let is_asked = is_hosts
            && matches!(kind, TYPE_A | TYPE_AAAA | TYPE_ANY)
            && matches!(class & !TOP_BIT, CLASS_IN | CLASS_ANY);
        Some(is_asked.then_some((kind, class & TOP_BIT != 0)))
    }

    /// Reads a record. If it is an address of the host's name: which, and for how many seconds it is to be remembered.
    fn record(&mut self, host: Host<'_>) -> Option<Option<([u8; 4], u32)>> {
        let is_hosts = self.name(host)?;
        let (kind, class) = (self.number()?, self.number()?);
        let ttl = u32::from(self.number()?) << 16 | u32::from(self.number()?);
        let length = usize::from(self.number()?);
        let data = self.packet.get(self.at..)?.get(..length)?;
        self.at += length;
        let is_address = is_hosts && kind == TYPE_A && class & !TOP_BIT == CLASS_IN;
        Some(data.try_into().ok().filter(|_| is_address).map(|address| (address, ttl)))
    }

    /// Reads a name. Returns whether it is the host's; upper and lower case are the same.
    fn name(&mut self, host: Host<'_>) -> Option<bool> {
        let mut wanted = [host.id.as_str(), "local"].into_iter();
        let mut is_hosts = true;
        // Where the name goes on: after the first pointer, which ends it here, somewhere before.
        let mut at = self.at;
        let mut has_jumped = false;
        // Each pointer leads further back than the last, so that no name is endless.
        let mut limit = self.at;
        loop {
            let length = usize::from(*self.packet.get(at)?);
            if length >= 0xc0 {
                let target = (length & 0x3f) << 8 | usize::from(*self.packet.get(at + 1)?);
                if !has_jumped {
                    self.at = at + 2;
                }
                if target >= limit {
                    return None;
                }
                (at, limit, has_jumped) = (target, target, true);
                continue;
            }
            let label = self.packet.get(at + 1..at + 1 + length)?;
            at += 1 + length;
            if !has_jumped {
                self.at = at;
            }
            if length == 0 {
                return Some(is_hosts && wanted.next().is_none());
            }
            if length > 63 {
                return None;
            }
            is_hosts &= wanted.next().is_some_and(|part| part.as_bytes().eq_ignore_ascii_case(label));
        }
    }
}

/// The memory of a responder's socket. All zeros when new: keep it in a `static`.
pub struct Memory {
    received: [u8; PACKET],
    received_info: [PacketMetadata; 4],
    sent: [u8; 2 * ANSWER],
    sent_info: [PacketMetadata; 2],
}

impl Memory {
    /// Empty.
    pub const fn new() -> Self {
        Self {
            received: [0; PACKET],
            received_info: [PacketMetadata::EMPTY; 4],
            sent: [0; 2 * ANSWER],
            sent_info: [PacketMetadata::EMPTY; 2],
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// Answers for the name `<id>.local`, for ever: announces it whenever the stack gets another address, and answers
/// questions. If somebody else has the name, `on_conflict` gets the address, once for each; the hub keeps its name.
pub async fn respond(
    stack: Stack<'_>,
    id: HubId<'_>,
    memory: &mut Memory,
    mut on_conflict: impl FnMut([u8; 4]),
) -> ! {
    let Memory { received, received_info, sent, sent_info } = memory;
    let mut socket = UdpSocket::new(stack, received_info, received, sent_info, sent);
    // The RFC's, by which receivers once knew that a packet is not from far away.
    socket.set_hop_limit(Some(255));
    // Nobody else has the port.
    let _ = socket.bind(PORT);
    let everybody = IpEndpoint::new(IpAddress::Ipv4(GROUP), PORT);
    let mut host = Host { id, address: [0; 4] };
    let mut announcements = 0;
    let mut last_conflict = [0; 4];
    let mut out = [0; ANSWER];
    loop {
        if !stack.is_config_up() {
            // Whatever address comes then, it is announced.
            host.address = [0; 4];
            crate::wait_for_address(stack).await;
        }
        let Some(config) = stack.config_v4() else { continue };
        let address = config.address.address().octets();
        if address != host.address {
            host.address = address;
            // Again, even if it is a member: another router may listen.
            let _ = stack.leave_multicast_group(GROUP);
            let _ = stack.join_multicast_group(GROUP);
            let length = probe(host, &mut out);
            // What is not sent is sent again, or asked for.
            let _ = socket.send_to(out.get(..length).unwrap_or_default(), everybody).await;
            announcements = ANNOUNCEMENTS;
        }
        let wait = if announcements > 0 { ANNOUNCEMENT_PAUSE } else { ADDRESS_POLL };
        let received = socket.recv_from_with(|packet, from| {
            (answer(packet, from.endpoint.port, host, &mut out), from.endpoint)
        });
        let (length, to) = match select(received, Timer::after(wait)).await {
            Either::First((Action::ToAll(length), _)) => (length, everybody),
            Either::First((Action::ToSender(length), sender)) => (length, sender),
            Either::First((Action::Conflict(other), _)) => {
                if other != last_conflict {
                    last_conflict = other;
                    on_conflict(other);
                }
                continue;
            }
            Either::First((Action::Ignore, _)) => continue,
            Either::Second(()) if announcements > 0 => {
                announcements -= 1;
                (announcement(host, &mut out), everybody)
            }
            Either::Second(()) => continue,
        };
        let _ = socket.send_to(out.get(..length).unwrap_or_default(), to).await;
    }
}

#[cfg(test)]
mod tests;
