//! The same brokers seen from a desktop, where rustls shakes hands: the hub judges them there as it does on a board.

use std::sync::Arc;

use host_desktop::broker::BrokerUrl;
use host_sim::network::Network;
use hub_core::{Destination, Dial, DialError, Tls};
use hub_tls::{CertificateRole, TlsError};
use rcgen::date_time_ymd;
use support::Folder;
use support::certificate::{Issued, KeyKind, authority, self_signed};
use support::mosquitto::Mosquitto;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use world::{Setup, in_real_time};

use crate::sessions::server_config;
use crate::{NOW, Trust, echo, open};

/// The outcome on a desktop and that on a board, which have to be the same.
async fn outcomes(issued: &Issued, trust: Trust<'_>) -> Result<(), TlsError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("its number").port();
    let acceptor = TlsAcceptor::from(Arc::new(server_config(issued, &[&rustls::version::TLS13])));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let (mut rx, mut tx) = tokio::io::split(stream);
                let _ = tokio::io::copy(&mut rx, &mut tx).await;
            });
        }
    });
    let Trust { host, trusted, now } = trust;
    let (mut network, tls) = (Network::Tcp, Tls { trusted, now });
    let desktop = match network.dial(&Destination { host, port, tls: Some(tls) }).await {
        Ok(mut stream) => {
            echo(&mut stream, b"hello").await;
            Ok(())
        }
        Err(DialError::Tls(error)) => Err(error),
        Err(error) => panic!("{error:?}"),
    };
    let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a server");
    let board = open(stream, trust).await.map(drop);
    assert_eq!(desktop, board.map_err(TlsError::text));
    board
}

#[tokio::test]
async fn a_desktop_and_a_board_judge_alike() {
    use CertificateRole::Broker;
    let root = authority("a root", KeyKind::P256);
    let trust = Trust::new(root.der());
    let good = root.issues(KeyKind::P256, |_| {});
    assert_eq!(outcomes(&good, trust).await, Ok(()));
    assert_eq!(outcomes(&good, Trust { host: "127.0.0.1", ..trust }).await, Ok(()));
    assert_eq!(outcomes(&good, Trust { now: None, ..trust }).await, Err(TlsError::NoClock));
    assert_eq!(outcomes(&good, Trust { trusted: &[1, 2, 3], ..trust }).await, Err(TlsError::BadCa));
    let lasting = root.issues(KeyKind::P256, |params| params.not_after = date_time_ymd(2100, 1, 1));
    let late = Trust { now: Some(NOW * 2), ..trust };
    assert_eq!(outcomes(&lasting, late).await, Err(TlsError::Expired(CertificateRole::Ca)));
    let elsewhere = root.issues(KeyKind::P256, |params| params.subject_alt_names.clear());
    assert_eq!(outcomes(&elsewhere, trust).await, Err(TlsError::WrongName));
    let expired = root.issues(KeyKind::P256, |params| params.not_after = date_time_ymd(2026, 1, 1));
    assert_eq!(outcomes(&expired, trust).await, Err(TlsError::Expired(Broker)));
    assert_eq!(outcomes(&self_signed(KeyKind::P256), trust).await, Err(TlsError::SelfSigned));
    // Pinned: a CA's as the broker's own, and one of version 1.
    for broker in [authority("a home", KeyKind::P256), authority("a home", KeyKind::Rsa(2048)).as_version_1()]
    {
        assert_eq!(outcomes(&broker, Trust::new(broker.der())).await, Ok(()));
        assert_eq!(outcomes(&broker, Trust { now: None, ..Trust::new(broker.der()) }).await, Ok(()));
        let late = Trust { now: Some(NOW * 2), ..Trust::new(broker.der()) };
        assert_eq!(outcomes(&broker, late).await, Err(TlsError::Expired(Broker)));
    }
}

#[tokio::test]
async fn a_desktop_that_drops_its_connection_says_that_it_closes() {
    let root = authority("a root", KeyKind::P256);
    let acceptor = TlsAcceptor::from(Arc::new(server_config(
        &root.issues(KeyKind::P256, |_| {}),
        &[&rustls::version::TLS13],
    )));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("its number").port();
    let serving = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a client");
        let mut stream = acceptor.accept(stream).await.expect("a session");
        // Without a close_notify this is an error.
        stream.read(&mut [0; 8]).await
    });
    let Trust { host, trusted, now } = Trust::new(root.der());
    let tls = Some(Tls { trusted, now });
    drop(Network::Tcp.dial(&Destination { host, port, tls }).await.expect("a session"));
    assert_eq!(serving.await.expect("the server").expect("an orderly end"), 0);
}

#[tokio::test]
async fn a_desktop_needs_a_certificate_to_trust() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("its number").port();
    let tls = Some(Tls { trusted: &[], now: Some(NOW) });
    let dialled = Network::Tcp.dial(&Destination { host: "127.0.0.1", port, tls }).await;
    assert_eq!(dialled.err(), Some(DialError::Tls(TlsError::NoCa.text())));
}

/// The hub of the simulator, with the broker that people run.
#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn the_simulated_hub_serves_through_mosquitto_over_tls() {
    let root = authority("a home", KeyKind::P256);
    let broker = Mosquitto::start_tls(&root.issues(KeyKind::Rsa(2048), |_| {}), "");
    let folder = Folder::new("hearthwave-ca");
    std::fs::write(folder.0.join("ca.pem"), root.pem()).expect("a file");
    let mut url = BrokerUrl::parse(&format!("mqtts://localhost:{}", broker.tls_port)).expect("a URL");
    let ca = host_desktop::broker::Ca::read(&folder.0.join("ca.pem")).expect("a certificate");
    url.trust(Some(ca)).expect("TLS");
    let desk = Setup::new().network(Network::Tcp).hub(|hub| {
        hub.hub_id = "desk".into();
        hub.broker = url;
    });
    // People come in without TLS.
    in_real_time(desk.tell(async |_| {
        let people = tokio::task::spawn_blocking(move || {
            assert_eq!(broker.next_message("hearthwave/desk/availability"), "online");
            broker.echo("desk", "first");
            let long = "x".repeat(3000);
            broker.echo("desk", &long);
        });
        people.await.expect("what they wanted");
    }));
}
