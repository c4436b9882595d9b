//! A server that keeps to no rule: nothing that it sends makes the hub panic or believe it.

use embedded_io_async::Read;
use hub_tls::TlsError;
use support::PATIENCE;
use support::certificate::{Issued, KeyKind, authority};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::time::timeout;

use crate::server::*;
use crate::{Trust, open};

/// Makes a hello of a server's.
type MakeHello = fn(&Server<'_>) -> Vec<u8>;
/// Makes a record, or several.
type MakeRecord = fn(&mut Server<'_>) -> Vec<u8>;

/// A CA, and a broker of its.
fn certificates() -> (Issued, Issued) {
    let root = authority("a root", KeyKind::P256);
    let broker = root.issues(KeyKind::P256, |_| {});
    (root, broker)
}

/// Says no more, but still listens for as long as somebody has its stream.
async fn hangs_up(mut server: Server<'_>) -> DuplexStream {
    server.stream.shutdown().await.expect("the end");
    server.stream
}

/// What the hub says to a server that does this.
async fn outcome(does: impl AsyncFnOnce(&mut Server<'_>)) -> Result<(), TlsError> {
    let (root, broker) = certificates();
    let (near, far) = duplex(100_000);
    let serving = async {
        let mut server = Server::accept(far, &broker).await;
        does(&mut server).await;
        hangs_up(server).await
    };
    let (opened, _open) = tokio::join!(open(near, Trust::new(root.der())), serving);
    opened.map(drop)
}

/// What the hub says to these messages in one record, after an honest hello.
async fn outcome_of(flight: impl FnOnce(&mut Server<'_>) -> Vec<u8>) -> Result<(), TlsError> {
    outcome(async |server| {
        server.sends_hello().await;
        let flight = flight(server);
        server.seals(HANDSHAKE, &flight).await;
    })
    .await
}

#[tokio::test]
async fn an_honest_server_is_believed() {
    assert_eq!(outcome_of(|server| server.flight()).await, Ok(()));
}

#[tokio::test]
async fn a_server_that_proves_nothing_is_not_believed() {
    let nothing = outcome_of(|server| [server.extensions(), server.finish()].concat()).await;
    assert_eq!(nothing, Err(TlsError::Protocol));
    let no_proof = outcome_of(|server| [server.extensions(), server.certificate(), server.finish()].concat());
    assert_eq!(no_proof.await, Err(TlsError::Protocol));
    let no_certificate = outcome_of(|server| [server.extensions(), server.proof(), server.finish()].concat());
    assert_eq!(no_certificate.await, Err(TlsError::Protocol));
    let no_finish = outcome_of(|server| [server.extensions(), server.certificate(), server.proof()].concat());
    assert_eq!(no_finish.await, Err(TlsError::Closed));
    let empty = outcome_of(|server| {
        let extensions = server.extensions();
        let none = server.says(CERTIFICATE, &[0, 0, 0, 0]);
        [extensions, none, server.proof(), server.finish()].concat()
    });
    assert_eq!(empty.await, Err(TlsError::NoProof));
}

#[tokio::test]
async fn a_proof_by_another_key_or_of_another_session_is_none() {
    let other = authority("a root", KeyKind::P256);
    let by_another = outcome_of(|server| {
        [server.extensions(), server.certificate(), server.proof_by(&other), server.finish()].concat()
    });
    assert_eq!(by_another.await, Err(TlsError::NoProof));
    let of_another = outcome_of(|server| {
        let extensions = server.extensions();
        // Signed before the certificate is part of it.
        let proof = server.proof();
        [extensions, server.certificate(), proof, server.finish()].concat()
    });
    assert_eq!(of_another.await, Err(TlsError::NoProof));
    for scheme in [[8, 4], [4, 1], [2, 3], [5, 3], [0, 0]] {
        let by_another_scheme = outcome_of(|server| {
            let start = [server.extensions(), server.certificate()].concat();
            let mut proof = server.proof();
            proof[4..6].copy_from_slice(&scheme);
            [start, proof, server.finish()].concat()
        });
        assert_eq!(by_another_scheme.await, Err(TlsError::NoProof), "{scheme:?}");
    }
    let wrong_finish = outcome_of(|server| {
        let mut flight = server.flight();
        *flight.last_mut().expect("a finish") ^= 1;
        flight
    });
    assert_eq!(wrong_finish.await, Err(TlsError::Protocol));
}

/// All sequences of up to six messages: only the two of the standard open a session.
#[tokio::test]
async fn only_the_right_messages_in_the_right_order_open_a_session() {
    let mut dice = 1u64;
    for round in 0..400 {
        dice = dice.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mut order: Vec<u8> = match round % 2 {
            0 => vec![0, 2, 3, 4],
            _ => vec![0, 1, 2, 3, 4],
        };
        // Left out, doubled, swapped, or as it is to be.
        let (at, other) = ((dice >> 40) as usize % order.len(), (dice >> 50) as usize % order.len());
        match (dice >> 33) % 5 {
            0 => drop(order.remove(at)),
            1 => order.insert(other, order[at]),
            2 => order.swap(at, other),
            3 => order.insert(other, 5 + (dice >> 45) as u8 % 4),
            _ => {}
        }
        let is_right = order == [0, 2, 3, 4] || order == [0, 1, 2, 3, 4];
        let opened = outcome_of(|server| {
            let says = |kind: &u8| match kind {
                0 => server.extensions(),
                1 => server.request(),
                2 => server.certificate(),
                3 => server.proof(),
                4 => server.finish(),
                5 => server.says(KEY_UPDATE, &[0]),
                6 => server.says(NEW_SESSION_TICKET, &[0; 20]),
                7 => server.says(SERVER_HELLO, &server.hello()[4..]),
                _ => server.says(99, b"?"),
            };
            order.iter().flat_map(says).collect()
        });
        assert_eq!(opened.await.is_ok(), is_right, "{order:?}");
    }
}

#[tokio::test]
async fn hellos_that_choose_what_was_not_offered_are_refused() {
    let hellos: &[(&str, TlsError, MakeHello)] = &[
        ("TLS 1.2", TlsError::Version, |server| server.hello_with(&[7; 32], &[1; 32], 0xc02f, &[])),
        ("TLS 1.2 with extensions", TlsError::Version, |server| {
            server.hello_with(&[7; 32], &[], 0xc02b, &[0xff, 1, 0, 1, 0, 0, 23, 0, 0])
        }),
        ("no version", TlsError::Version, |server| server.hello_with(&[7; 32], &[], 0x1301, &server.share())),
        ("TLS 1.1 chosen", TlsError::Version, |server| {
            server.hello_with(&[7; 32], &[], 0x1301, &[&[0, 43, 0, 2, 3, 2], &*server.share()].concat())
        }),
        ("another suite", TlsError::Protocol, |server| {
            server.hello_with(&[7; 32], &[], 0x1302, &[&[0, 43, 0, 2, 3, 4], &*server.share()].concat())
        }),
        ("a session", TlsError::Protocol, |server| {
            server.hello_with(&[7; 32], &[1], 0x1301, &[&[0, 43, 0, 2, 3, 4], &*server.share()].concat())
        }),
        ("no share", TlsError::Protocol, |server| {
            server.hello_with(&[7; 32], &[], 0x1301, &[0, 43, 0, 2, 3, 4])
        }),
        ("two shares", TlsError::Protocol, |server| {
            let extensions = [&[0, 43, 0, 2, 3, 4], &*server.share(), &*server.share()].concat();
            server.hello_with(&[7; 32], &[], 0x1301, &extensions)
        }),
        ("a key shared before", TlsError::Protocol, |server| {
            let extensions = [&[0, 41, 0, 2, 0, 0, 0, 43, 0, 2, 3, 4], &*server.share()].concat();
            server.hello_with(&[7; 32], &[], 0x1301, &extensions)
        }),
        ("no point of the curve", TlsError::Protocol, |server| {
            let mut hello = server.hello();
            *hello.last_mut().expect("a share") ^= 1;
            hello
        }),
        ("a request to try again", TlsError::Protocol, |server| {
            let random = ring::digest::digest(&ring::digest::SHA256, b"HelloRetryRequest");
            let random = random.as_ref().try_into().expect("its length");
            server.hello_with(random, &[], 0x1301, &[&[0, 43, 0, 2, 3, 4], &*server.share()].concat())
        }),
        ("another group", TlsError::Protocol, |server| {
            server.hello_with(&[7; 32], &[], 0x1301, &[0, 43, 0, 2, 3, 4, 0, 51, 0, 2, 0, 29])
        }),
        ("more behind it", TlsError::Protocol, |server| {
            message(SERVER_HELLO, &[&server.hello()[4..], &[0]].concat())
        }),
        ("another message", TlsError::Protocol, |_| message(ENCRYPTED_EXTENSIONS, &[0, 0])),
        ("a certificate at once", TlsError::Protocol, |_| message(CERTIFICATE, &[0, 0, 0, 0])),
        ("nothing", TlsError::Protocol, |_| message(SERVER_HELLO, &[])),
    ];
    for (what, error, hello) in hellos {
        let opened = outcome(async |server| {
            let hello = hello(server);
            server.sends(&plain(HANDSHAKE, &hello)).await;
            server.protects_after(&hello);
            let flight = server.flight();
            server.seals(HANDSHAKE, &flight).await;
        });
        assert_eq!(opened.await, Err(*error), "{what}");
    }
}

#[tokio::test]
async fn extensions_that_nobody_asked_for_are_refused() {
    for (extensions, is_right) in [
        (&[0, 0][..], true),
        (&[0, 4, 0, 0, 0, 0], true),
        (&[0, 8, 0, 10, 0, 4, 0, 2, 0, 29], true),
        (&[0, 4, 0, 16, 0, 0], false),
        (&[0, 5, 0, 0, 0, 0], false),
        (&[0, 3, 0, 0, 0], false),
        (&[0, 0, 0], false),
        (&[], false),
    ] {
        let opened = outcome_of(|server| {
            let extensions = server.says(ENCRYPTED_EXTENSIONS, extensions);
            [extensions, server.certificate(), server.proof(), server.finish()].concat()
        });
        assert_eq!(opened.await.is_ok(), is_right, "{extensions:?}");
    }
}

#[tokio::test]
async fn what_is_no_tls_is_called_so() {
    for bytes in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        &[0x20, 2, 0, 0, 0, 0],
        &[0xff; 40],
        &[22, 2, 0, 0, 4],
        &[22, 3, 3, 0x40, 1],
    ] {
        let opened = outcome(async |server| server.sends(bytes).await);
        assert_eq!(opened.await, Err(TlsError::NotTls), "{bytes:?}");
    }
    assert_eq!(outcome(async |_| {}).await, Err(TlsError::Closed));
}

#[tokio::test]
async fn alerts_say_what_the_server_said() {
    for alert in [0, 40, 70, 80, 255] {
        let at_once = outcome(async |server| server.sends(&plain(ALERT, &[2, alert])).await);
        assert_eq!(at_once.await, Err(TlsError::Alert(alert)));
        let later = outcome(async |server| {
            server.sends_hello().await;
            server.seals(ALERT, &[2, alert]).await;
        });
        assert_eq!(later.await, Err(TlsError::Alert(alert)));
    }
}

/// Records of a handshake that are not what they are to be.
#[tokio::test]
async fn odd_records_are_refused() {
    let records: &[(&str, MakeRecord)] = &[
        ("no content", |server| server.record_of(vec![])),
        ("only padding", |server| server.record_of(vec![0; 100])),
        ("an empty message", |server| server.record(HANDSHAKE, &[])),
        ("an empty alert", |server| server.record(ALERT, &[])),
        ("a long alert", |server| server.record(ALERT, &[2, 40, 0])),
        ("application data", |server| server.record(DATA, b"hello")),
        ("a protected change of ciphers", |server| server.record(CHANGE_CIPHER_SPEC, &[1])),
        ("an unknown type", |server| server.record(99, b"?")),
        ("another change of ciphers", |_| plain(CHANGE_CIPHER_SPEC, &[2])),
        ("a long change of ciphers", |_| plain(CHANGE_CIPHER_SPEC, &[1, 1])),
        ("an open message", |server| plain(HANDSHAKE, &server.extensions())),
        ("an open alert", |_| plain(ALERT, &[2, 40])),
        ("a short record", |_| plain(DATA, &[0; 15])),
        ("no record", |_| plain(DATA, &[])),
        ("a wrong seal", |_| plain(DATA, &[0; 40])),
        ("a record that is too large", |_| vec![DATA, 3, 3, 0x41, 1]),
        ("another version", |_| vec![DATA, 2, 0, 0, 40]),
        ("an alert inside a message", |server| {
            let extensions = server.extensions();
            [server.record(HANDSHAKE, &extensions[..3]), server.record(ALERT, &[1, 0])].concat()
        }),
    ];
    for (what, record) in records {
        let opened = outcome(async |server| {
            server.sends_hello().await;
            let record = record(server);
            server.sends(&record).await;
            let flight = server.flight();
            server.seals(HANDSHAKE, &flight).await;
        });
        assert_eq!(opened.await, Err(TlsError::Protocol), "{what}");
    }
    // A message may not lie across a change of keys.
    let across = outcome(async |server| {
        let hello = server.hello();
        let extensions = message(ENCRYPTED_EXTENSIONS, &[0, 0]);
        server.sends(&plain(HANDSHAKE, &[hello.clone(), extensions].concat())).await;
    });
    assert_eq!(across.await, Err(TlsError::Protocol));
    let behind = outcome_of(|server| [server.flight(), message(NEW_SESSION_TICKET, &[0; 9])].concat());
    assert_eq!(behind.await, Err(TlsError::Protocol));
}

#[tokio::test]
async fn messages_without_an_end_are_refused() {
    let endless = outcome(async |server| {
        server.sends_hello().await;
        server.seals(HANDSHAKE, &[ENCRYPTED_EXTENSIONS, 0xff, 0xff, 0xff]).await;
        for _ in 0..4 {
            server.seals(HANDSHAKE, &[0; 8000]).await;
        }
    });
    assert_eq!(endless.await, Err(TlsError::TooLarge));
    let many = outcome_of(|server| {
        let extensions = server.extensions();
        let entry = [vector(3, &[0; 10]), vec![0, 0]].concat().repeat(100);
        let certificates = server.says(CERTIFICATE, &[&[0], &*vector(3, &entry)].concat());
        [extensions, certificates].concat()
    });
    assert_eq!(many.await, Err(TlsError::TooLarge));
    // Lengths that are not those of what is inside.
    for cut in 0..60 {
        let cut = outcome_of(|server| {
            let extensions = server.extensions();
            let certificate = server.certificate();
            let body = &certificate[4..certificate.len() - cut - 1];
            [extensions, message(CERTIFICATE, body)].concat()
        });
        assert_eq!(cut.await, Err(TlsError::Protocol));
    }
}

/// One flipped bit anywhere, or an end anywhere, and there is no session.
#[tokio::test]
async fn a_flight_that_was_changed_or_cut_opens_nothing() {
    let length = {
        let (_, broker) = certificates();
        1500 + broker.der().len()
    };
    for place in (0..length).step_by(7) {
        for is_cut in [true, false] {
            let opened = outcome(async |server| {
                let hello = server.hello();
                let mut bytes = plain(HANDSHAKE, &hello);
                server.protects_after(&hello);
                let flight = server.flight();
                bytes.extend(server.record(HANDSHAKE, &flight));
                let place = place % bytes.len();
                // The minor version of a record means nothing; below a seal it counts all the same.
                if !is_cut && place == 2 {
                    bytes[0] ^= 1;
                }
                match is_cut {
                    true => bytes.truncate(place),
                    false => bytes[place] ^= 1 << (place % 8),
                }
                server.sends(&bytes).await;
            });
            assert!(opened.await.is_err(), "byte {place}, cut: {is_cut}");
        }
    }
}

/// What the hub reads after an honest handshake from a server that does this.
async fn read_from(does: impl AsyncFnOnce(&mut Server<'_>)) -> Result<Vec<u8>, String> {
    let (root, broker) = certificates();
    let (near, far) = duplex(100_000);
    let serving = async {
        let mut server = Server::accept(far, &broker).await;
        server.shakes_hands().await;
        does(&mut server).await;
        hangs_up(server).await
    };
    let reading = async {
        let mut stream = open(near, Trust::new(root.der())).await.expect("a session");
        let mut all = Vec::new();
        let mut buffer = [0; 100];
        loop {
            match stream.read(&mut buffer).await {
                Ok(0) => return Ok(all),
                Ok(count) => all.extend_from_slice(&buffer[..count]),
                Err(error) => return Err(error.to_string()),
            }
        }
    };
    tokio::join!(reading, serving).0
}

/// What fits into one record of a broker that does not heed how much the hub asks for.
const LONGEST: usize = 8 * 1024;

#[tokio::test]
async fn what_a_session_may_bring() {
    let read = read_from(async |server| {
        server.seals(HANDSHAKE, &message(NEW_SESSION_TICKET, &[0; 200])).await;
        server.seals(DATA, b"one ").await;
        server.seals(DATA, b"").await;
        let padded = server.record_of([&b"two "[..], &[DATA], &[0; 1000]].concat());
        server.sends(&padded).await;
        let (ticket, update) = (message(NEW_SESSION_TICKET, &[0; 200]), message(KEY_UPDATE, &[1]));
        server.seals(HANDSHAKE, &ticket[..50]).await;
        server.seals(HANDSHAKE, &[&ticket[50..], &*update].concat()).await;
        server.updates_keys();
        server.seals(DATA, b"three ").await;
        server.seals(HANDSHAKE, &message(KEY_UPDATE, &[0])).await;
        server.updates_keys();
        server.seals(DATA, &[b'4'; LONGEST]).await;
        server.seals(ALERT, &[1, 0]).await;
        server.seals(DATA, b"behind the end").await;
    });
    let expected = [b"one two three ".to_vec(), vec![b'4'; LONGEST]].concat();
    assert!(read.await == Ok(expected));
    let too_long = read_from(async |server| server.seals(DATA, &[0; LONGEST + 300]).await);
    assert_eq!(too_long.await, Err(TlsError::TooLarge.text().to_owned()));
    // Without a goodbye, too.
    assert_eq!(read_from(async |server| server.seals(DATA, b"one").await).await, Ok(b"one".into()));
}

#[tokio::test]
async fn a_server_that_wants_new_keys_of_the_hub_gets_them() {
    let read = read_from(async |server| {
        server.seals(HANDSHAKE, &message(KEY_UPDATE, &[1])).await;
        server.updates_keys();
        // Five bytes of a message, its type, and the seal.
        let mut update = [0; 5 + 5 + 1 + 16];
        server.stream.read_exact(&mut update).await.expect("the hub's update");
        assert_eq!(update[..5], [DATA, 3, 3, 0, 22]);
        server.seals(DATA, b"thanks").await;
    });
    assert_eq!(timeout(PATIENCE, read).await, Ok(Ok(b"thanks".into())));
}

#[tokio::test]
async fn what_a_session_may_not_bring() {
    let records: &[(&str, MakeRecord)] = &[
        ("no content", |server| server.record_of(vec![])),
        ("only padding", |server| server.record_of(vec![0; 100])),
        ("an empty message", |server| server.record(HANDSHAKE, &[])),
        ("an unknown update", |server| server.record(HANDSHAKE, &message(KEY_UPDATE, &[2]))),
        ("an empty update", |server| server.record(HANDSHAKE, &message(KEY_UPDATE, &[]))),
        ("a long update", |server| server.record(HANDSHAKE, &message(KEY_UPDATE, &[0, 0]))),
        ("more behind an update", |server| {
            let update = [message(KEY_UPDATE, &[0]), message(NEW_SESSION_TICKET, &[0; 9])].concat();
            server.record(HANDSHAKE, &update)
        }),
        ("a hello", |server| server.record(HANDSHAKE, &server.hello())),
        ("extensions", |server| server.record(HANDSHAKE, &message(ENCRYPTED_EXTENSIONS, &[0, 0]))),
        ("a certificate", |server| server.record(HANDSHAKE, &message(CERTIFICATE, &[0, 0, 0, 0]))),
        ("a request", |server| server.record(HANDSHAKE, &message(CERTIFICATE_REQUEST, &[0, 0, 0]))),
        ("a proof", |server| server.record(HANDSHAKE, &message(CERTIFICATE_VERIFY, &[4, 3, 0, 0]))),
        ("a finish", |server| server.record(HANDSHAKE, &message(FINISHED, &[0; 32]))),
        ("an unknown message", |server| server.record(HANDSHAKE, &message(99, b"?"))),
        ("data inside a message", |server| {
            [server.record(HANDSHAKE, &[4, 0, 0]), server.record(DATA, b"x")].concat()
        }),
        ("a change of ciphers", |_| plain(CHANGE_CIPHER_SPEC, &[1])),
        ("open data", |_| plain(DATA, b"hello, but longer than a seal would be")),
        ("an open message", |_| plain(HANDSHAKE, &message(NEW_SESSION_TICKET, &[0; 9]))),
        ("an unknown type", |server| server.record(24, b"?")),
        ("a record twice", |server| server.record(DATA, b"twice").repeat(2)),
    ];
    for (what, record) in records {
        let read = read_from(async |server| {
            let record = record(server);
            server.sends(&record).await;
            server.seals(DATA, b"more").await;
        });
        assert_eq!(read.await, Err(TlsError::Protocol.text().into()), "{what}");
    }
    let alert = read_from(async |server| server.seals(ALERT, &[2, 116]).await);
    assert_eq!(alert.await, Err(TlsError::Alert(116).text().into()));
}

/// RFC 8446 lets a server send one for the sake of middleboxes, behind its hello. A stream of them keeps nobody busy.
#[tokio::test]
async fn a_change_of_ciphers_comes_once_and_behind_the_hello() {
    let change = plain(CHANGE_CIPHER_SPEC, &[1]);
    for (before, behind, is_right) in
        [(0, 0, true), (0, 1, true), (0, 2, false), (1, 0, false), (0, 5000, false)]
    {
        let opened = outcome(async |server| {
            server.sends(&change.repeat(before)).await;
            server.sends_hello().await;
            server.sends(&change.repeat(behind)).await;
            let flight = server.flight();
            server.seals(HANDSHAKE, &flight).await;
        });
        let wanted = if is_right { Ok(()) } else { Err(TlsError::Protocol) };
        assert_eq!(opened.await, wanted, "{before} before the hello, {behind} behind it");
    }
}
