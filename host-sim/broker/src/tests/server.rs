//! The broker on tokio: transports, time, and the end of both.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::BytesMut;
use mqtt5_protocol::packet::connect::ConnectPacket;
use mqtt5_protocol::packet::publish::PublishPacket;
use mqtt5_protocol::packet::subscribe::SubscribePacket;
use mqtt5_protocol::{ConnectOptions, FixedHeader, Packet, QoS, ReasonCode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::super::{Limits, Options, Server};
use super::{client, encoded, returning, will};

const LOCAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

/// How long an event may take, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(30);

async fn packet(stream: &mut impl Stream) -> io::Result<Packet> {
    timeout(PATIENCE, next_packet(stream)).await.expect("a packet in time")
}

async fn next_packet(stream: &mut impl Stream) -> io::Result<Packet> {
    let mut bytes = BytesMut::new();
    while bytes.len() < 2 || bytes.last().is_some_and(|last| last & 0x80 != 0) {
        bytes.extend_from_slice(&[stream.read_u8().await?]);
    }
    let header = FixedHeader::decode(&mut bytes).unwrap();
    let mut body = vec![0; header.remaining_length as usize];
    stream.read_exact(&mut body).await?;
    Ok(Packet::decode_from_body(header.packet_type, &header, &mut &body[..]).unwrap())
}

async fn connected<S: Stream>(mut stream: S, options: ConnectOptions) -> S {
    assert_eq!(answer(&mut stream, options).await, ReasonCode::Success);
    stream
}

/// What the broker answers to a CONNECT.
async fn answer(stream: &mut impl Stream, options: ConnectOptions) -> ReasonCode {
    stream.write_all(&encoded(&ConnectPacket::new(options))).await.unwrap();
    match packet(stream).await.unwrap() {
        Packet::ConnAck(answer) => answer.reason_code,
        other => panic!("instead of CONNACK: {other:?}"),
    }
}

async fn refused(mut stream: impl Stream) {
    assert_eq!(answer(&mut stream, client("other")).await, ReasonCode::QuotaExceeded);
    expect_end(&mut stream).await;
}

async fn subscribe(stream: &mut impl Stream, filter: &str, qos: QoS) {
    stream.write_all(&encoded(&SubscribePacket::new(1).add_filter(filter, qos))).await.unwrap();
    assert!(matches!(packet(stream).await.unwrap(), Packet::SubAck(_)));
}

async fn publish(stream: &mut impl Stream, topic: &str, qos: QoS) {
    let publish = PublishPacket::new(topic, "x", qos).with_packet_id(1);
    stream.write_all(&encoded(&publish)).await.unwrap();
}

async fn expect_farewell(stream: &mut impl Stream, reason: ReasonCode) {
    match packet(stream).await.unwrap() {
        Packet::Disconnect(disconnect) => assert_eq!(disconnect.reason_code, reason),
        other => panic!("instead of DISCONNECT: {other:?}"),
    }
    expect_end(stream).await;
}

async fn expect_end(stream: &mut impl Stream) {
    let read = timeout(PATIENCE, stream.read(&mut [0; 10])).await.expect("the end in time");
    assert_eq!(read.unwrap(), 0, "the end of the stream");
}

#[tokio::test(start_paused = true)]
async fn timeouts_pass_in_virtual_time() {
    let server = Server::start(Options::default());
    let mut watcher = connected(server.connect(), client("w")).await;
    subscribe(&mut watcher, "will", QoS::AtMostOnce).await;
    let options = client("s").with_keep_alive(Duration::from_secs(1000)).with_will(will("will", 0));
    let start = Instant::now();
    let mut silent = connected(server.connect(), options).await;
    let gone = timeout(Duration::from_secs(2000), next_packet(&mut watcher)).await;
    assert!(matches!(gone.unwrap().unwrap(), Packet::Publish(_)));
    assert_eq!(start.elapsed().as_secs(), 1500);
    expect_farewell(&mut silent, ReasonCode::KeepAliveTimeout).await;
}

#[tokio::test]
async fn clients_meet_whether_they_come_over_tcp_or_in_memory() {
    let server = Server::start(Options::default());
    let address = server.listen(LOCAL).unwrap();
    assert_ne!(address.port(), 0);
    let other = server.listen(LOCAL).unwrap();
    let mut near = connected(server.connect(), client("near")).await;
    let mut far = connected(TcpStream::connect(address).await.unwrap(), client("far")).await;
    let mut farther = connected(TcpStream::connect(other).await.unwrap(), client("farther")).await;
    subscribe(&mut near, "t", QoS::AtMostOnce).await;
    subscribe(&mut far, "t", QoS::AtMostOnce).await;
    publish(&mut farther, "t", QoS::AtMostOnce).await;
    assert!(matches!(packet(&mut near).await.unwrap(), Packet::Publish(_)));
    assert!(matches!(packet(&mut far).await.unwrap(), Packet::Publish(_)));
}

#[tokio::test]
async fn after_shutdown_everybody_knows_and_nothing_is_open() {
    let server = Server::start(Options::default());
    let address = server.listen(LOCAL).unwrap();
    let mut near = connected(server.connect(), client("near")).await;
    let far = connected(TcpStream::connect(address).await.unwrap(), client("far")).await;
    let waiting = tokio::spawn(async move {
        let mut far = far;
        expect_farewell(&mut far, ReasonCode::ServerShuttingDown).await;
    });
    server.shutdown().await;
    expect_farewell(&mut near, ReasonCode::ServerShuttingDown).await;
    waiting.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "the port is closed");
    expect_end(&mut server.connect()).await;
    assert!(server.listen(LOCAL).is_err());
    let successor = Server::start(Options::default());
    assert_eq!(successor.listen(address).unwrap(), address, "the port is free");
}

#[tokio::test(start_paused = true)]
async fn shutdown_does_not_wait_for_ever_for_a_client_that_does_not_read() {
    let server = Server::start(Options::default());
    let mut deaf = connected(server.connect(), client("deaf")).await;
    let mut talker = connected(server.connect(), client("talker")).await;
    subscribe(&mut deaf, "t", QoS::AtMostOnce).await;
    for _ in 0..20 {
        let publish = PublishPacket::new("t", vec![0; 10_000], QoS::AtMostOnce);
        talker.write_all(&encoded(&publish)).await.unwrap();
    }
    let start = Instant::now();
    server.shutdown().await;
    assert_eq!(start.elapsed(), Limits::default().close_within);
}

#[tokio::test]
async fn dropping_the_last_handle_closes_everything() {
    let server = Server::start(Options::default());
    let address = server.listen(LOCAL).unwrap();
    let mut near = connected(server.connect(), client("near")).await;
    let mut far = connected(TcpStream::connect(address).await.unwrap(), client("far")).await;
    let clone = server.clone();
    drop(server);
    publish(&mut near, "t", QoS::AtLeastOnce).await;
    assert!(matches!(packet(&mut near).await.unwrap(), Packet::PubAck(_)), "there is another handle");
    drop(clone);
    expect_end(&mut near).await;
    expect_end(&mut far).await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_kicked_client_finds_its_stream_at_the_end() {
    let server = Server::start(Options::default());
    let mut stream = connected(server.connect(), returning("s", 60)).await;
    assert!(server.kick("s"));
    assert!(!server.kick("s"));
    expect_end(&mut stream).await;
    assert!(stream.write_all(&[0xc0, 0]).await.is_err(), "nobody is there to read");
    let mut stream = server.connect();
    stream.write_all(&encoded(&ConnectPacket::new(returning("s", 60)))).await.unwrap();
    assert!(matches!(packet(&mut stream).await.unwrap(), Packet::ConnAck(ack) if ack.session_present));
    assert!(server.forget_session("s"));
    expect_end(&mut stream).await;
    let mut stream = server.connect();
    stream.write_all(&encoded(&ConnectPacket::new(returning("s", 60)))).await.unwrap();
    assert!(matches!(packet(&mut stream).await.unwrap(), Packet::ConnAck(ack) if !ack.session_present));
}

#[tokio::test]
async fn a_client_that_is_cut_after_a_delivery_has_the_message_and_gets_it_again() {
    let server = Server::start(Options::default());
    let address = server.listen(LOCAL).unwrap();
    let mut talker = connected(server.connect(), client("talker")).await;
    let mut stream = connected(TcpStream::connect(address).await.unwrap(), returning("s", 60)).await;
    subscribe(&mut stream, "t", QoS::AtLeastOnce).await;
    assert!(server.cut_after_next_delivery("s"));
    publish(&mut talker, "t", QoS::AtLeastOnce).await;
    assert!(matches!(packet(&mut stream).await.unwrap(), Packet::Publish(it) if !it.dup));
    expect_end(&mut stream).await;
    let mut stream = connected(server.connect(), returning("s", 60)).await;
    assert!(matches!(packet(&mut stream).await.unwrap(), Packet::Publish(it) if it.dup));
    drop(stream);
}

#[tokio::test]
async fn last_words_arrive_even_if_the_client_goes_on_talking() {
    let server = Server::start(Options::default());
    let address = server.listen(LOCAL).unwrap();
    for _ in 0..20 {
        let stream = connected(TcpStream::connect(address).await.unwrap(), client("s")).await;
        let (reader, mut writer) = stream.into_split();
        let talk = async move {
            let wrong = encoded(&PublishPacket::new("a/#", "x", QoS::AtMostOnce));
            writer.write_all(&wrong).await.unwrap();
            writer.write_all(&vec![0; 4_000_000]).await.unwrap();
            writer
        };
        let listen = async move {
            expect_farewell(&mut tokio::io::join(reader, tokio::io::sink()), ReasonCode::TopicNameInvalid)
                .await;
        };
        tokio::join!(talk, listen);
    }
}

#[tokio::test]
async fn one_client_too_many_is_refused_in_words() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let server = Server::start(Options { limits, ..Options::default() });
    let address = server.listen(LOCAL).unwrap();
    let first = connected(server.connect(), client("s")).await;
    refused(server.connect()).await;
    refused(TcpStream::connect(address).await.unwrap()).await;
    drop(first);
    let let_in = async {
        while answer(&mut server.connect(), client("other")).await != ReasonCode::Success {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, let_in).await.expect("the broker to notice that there is room");
    assert_eq!(server.dropped(), Default::default());
}
