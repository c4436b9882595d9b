//! Voice assistants speak to a hub, and hear it, through the Wyoming service.

use host_relay::voice::{self, Event, Listener};
use host_relay::{Models, Settings};
use host_zwave::Home;
use tokio::io::{BufReader, duplex};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use world::model::{calls, stop};
use world::prelude::*;

/// Home Assistant, with the service between it and the hub.
struct Assistant {
    service: mpsc::Sender<tokio::io::DuplexStream>,
    task: JoinHandle<()>,
    /// The service's client id at the broker.
    client: String,
}

impl Drop for Assistant {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Assistant {
    async fn start(world: &World) -> Self {
        let (service, listener) = mpsc::channel(1);
        let (way, settings) = (world.way(), voice::Settings::in_memory());
        let client = settings.client_id.clone();
        let task = tokio::task::spawn_local(async move {
            let listener = Listener::Memory(listener);
            voice::run(way, &settings, listener, std::future::pending()).await.expect("settings that fit");
        });
        // It learns which hubs there are.
        sleep(Duration::from_secs(1)).await;
        Self { service, task, client }
    }

    /// Says something in a room: the type of the answer, and its words.
    async fn says(&self, room: &str, text: &str) -> (String, String) {
        let (theirs, ours) = duplex(64 * 1024);
        self.service.send(theirs).await.expect("it listens");
        let mut peer = BufReader::new(ours);
        let context = json!({ "conversation_id": "01K9", "satellite_id": room });
        let transcript =
            Event::new("transcript", json!({ "text": text, "context": context, "language": "en" }));
        transcript.write(&mut peer).await.expect("taken");
        let answer = Event::read(&mut peer).await.expect("an event").expect("an answer");
        assert_eq!(answer.data["context"], context);
        (answer.kind.clone(), answer.text("text").expect("words").to_owned())
    }
}

fn handled(words: &str) -> (String, String) {
    ("handled".into(), words.into())
}

fn not_handled(words: &str) -> (String, String) {
    ("not-handled".into(), words.into())
}

#[test]
fn a_light_is_switched_by_voice() {
    let home = Home::default();
    let relay = Settings::in_memory(Models::demo());
    Setup::new().home(&home).relay(relay).story(async |world| {
        world.waits_until_ready().await;
        let assistant = Assistant::start(world).await;
        let answer = assistant.says("assist_satellite.kitchen", "turn on the kitchen light").await;
        assert_eq!(answer, handled("Kitchen Light is now on."));
        assert_eq!(home.device("Kitchen Light").expect("a device").state.to_string(), "on");
        let answer = assistant.says("assist_satellite.den", "Hey Hearthwave, is the kitchen light on?").await;
        assert_eq!(answer.0, "handled", "{answer:?}");
    });
}

/// The hub asks for the PIN while the first question waits; the satellite can only answer once it has heard that.
#[test]
fn a_door_is_unlocked_by_voice_with_a_pin() {
    let home = Home::fast(7);
    Setup::new().home(&home).story(async |world| {
        let mut ann = world.person("ann").await;
        ann.sees_link("ready").await;
        while ann.asks("device/list", json!({})).await["devices"].as_array().is_none_or(|all| all.len() < 5) {
            sleep(Duration::from_secs(1)).await;
        }
        ann.sets("gate.pin", json!("4711")).await;
        let mut model = world.model().await;
        let assistant = Assistant::start(world).await;
        let unlock = calls(&[("lock_door", json!({ "deviceName": "Front Door", "action": "unlock" }))]);
        let (asked, _) = tokio::join!(assistant.says("porch", "unlock the front door"), model.serves(unlock));
        let words = "I need your approval to unlock Front Door. Say the PIN, or allow it in your app.";
        assert_eq!(asked, handled(words));
        let wrong = assistant.says("porch", "one two three four").await;
        assert_eq!(wrong, handled("That is not the PIN. Please try again."));
        let serving = model.serves(stop("The front door is unlocked."));
        let (right, _) = tokio::join!(assistant.says("porch", "four seven one one"), serving);
        assert_eq!(right, handled("Thank you. The front door is unlocked."));
        assert_eq!(home.device("Front Door").expect("a device").state.to_string(), "unlocked");
    });
}

/// The service reconnects for the answer and does not ask again.
#[test]
fn an_answer_outlives_the_connection_of_the_service_and_the_broker() {
    story(async |world| {
        let (_controller, _ann) = world.connected().await;
        let assistant = Assistant::start(world).await;
        let mut model = world.model().await;
        // Only the service's connection breaks, and the answer waits at the broker.
        let (answer, ()) = tokio::join!(assistant.says("den", "Hello?"), async {
            let question = model.hears_question().await;
            world.broker().kick(&assistant.client);
            model.answers(&question, stop("Here."));
        });
        assert_eq!(answer, handled("Here."));
        sleep(Duration::from_secs(5)).await;
        // All connections break, and the broker loses all sessions. A new question hears that there is no broker.
        let (answer, away) = tokio::join!(assistant.says("den", "And now?"), async {
            let question = model.hears_question().await;
            world.replaces_the_broker().await;
            let model = world.model().await;
            let away = assistant.says("attic", "Hello?").await;
            world.person("bob").await;
            model.answers(&question, stop("Still here."));
            sleep(Duration::from_secs(5)).await;
            away
        });
        assert_eq!(answer, handled("Still here."));
        let words = "Sorry, I cannot reach the hub, because its message broker does not answer.";
        assert_eq!(away, not_handled(words));
        assert_logged_times(2, "conversation den is answered");
        // The broker does not come back. The answer says so before Home Assistant gives up.
        let begun = Instant::now();
        let (answer, _) = tokio::join!(assistant.says("den", "And then?"), async {
            sleep(Duration::from_secs(3)).await;
            world.broker().shutdown().await;
        });
        let words = "Sorry, I lost the connection to the hub. I do not know whether that was done.";
        assert_eq!(answer, not_handled(words));
        assert!(begun.elapsed() < Duration::from_secs(70), "{:?}", begun.elapsed());
    });
}

#[test]
fn whatever_is_wrong_is_said_in_time() {
    story(async |world| {
        let mut model = world.model().await;
        let (_controller, mut ann) = world.connected().await;
        let assistant = Assistant::start(world).await;
        // Until then, a turn would wait for the controller.
        ann.sees_link("degraded").await;
        let begun = Instant::now();
        // The model never answers: the hub is told to stop.
        let (late, _) = tokio::join!(assistant.says("den", "what is love?"), model.hears_question());
        // The hub itself waits for a model for 60 seconds.
        assert_eq!(late, handled("Sorry, I cannot reach my language model right now."));
        assert!(begun.elapsed() < Duration::from_secs(70), "{:?}", begun.elapsed());
        let (late, _) = tokio::join!(assistant.says("den", "what is love?"), async {
            model.serves(calls(&[("hub_echo", json!({}))])).await;
            let question = model.hears_question().await;
            sleep(Duration::from_secs(40)).await;
            model.answers(&question, calls(&[("hub_echo", json!({}))]));
        });
        assert_eq!(late, not_handled("Sorry, that took too long."));
        let event = loop {
            let event = ann.hears("event/chat").await.json();
            if event["state"] == "done" {
                break event;
            }
        };
        assert_eq!(event["conversation"], "den");
        // What is too long for the hub.
        let long = assistant.says("den", &"blah ".repeat(1000)).await;
        assert_eq!(long, not_handled("Sorry, that is too much for me at once."));
        // The hub loses its power while it works, and is away.
        let (lost, ()) = tokio::join!(assistant.says("den", "what is love?"), async {
            model.hears_question().await;
            world.switches_off().await;
        });
        assert_eq!(
            lost,
            not_handled("Sorry, I lost the connection to the hub. I do not know whether that was done.")
        );
        let away = assistant.says("den", "hello?").await;
        assert_eq!(away, not_handled("Sorry, the hub is not there right now."));
    });
}
