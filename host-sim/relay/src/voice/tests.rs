//! Events, peers and questions, each alone.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};

use super::event::{DATA, Event, HEADER, Malformed, PAYLOAD, ReadError};
use super::no_reply::NoReply;
use super::requests::{Answer, Question, VoiceRequests};
use super::server::{self, Listener, PEERS};

/// As the Python client 1.10.2 writes them: the last one for Home Assistant 2026.4, the one before it for 2025.4.
const CAPTURED: [(&[u8], &str); 5] = [
    (b"{\"type\": \"describe\", \"version\": \"1.10.2\"}\n", "describe"),
    (b"{\"type\": \"ping\", \"version\": \"1.10.2\", \"data_length\": 17}\n{\"text\": \"hello\"}", "ping"),
    (
        b"{\"type\": \"audio-chunk\", \"version\": \"1.10.2\", \"data_length\": 61, \"payload_length\": 2}\n\
          {\"rate\": 16000, \"width\": 2, \"channels\": 1, \"timestamp\": null}\x01\n",
        "audio-chunk",
    ),
    (
        b"{\"type\": \"transcript\", \"version\": \"1.10.2\", \"data_length\": 99}\n{\"text\": \"turn on the kitchen \
          light\", \"context\": {\"conversation_id\": \"01K9ZQ5J6M3V8W2X4Y7Z0A1B2C\"}}",
        "transcript",
    ),
    (
        b"{\"type\": \"transcript\", \"version\": \"1.10.2\", \"data_length\": 218}\n{\"text\": \"schalte das Licht in \
          der K\xc3\xbcche ein\", \"language\": \"de\", \"context\": {\"conversation_id\": \
          \"01K9ZQ5J6M3V8W2X4Y7Z0A1B2C\", \"device_id\": \"3f1c2a9b8d7e6f5a4b3c2d1e0f9a8b7c\", \"satellite_id\": \
          \"assist_satellite.kuche\"}}",
        "transcript",
    ),
];

fn now<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(future)
}

/// All events in some bytes, and how it ended.
fn read_all(mut bytes: &[u8]) -> (Vec<Event>, Option<Malformed>) {
    now(async {
        let mut events = Vec::new();
        loop {
            match Event::read(&mut bytes).await {
                Ok(Some(event)) => events.push(event),
                Ok(None) => return (events, None),
                Err(ReadError::Peer(why)) => return (events, Some(why)),
                Err(ReadError::Transport(error)) => panic!("{error}"),
            }
        }
    })
}

#[test]
fn what_others_send_is_read() {
    let bytes = CAPTURED.map(|(bytes, _)| bytes).concat();
    let (events, end) = read_all(&bytes);
    assert_eq!(end, None);
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, CAPTURED.map(|(_, kind)| kind));
    assert_eq!(events[4].text("text"), Some("schalte das Licht in der Küche ein"));
    assert_eq!(events[4].data["context"]["satellite_id"], "assist_satellite.kuche");
}

#[test]
fn data_behind_the_header_wins_over_data_in_it() {
    let bytes =
        b"{\"type\":\"x\",\"data\":{\"a\":1,\"b\":1},\"data_length\":7,\"payload_length\":null}\n{\"b\":2}";
    let (events, end) = read_all(bytes);
    assert_eq!((events, end), (vec![Event::new("x", json!({ "a": 1, "b": 2 }))], None));
}

#[test]
fn what_is_no_event_is_named() {
    let long = [b"{\"type\":\"".to_vec(), vec![b'x'; HEADER]].concat();
    let (data, payload) = (DATA + 1, PAYLOAD + 1);
    for (bytes, why) in [
        (&b"GET / HTTP/1.1\r\n"[..], Malformed::Header),
        (b"\n", Malformed::Header),
        (b"[]\n", Malformed::Header),
        (b"{}\n", Malformed::Header),
        (b"{\"type\":5}\n", Malformed::Header),
        (b"\xff\xfe\n", Malformed::Header),
        (b"{\"type\":\"x\"}", Malformed::Cut),
        (b"{\"type\":\"x\",\"data_length\":-1}\n", Malformed::Length),
        (b"{\"type\":\"x\",\"data_length\":1.5}\n", Malformed::Length),
        (b"{\"type\":\"x\",\"data_length\":\"7\"}\n", Malformed::Length),
        (b"{\"type\":\"x\",\"payload_length\":18446744073709551616}\n", Malformed::Length),
        (format!("{{\"type\":\"x\",\"data_length\":{data}}}\n").as_bytes(), Malformed::Length),
        (format!("{{\"type\":\"x\",\"payload_length\":{payload}}}\n").as_bytes(), Malformed::Length),
        (b"{\"type\":\"x\",\"data_length\":2}\n[]", Malformed::Data),
        (b"{\"type\":\"x\",\"data_length\":9}\n{}", Malformed::Cut),
        (b"{\"type\":\"x\",\"payload_length\":9}\n{}", Malformed::Cut),
        (&long, Malformed::LongHeader),
        (&vec![b'['; HEADER - 1], Malformed::Cut),
        (&[vec![b'['; 10_000], b"\n".to_vec()].concat(), Malformed::Header),
    ] {
        let (events, end) = read_all(bytes);
        assert_eq!(
            (events, end),
            (vec![], Some(why)),
            "{}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(60)])
        );
    }
}

fn any_data() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,9}".prop_map(Value::from)
    ];
    let value =
        leaf.prop_recursive(3, 12, 3, |inner| prop::collection::vec(inner, 0..3).prop_map(Value::from));
    prop::collection::vec(("[a-z\n\"é]{0,5}", value), 0..4).prop_map(|members| members.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_written_is_read(events in prop::collection::vec(("\\PC{0,12}", any_data()), 0..4)) {
        let events: Vec<Event> = events.into_iter().map(|(kind, data)| Event { kind, data }).collect();
        let bytes: Vec<u8> = events.iter().flat_map(Event::to_bytes).collect();
        prop_assert_eq!(read_all(&bytes), (events, None));
    }

    /// Bytes that are nearly events, and any others.
    #[test]
    fn no_bytes_do_harm(cut in 0..700usize, at in 0..700usize, byte: u8, any in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut bytes = CAPTURED.map(|(bytes, _)| bytes).concat();
        let at = at % bytes.len();
        bytes[at] = byte;
        bytes.truncate(cut);
        bytes.extend(any);
        let _ = read_all(&bytes);
    }
}

/// A service, and who answers its questions.
fn service() -> (mpsc::Sender<DuplexStream>, mpsc::Receiver<Question>) {
    let (connect, connecting) = mpsc::channel(100);
    let (ask, questions) = mpsc::channel(16);
    tokio::spawn(server::serve(Listener::Memory(connecting), ask));
    (connect, questions)
}

async fn peer(service: &mpsc::Sender<DuplexStream>) -> BufReader<DuplexStream> {
    let (theirs, ours) = duplex(256 * 1024);
    service.send(theirs).await.expect("it listens");
    BufReader::new(ours)
}

/// The next event, and none if the service closes the connection.
async fn next(peer: &mut BufReader<DuplexStream>) -> Option<Event> {
    timeout(Duration::from_secs(600), Event::read(peer)).await.expect("in time").expect("an event")
}

#[test]
fn the_service_says_what_it_is_and_that_it_is_there() {
    now(async {
        let (service, _questions) = service();
        let mut peer = peer(&service).await;
        peer.write_all(&CAPTURED.map(|(bytes, _)| bytes)[..3].concat()).await.expect("taken");
        let info = next(&mut peer).await.expect("info");
        assert_eq!(info.kind, "info");
        let program = &info.data["handle"][0];
        assert_eq!((&program["name"], &program["installed"]), (&json!("Hearthwave"), &json!(true)));
        let languages = program["models"][0]["languages"].as_array().expect("languages");
        // Home Assistant offers a service without languages for none of its assistants.
        assert!(["en", "de", "zh"].iter().all(|known| languages.contains(&json!(known))));
        assert_eq!(next(&mut peer).await, Some(Event::new("pong", json!({ "text": "hello" }))));
        peer.write_all(b"{\"type\":\"ping\"}\n").await.expect("taken");
        assert_eq!(next(&mut peer).await, Some(Event::new("pong", json!({}))));
    });
}

#[test]
fn a_transcript_is_handled_or_not_and_its_context_comes_back() {
    now(async {
        let (service, mut questions) = service();
        let mut peer = peer(&service).await;
        let context = json!({ "conversation_id": "c", "device_id": "d", "satellite_id": "s", "more": [1] });
        let say = |context: Value| {
            Event::new("transcript", json!({ "text": " hello ", "context": context, "language": "de" }))
        };
        for (context, satellite, answer, kind, text) in [
            (context.clone(), Some("s"), Ok("Hello.".to_owned()), "handled", "Hello."),
            (
                json!({ "device_id": "d" }),
                Some("d"),
                Err(NoReply::Offline),
                "not-handled",
                NoReply::Offline.words(),
            ),
            (json!({ "satellite_id": "", "device_id": 5 }), None, Ok("Hm.".into()), "handled", "Hm."),
        ] {
            say(context.clone()).write(&mut peer).await.expect("taken");
            let question = questions.recv().await.expect("a question");
            assert_eq!((question.text.as_str(), question.language.as_deref()), ("hello", Some("de")));
            assert_eq!(question.satellite.as_deref(), satellite);
            question.answer.send(answer).expect("waited for");
            assert_eq!(
                next(&mut peer).await,
                Some(Event::new(kind, json!({ "text": text, "context": context })))
            );
        }
        for nothing in [json!({ "text": " " }), json!({}), json!({ "text": 5, "context": "none" })] {
            Event::new("transcript", nothing).write(&mut peer).await.expect("taken");
            let answer = next(&mut peer).await.expect("an answer");
            assert_eq!(
                (answer.kind.as_str(), answer.text("text")),
                ("not-handled", Some(NoReply::NothingHeard.words()))
            );
        }
    });
}

#[test]
fn peers_that_stall_or_talk_nonsense_are_dismissed_in_words() {
    now(async {
        let (service, _questions) = service();
        for (bytes, least, most) in [
            (&b"nonsense\n"[..], 0, 1),
            (b"{\"type\":\"x\",\"data_length\":9999999}\n", 0, 1),
            // The rest never comes.
            (b"{\"type\":\"transcript\",\"data_length\":50}\n{\"te", 10, 11),
            (b"{\"type\"", 10, 11),
        ] {
            let mut peer = peer(&service).await;
            let begun = Instant::now();
            peer.write_all(bytes).await.expect("taken");
            let answer = next(&mut peer).await.expect("words");
            assert_eq!(
                (answer.kind.as_str(), answer.text("text")),
                ("not-handled", Some(NoReply::Malformed.words()))
            );
            assert_eq!(next(&mut peer).await, None, "closed");
            let seconds = begun.elapsed().as_secs();
            assert!((least..=most).contains(&seconds), "{seconds}");
        }
        // Who says nothing at all is not told anything.
        let mut silent = peer(&service).await;
        let begun = Instant::now();
        assert_eq!(next(&mut silent).await, None);
        assert_eq!(begun.elapsed().as_secs(), 60);
    });
}

#[test]
fn pings_and_empty_transcripts_do_not_hold_a_place() {
    for event in [&b"{\"type\":\"ping\"}\n"[..], b"{\"type\":\"transcript\",\"data\":{\"text\":\" \"}}\n"] {
        now(async {
            let (service, _questions) = service();
            let mut peer = peer(&service).await;
            let begun = Instant::now();
            // The write fails when the service has hung up.
            while peer.write_all(event).await.is_ok() {
                if next(&mut peer).await.is_none() {
                    break;
                }
                sleep(Duration::from_secs(5)).await;
                assert!(begun.elapsed() < Duration::from_secs(70), "it is still served");
            }
            assert!(begun.elapsed() >= Duration::from_secs(60), "{:?}", begun.elapsed());
        });
    }
}

#[test]
fn too_many_peers_are_told_so_and_the_others_are_served() {
    now(async {
        let (service, _questions) = service();
        let mut peers = Vec::new();
        for _ in 0..PEERS {
            peers.push(peer(&service).await);
        }
        let mut refused = peer(&service).await;
        let answer = next(&mut refused).await.expect("words");
        assert_eq!((answer.kind.as_str(), answer.text("text")), ("not-handled", Some(NoReply::Busy.words())));
        assert_eq!(next(&mut refused).await, None);
        let ping = Event::new("ping", json!({}));
        for peer in &mut peers {
            ping.write(peer).await.expect("taken");
            assert_eq!(next(peer).await.expect("an answer").kind, "pong");
        }
        // One leaves, and there is a place again.
        drop(peers.pop());
        sleep(Duration::from_millis(10)).await;
        let mut late = peer(&service).await;
        ping.write(&mut late).await.expect("taken");
        assert_eq!(next(&mut late).await.expect("an answer").kind, "pong");
    });
}

#[test]
fn a_peer_that_takes_nothing_does_not_hold_its_place() {
    now(async {
        let (service, _questions) = service();
        let (theirs, mut ours) = duplex(64);
        service.send(theirs).await.expect("it listens");
        ours.write_all(b"{\"type\":\"describe\"}\n").await.expect("taken");
        sleep(Duration::from_secs(11)).await;
        let mut rest = Vec::new();
        ours.read_to_end(&mut rest).await.expect("its end");
        assert_eq!(rest.len(), 64, "the rest was never taken");
    });
}

/// What is asked, and the answer to come.
fn ask(
    requests: &mut VoiceRequests,
    text: &str,
    satellite: Option<&str>,
    now: Instant,
) -> oneshot::Receiver<Answer> {
    let (answer, answered) = oneshot::channel();
    let satellite = satellite.map(Into::into);
    requests.ask(Question { text: text.into(), satellite, conversation: None, language: None, answer }, now);
    answered
}

#[test]
fn only_the_hub_that_is_meant_is_asked() {
    let now = Instant::now();
    let mut requests = VoiceRequests::new(None);
    let refused = |requests: &mut VoiceRequests| {
        ask(requests, "hi", None, now).try_recv().expect("at once").expect_err("why")
    };
    assert_eq!(refused(&mut requests), NoReply::NoHub);
    requests.availability("attic", b"offline");
    assert_eq!(refused(&mut requests), NoReply::Offline);
    requests.availability("attic", b"online");
    let mut answered = ask(&mut requests, "hi", None, now);
    assert_eq!(
        requests.requests.pop_front().expect("a request").topic,
        "hearthwave/attic/request/transcript"
    );
    // One more, even if it is away, might be the one that is meant.
    requests.availability("den", b"offline");
    assert_eq!(refused(&mut requests), NoReply::SeveralHubs);
    assert_eq!(requests.several().as_deref(), Some("attic, den"));
    requests.availability("den", b"");
    assert_eq!(requests.several(), None);
    // It goes while it works.
    assert!(answered.try_recv().is_err(), "not yet");
    requests.availability("attic", b"offline");
    assert_eq!(answered.try_recv().expect("at once"), Err(NoReply::Lost));
    let mut requests = VoiceRequests::new(Some("den"));
    for hub in ["attic", "den", "hall"] {
        requests.availability(hub, b"online");
    }
    let _answered = ask(&mut requests, "hi", None, now);
    assert_eq!(requests.requests.pop_front().expect("a request").topic, "hearthwave/den/request/transcript");
}

#[test]
fn a_hub_that_takes_too_long_is_told_to_stop() {
    let now = Instant::now();
    let mut requests = VoiceRequests::new(None);
    requests.availability("attic", b"online");
    let mut answered = ask(&mut requests, "hi", Some("den"), now);
    let request = requests.requests.pop_front().expect("a request");
    let body: Value = serde_json::from_slice(&request.payload).expect("JSON");
    assert_eq!(body, json!({ "text": "hi", "addressed": true, "conversation": "den", "satellite": "den" }));
    // Before Home Assistant gives up, and nothing is done later.
    let end = requests.next_end().expect("an end");
    assert!(end - now < Duration::from_secs(75) && request.until == end);
    requests.expire(end - Duration::from_millis(1));
    assert!(answered.try_recv().is_err(), "not yet");
    requests.expire(end);
    assert_eq!(answered.try_recv().expect("now"), Err(NoReply::Late));
    let cancel = requests.requests.pop_front().expect("a request");
    assert_eq!(
        (cancel.topic.as_str(), cancel.payload.as_slice()),
        ("hearthwave/attic/request/cancel", &b"{\"conversation\":\"den\"}"[..])
    );
    requests.reply(Some(&request.correlation), b"{\"text\":\"too late\"}", end);
    // A hub that is named but was never seen gets less time.
    let mut requests = VoiceRequests::new(Some("attic"));
    let mut answered = ask(&mut requests, "hi", None, now);
    requests.expire(now + Duration::from_secs(10));
    assert_eq!(answered.try_recv().expect("now"), Err(NoReply::NoHub));
}

#[test]
fn replies_become_words() {
    let now = Instant::now();
    let mut requests = VoiceRequests::new(None);
    requests.availability("attic", b"online");
    for (reply, answer) in [
        ("{\"text\":\"It is on.\",\"conversation\":\"default\"}", Ok("It is on.".to_owned())),
        ("{\"success\":false,\"error\":\"x\",\"error_type\":\"busy\"}", Err(NoReply::Busy)),
        ("{\"success\":false,\"error\":\"x\",\"error_type\":\"too_large\"}", Err(NoReply::TooLong)),
        ("{\"success\":false,\"error\":\"x\",\"error_type\":\"invalid_request\"}", Err(NoReply::Refused)),
        ("{\"success\":true,\"addressed\":false}", Err(NoReply::Outdated)),
        ("nonsense", Err(NoReply::Refused)),
    ] {
        let mut answered = ask(&mut requests, "hi", None, now);
        let correlation = requests.requests.pop_front().expect("a request").correlation;
        for other in [None, Some(&b"x"[..]), Some(&[0xff; 8])] {
            requests.reply(other, b"{\"text\":\"of somebody else\"}", now);
        }
        requests.reply(Some(&correlation), reply.as_bytes(), now);
        assert_eq!(answered.try_recv().expect("at once"), answer, "{reply}");
    }
    let long = "x".repeat(5000);
    assert_eq!(ask(&mut requests, &long, None, now).try_recv().expect("at once"), Err(NoReply::TooLong));
    assert!(requests.requests.is_empty());
}

#[test]
fn a_question_back_is_an_answer_and_what_follows_it_is_said_with_the_next() {
    let now = Instant::now();
    let mut requests = VoiceRequests::new(None);
    requests.availability("attic", b"online");
    let mut unlock = ask(&mut requests, "unlock the door", Some("porch"), now);
    let first = requests.requests.pop_front().expect("a request").correlation;
    requests.speech("attic", br#"{"text":"elsewhere","conversation":"den"}"#, now);
    requests.speech("den", br#"{"text":"elsewhere","conversation":"porch"}"#, now);
    assert!(unlock.try_recv().is_err(), "not yet");
    requests.speech("attic", br#"{"text":"Say the PIN.","conversation":"porch"}"#, now);
    assert_eq!(unlock.try_recv().expect("at once"), Ok("Say the PIN.".into()));
    // A wrong one first: nothing follows it.
    let mut wrong = ask(&mut requests, "1234", Some("porch"), now);
    let second = requests.requests.pop_front().expect("a request").correlation;
    requests.reply(Some(&second), br#"{"text":"That is not the PIN."}"#, now);
    assert!(wrong.try_recv().is_err(), "not yet");
    requests.expire(requests.next_end().expect("soon"));
    assert_eq!(wrong.try_recv().expect("now"), Ok("That is not the PIN.".into()));
    let mut right = ask(&mut requests, "4711", Some("porch"), now);
    let third = requests.requests.pop_front().expect("a request").correlation;
    requests.reply(Some(&third), br#"{"text":"Thank you."}"#, now);
    requests.reply(Some(&first), br#"{"text":"The door is open."}"#, now);
    assert_eq!(right.try_recv().expect("at once"), Ok("Thank you. The door is open.".into()));
    assert_eq!(requests.next_end(), None, "nothing is left");
}

#[test]
fn rooms_with_long_names_stay_apart() {
    let now = Instant::now();
    let mut requests = VoiceRequests::new(None);
    requests.availability("attic", b"online");
    let mut names = std::collections::BTreeSet::new();
    for room in ["kitchen", "den"] {
        let _answered =
            ask(&mut requests, "hi", Some(&format!("{}{room}", "assist_satellite.".repeat(20))), now);
        let body: Value =
            serde_json::from_slice(&requests.requests.pop_front().expect("a request").payload).expect("JSON");
        let [satellite, conversation] =
            ["satellite", "conversation"].map(|name| body[name].as_str().expect("a name").to_owned());
        assert!(satellite.len() <= 96 && conversation.len() <= 48, "{body}");
        names.extend([satellite, conversation]);
    }
    assert_eq!(names.len(), 4);
}
