//! Connections that end while a reply waits, with a broker played packet by packet.

use host_desktop::broker::BrokerStream;
use host_relay::{self as relay, Models, Settings};
use hub_core::{Destination, Dial, DialError};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Duration, sleep, timeout};

/// Hands the far end of every stream that the relay dials to the test.
struct Scripted(UnboundedSender<DuplexStream>);

impl Dial for Scripted {
    type Io<'a> = BrokerStream;

    async fn dial(&mut self, _: &Destination<'_>) -> Result<BrokerStream, DialError> {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        self.0.send(theirs).expect("the test listens");
        Ok(BrokerStream::new(ours))
    }
}

/// The broker's end of a connection, which lets the relay have one unacknowledged reply.
struct Peer(DuplexStream);

impl Peer {
    async fn accepts(dialled: &mut UnboundedReceiver<DuplexStream>, is_session_present: bool) -> Self {
        let mut peer = Self(dialled.recv().await.expect("the relay dials"));
        assert_eq!(peer.packet().await.expect("CONNECT")[0], 0x10);
        peer.sends(&[0x20, 6, u8::from(is_session_present), 0, 3, 0x21, 0, 1]).await;
        peer
    }

    /// The next packet: its first byte, and its body. `None` after a minute without one.
    async fn packet(&mut self) -> Option<Vec<u8>> {
        let first = timeout(Duration::from_secs(60), self.0.read_u8()).await.ok()?.ok()?;
        let mut length = 0;
        for place in 0.. {
            let digit = self.0.read_u8().await.expect("a length");
            length |= usize::from(digit & 0x7F) << (7 * place);
            if digit & 0x80 == 0 {
                break;
            }
        }
        let mut packet = vec![0; 1 + length];
        packet[0] = first;
        self.0.read_exact(&mut packet[1..]).await.expect("a whole packet");
        Some(packet)
    }

    async fn sends(&mut self, packet: &[u8]) {
        self.0.write_all(packet).await.expect("the relay reads");
    }

    /// A hub asks, and wants the answer on a topic of one letter. With an identifier, at QoS 1.
    async fn asks(&mut self, answer_on: u8, identifier: Option<u8>) {
        let topic = b"hearthwave/h/llm/request/openai";
        let mut body = vec![0, u8::try_from(topic.len()).expect("short")];
        body.extend_from_slice(topic);
        body.extend(identifier.into_iter().flat_map(|identifier| [0, identifier]));
        body.extend_from_slice(&[4, 0x08, 0, 1, answer_on]);
        body.extend_from_slice(b"{}");
        let first = if identifier.is_some() { 0x32 } else { 0x30 };
        self.sends(&[&[first, u8::try_from(body.len()).expect("short")], &body[..]].concat()).await;
    }
}

/// The topic of a reply, and its packet identifier.
fn reply(packet: &[u8]) -> Option<(u8, [u8; 2])> {
    // Without acknowledgement the relay tells that it is there.
    let is_reply = packet[0] >> 4 == 3 && packet[0] & 0b110 != 0;
    is_reply.then(|| (packet[3], [packet[4], packet[5]]))
}

/// The second reply waits for the acknowledgement of the first when the connection ends; the session goes on in the next
/// connection. Every hub gets its answer, once.
#[test]
fn a_reply_that_waits_for_another_is_not_lost_with_the_connection() {
    world::in_virtual_time(async {
        let (sender, mut dialled) = unbounded_channel();
        let settings = Settings::in_memory(Models::default());
        let broker = async {
            let mut first = Peer::accepts(&mut dialled, false).await;
            let subscribe = first.packet().await.expect("SUBSCRIBE");
            first.sends(&[0x90, 7, subscribe[1], subscribe[2], 0, 1, 1, 1, 0]).await;
            assert_eq!(first.packet().await.expect("that it is there")[0], 0x31);
            first.asks(b'a', None).await;
            first.asks(b'b', None).await;
            let (topic, _) = reply(&first.packet().await.expect("a reply")).expect("PUBLISH");
            assert_eq!(topic, b'a');
            sleep(Duration::from_secs(1)).await;
            // What is acknowledged next finds a closed line.
            first.asks(b'c', Some(7)).await;
            drop(first);
            let mut second = Peer::accepts(&mut dialled, true).await;
            let mut topics = Vec::new();
            while let Some(packet) = second.packet().await {
                if let Some((topic, identifier)) = reply(&packet) {
                    topics.push(topic);
                    second.sends(&[0x40, 2, identifier[0], identifier[1]]).await;
                } else if packet[0] >> 4 == 12 {
                    second.sends(&[0xD0, 0]).await;
                }
                if topics.len() > 2 && packet[0] >> 4 == 12 {
                    break;
                }
            }
            topics.sort_unstable();
            assert_eq!(topics, b"abc");
        };
        tokio::select! {
            ended = relay::run(Scripted(sender), &settings, std::future::pending()) => panic!("{ended:?}"),
            () = broker => {}
        }
    });
}
