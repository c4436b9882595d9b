//! Sessions with servers by other hands: rustls, and OpenSSL as mosquitto has it.

use std::sync::Arc;

use embedded_io_async::Read;
use hub_tls::{CertificateRole, TlsError};
use rcgen::date_time_ymd;
use rustls::ServerConfig;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls_pki_types::PrivateKeyDer;
use support::certificate::{Issued, KeyKind, authority, self_signed};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio_rustls::TlsAcceptor;

use crate::{NOW, Trust, echo, open};

fn server_config(issued: &Issued, versions: &[&'static rustls::SupportedProtocolVersion]) -> ServerConfig {
    let key = PrivateKeyDer::try_from(issued.key.serialize_der()).expect("a key");
    let key = any_supported_type(&key).expect("a key");
    // Unchecked: also of version 1.
    let certified = CertifiedKey::new(issued.chain.clone(), key);
    ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(versions)
        .expect("versions")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
}

/// A server by rustls that echoes. Returns the client's end.
fn echoes(config: ServerConfig) -> DuplexStream {
    let (near, far) = duplex(5000);
    tokio::spawn(async move {
        let Ok(mut stream) = TlsAcceptor::from(Arc::new(config)).accept(far).await else { return };
        let mut buffer = [0; 20_000];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            // Some keys of its own now and then.
            if buffer[0] == b'K' {
                stream.get_mut().1.refresh_traffic_keys().expect("new keys");
            }
            stream.write_all(&buffer[..count]).await.expect("written");
            stream.flush().await.expect("sent");
        }
    });
    near
}

#[tokio::test]
async fn a_session_with_every_kind_of_key() {
    use KeyKind::{P256, Rsa};
    for (ca, server) in
        [(P256, P256), (Rsa(2048), Rsa(2048)), (Rsa(4096), P256), (P256, Rsa(4096)), (Rsa(3072), Rsa(3072))]
    {
        let root = authority("a root", ca);
        let middle = root.issues_authority("a CA", ca, |_| {});
        for broker in [root.issues(server, |_| {}), middle.issues(server, |_| {})] {
            for host in ["localhost", "127.0.0.1", "broker.test"] {
                let near = echoes(server_config(&broker, &[&TLS13]));
                let mut stream =
                    open(near, Trust { host, ..Trust::new(root.der()) }).await.expect("a session");
                echo(&mut stream, b"hello").await;
            }
        }
    }
}

/// A message of the handshake in many records, and many records for a message of the hub's.
#[tokio::test]
async fn records_of_any_size() {
    let root = authority("a root", KeyKind::Rsa(4096));
    let broker = root.issues(KeyKind::Rsa(4096), |_| {});
    let bytes: Vec<u8> = (0..100_000u32).map(|number| number as u8).collect();
    for size in [None, Some(32), Some(100), Some(1000), Some(16_384 + 5)] {
        let mut config = server_config(&broker, &[&TLS13]);
        config.max_fragment_size = size;
        let mut stream = open(echoes(config), Trust::new(root.der())).await.expect("a session");
        echo(&mut stream, &bytes).await;
    }
}

#[tokio::test]
async fn a_broker_that_changes_its_keys_goes_on() {
    let root = authority("a root", KeyKind::P256);
    let broker = root.issues(KeyKind::P256, |_| {});
    let mut stream =
        open(echoes(server_config(&broker, &[&TLS13])), Trust::new(root.der())).await.expect("a session");
    for round in 0..20 {
        echo(&mut stream, if round % 3 == 0 { b"K and something" } else { b"nothing" }).await;
    }
}

#[tokio::test]
async fn a_broker_that_asks_for_a_certificate_gets_none() {
    let root = authority("a root", KeyKind::P256);
    let broker = root.issues(KeyKind::P256, |_| {});
    let mut roots = rustls::RootCertStore::empty();
    roots.add(root.der().clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    for is_optional in [true, false] {
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots.clone()), provider.clone());
        let verifier = if is_optional { verifier.allow_unauthenticated() } else { verifier };
        let key = PrivateKeyDer::try_from(broker.key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .expect("versions")
            .with_client_cert_verifier(verifier.build().expect("a verifier"))
            .with_single_cert(broker.chain.clone(), key)
            .expect("a certificate and its key");
        // The handshake is complete before the server looks at it.
        let mut stream = open(echoes(config), Trust::new(root.der())).await.expect("a session");
        if is_optional {
            echo(&mut stream, b"hello").await;
        } else {
            let error = stream.read(&mut [0; 10]).await.expect_err("refused");
            assert!(error.to_string().contains("require_certificate false"), "{error}");
        }
    }
}

/// The refusal of the hub, and the one that the server hears of.
async fn refusal(issued: &Issued, trust: Trust<'_>) -> TlsError {
    open(echoes(server_config(issued, &[&TLS13])), trust).await.err().expect("refused")
}

#[tokio::test]
async fn what_is_refused_says_which_certificate_and_why() {
    use CertificateRole::{Broker, Intermediate};
    let root = authority("a root", KeyKind::P256);
    let good = root.issues(KeyKind::P256, |_| {});
    let trust = Trust::new(root.der());

    assert_eq!(refusal(&good, Trust { host: "example.org", ..trust }).await, TlsError::WrongName);
    assert_eq!(refusal(&good, Trust { host: "10.0.0.1", ..trust }).await, TlsError::WrongName);
    assert_eq!(refusal(&good, Trust { now: None, ..trust }).await, TlsError::NoClock);
    assert_eq!(refusal(&good, Trust { trusted: &[], ..trust }).await, TlsError::NoCa);
    assert_eq!(refusal(&good, Trust { trusted: &root.der()[1..], ..trust }).await, TlsError::BadCa);

    let expired = root.issues(KeyKind::P256, |params| params.not_after = date_time_ymd(2026, 1, 1));
    assert_eq!(refusal(&expired, trust).await, TlsError::Expired(Broker));
    let early = root.issues(KeyKind::P256, |params| params.not_before = date_time_ymd(2027, 1, 1));
    assert_eq!(refusal(&early, trust).await, TlsError::NotYetValid(Broker));
    let middle = root.issues_authority("a CA", KeyKind::P256, |params| {
        params.not_after = date_time_ymd(2026, 1, 1);
    });
    assert_eq!(refusal(&middle.issues(KeyKind::P256, |_| {}), trust).await, TlsError::Expired(Intermediate));

    assert_eq!(refusal(&self_signed(KeyKind::P256), trust).await, TlsError::SelfSigned);
    let other = authority("another root", KeyKind::P256).issues(KeyKind::P256, |_| {});
    assert_eq!(refusal(&other, trust).await, TlsError::UnknownIssuer);
    // The root made anew, under its old name.
    let namesake = authority("a root", KeyKind::P256);
    assert_eq!(refusal(&namesake.issues(KeyKind::P256, |_| {}), trust).await, TlsError::BadSignature(Broker));
    let middle = namesake.issues_authority("a CA", KeyKind::P256, |_| {});
    let below = middle.issues(KeyKind::P256, |_| {});
    assert_eq!(refusal(&below, trust).await, TlsError::BadSignature(Intermediate));

    let leaf_as_ca = good.issues(KeyKind::P256, |_| {});
    assert_eq!(refusal(&leaf_as_ca, trust).await, TlsError::NotAllowed(Intermediate));
    let ca_as_leaf = root.issues_authority("a CA", KeyKind::P256, |params| {
        params.subject_alt_names =
            rcgen::CertificateParams::new(["localhost".into()]).unwrap().subject_alt_names;
    });
    assert_eq!(refusal(&ca_as_leaf, trust).await, TlsError::IsCa);
    let client = root.issues(KeyKind::P256, |params| {
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    });
    assert_eq!(refusal(&client, trust).await, TlsError::NotAllowed(Broker));

    for kind in [KeyKind::P384, KeyKind::Ed25519] {
        let odd = authority("an odd root", kind);
        let below = odd.issues(KeyKind::P256, |_| {});
        assert_eq!(refusal(&below, Trust::new(odd.der())).await, TlsError::Unsupported(Broker));
        let middle = root.issues_authority("an odd CA", kind, |_| {});
        assert_eq!(
            refusal(&middle.issues(KeyKind::P256, |_| {}), trust).await,
            TlsError::Unsupported(Broker)
        );
        // The server does not even offer it.
        assert_eq!(refusal(&root.issues(kind, |_| {}), trust).await, TlsError::Alert(40));
    }
}

#[tokio::test]
async fn a_certificate_that_is_pinned_needs_no_more_than_its_key_and_its_dates() {
    // A CA's as the broker's own, and one of version 1: the two habits of home brokers.
    for kind in [KeyKind::P256, KeyKind::Rsa(2048)] {
        for broker in [authority("a home", kind), self_signed(kind), authority("a home", kind).as_version_1()]
        {
            let stranger = authority("a home", KeyKind::P256);
            for host in ["localhost", "10.1.2.3"] {
                for now in [Some(NOW), None] {
                    let trust = Trust { host, now, trusted: broker.der() };
                    let near = echoes(server_config(&broker, &[&TLS13]));
                    let mut stream = open(near, trust).await.expect("a session");
                    echo(&mut stream, b"hello").await;
                    assert!(open(echoes(server_config(&stranger, &[&TLS13])), trust).await.is_err());
                }
            }
            let late = Trust { now: Some(2_300_000_000), ..Trust::new(broker.der()) };
            assert_eq!(refusal(&broker, late).await, TlsError::Expired(CertificateRole::Broker));
            let early = Trust { now: Some(1_500_000_000), ..Trust::new(broker.der()) };
            assert_eq!(refusal(&broker, early).await, TlsError::NotYetValid(CertificateRole::Broker));
        }
    }
    // Not pinned, each says what it is.
    let root = authority("a root", KeyKind::P256);
    let old = authority("a home", KeyKind::P256).as_version_1();
    assert_eq!(refusal(&old, Trust::new(root.der())).await, TlsError::OldCertificate);
    let home = authority("a home", KeyKind::P256);
    assert!(matches!(refusal(&home, Trust::new(root.der())).await, TlsError::IsCa | TlsError::SelfSigned));
}

#[tokio::test]
async fn a_broker_of_tls_1_2_is_told_to_allow_1_3() {
    let root = authority("a root", KeyKind::P256);
    let broker = root.issues(KeyKind::P256, |_| {});
    let near = echoes(server_config(&broker, &[&TLS12]));
    let error = open(near, Trust::new(root.der())).await.err().expect("refused");
    assert_eq!(error, TlsError::Alert(70));
    assert_eq!(error.text(), TlsError::Version.text());
}
