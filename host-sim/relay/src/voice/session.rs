//! The service's session with the broker, until it is stopped.

use std::convert::Infallible;
use std::time::Duration;

use hub_contract::ROOT;
use hub_json::text::one_line;
use hub_mqtt::Dial;
use hub_mqtt::{Client, Connection, Lost, Role, Sent};
use minimq::{
    Buffers, ConfigBuilder, ConfigError, InboundPublish, Io, Property, Publication, QoS, RetainHandling,
    SubscriptionOptions, TopicFilter,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::Settings;
use super::no_reply::NoReply;
use super::requests::{Question, VoiceRequests};
use super::server::{self, Listener};
use crate::Unfit;

const ROLE: Role = Role {
    log: "voice",
    refused: "it does not let the voice service subscribe; check its access rules",
    taken_over: "another client with the same id connected",
    unsteady: "connection lost again, by the broker or the network",
    cuts_oversize: false,
};

/// The largest packet from the broker; a hub's are far smaller.
const RECEIVE: usize = 64 * 1024;
/// Requests that wait for the broker's acknowledgement.
const SEND: usize = 256 * 1024;
/// Seconds between two signs of life.
const KEEPALIVE: u16 = 30;
/// The seconds for which the broker keeps answers while the connection is lost.
const SESSION_EXPIRY: u32 = 60;
/// Questions that wait to be looked at.
const QUESTIONS: usize = 16;
/// For the broker to tell which hubs there are.
const SETTLE: Duration = Duration::from_millis(500);

/// Serves voice assistants at `listener` until `stop` is ready. Always reconnects to the broker, after a wait that
/// grows with each failure. Until then, new questions are answered with an apology, and earlier ones keep waiting for
/// their answers.
///
/// It belongs into a current-thread runtime of tokio, as everything with the clock of `host-desktop` does.
pub async fn run(
    dial: impl Dial,
    settings: &Settings,
    listener: Listener,
    stop: impl Future<Output = ()>,
) -> Result<(), Unfit> {
    let (ask, questions) = mpsc::channel(QUESTIONS);
    tokio::select! {
        biased;
        () = stop => Ok(()),
        unfit = keep(dial, settings, questions) => Err(unfit),
        () = server::serve(listener, ask) => Ok(()),
    }
}

/// Keeps the session, for ever.
async fn keep(mut dial: impl Dial, settings: &Settings, mut questions: mpsc::Receiver<Question>) -> Unfit {
    let (mut receive, mut send) = (vec![0; RECEIVE], vec![0; SEND]);
    let mut client = match config(settings, &mut receive, &mut send) {
        Ok(config) => Client::new(config, ROLE, settings.seed),
        Err(unfit) => return Unfit(unfit),
    };
    let topics = Topics::new(settings);
    let mut requests = VoiceRequests::new(settings.hub.as_deref());
    loop {
        let broker = &settings.broker.destination();
        let lost = match tokio::select! {
            biased;
            connected = client.connect(&mut dial, broker) => connected,
            never = be_away(&mut requests, &mut questions) => match never {},
        } {
            Ok(mut connection) => {
                log::info!("voice: connected to {}:{}", broker.host, broker.port);
                let Err(lost) = serve(&mut connection, &topics, &mut requests, &mut questions).await;
                lost
            }
            Err(lost) => lost,
        };
        requests.disconnected();
        let failure = client.explain_loss(lost);
        tokio::select! {
            biased;
            () = client.wait(broker, failure) => {}
            never = be_away(&mut requests, &mut questions) => match never {},
        }
    }
}

fn config<'a>(
    settings: &'a Settings,
    receive: &'a mut [u8],
    send: &'a mut [u8],
) -> Result<ConfigBuilder<'a>, ConfigError> {
    let config = ConfigBuilder::new(Buffers::new(receive, send))
        .client_id(&settings.client_id)?
        .keepalive_interval(KEEPALIVE)
        .session_expiry_interval(SESSION_EXPIRY)
        .autodowngrade_qos();
    match &settings.broker.login {
        Some((user, password)) => config.auth(user, password.as_bytes()),
        None => Ok(config),
    }
}

/// Without a broker: apologises to new callers. Earlier questions keep waiting for their usual time.
async fn be_away(requests: &mut VoiceRequests, questions: &mut mpsc::Receiver<Question>) -> Infallible {
    loop {
        tokio::select! {
            biased;
            Some(question) = questions.recv() => {
                // The caller may have left.
                let _ = question.answer.send(Err(NoReply::NoBroker));
            }
            () = until(requests.next_end()) => requests.expire(Instant::now()),
        }
    }
}

/// Waits until `time`, or for ever without one.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Serves one connection until it ends.
async fn serve<IO: Io>(
    connection: &mut Connection<'_, '_, IO>,
    topics: &Topics,
    requests: &mut VoiceRequests,
    questions: &mut mpsc::Receiver<Question>,
) -> Result<Infallible, Lost> {
    requests.forget_hubs();
    // A resumed session keeps its subscriptions. Retained messages come only with a new subscription.
    let mut hubs_are_told = connection.is_fresh();
    let settled = Instant::now() + SETTLE;
    let mut named = None;
    loop {
        let options = SubscriptionOptions::default()
            .maximum_qos(QoS::AtLeastOnce)
            .retain_behavior(RetainHandling::Immediately);
        connection.subscribe(&topics.all().map(|topic| TopicFilter::new(topic).options(options))).await?;
        if !hubs_are_told && connection.is_subscribed() {
            let availability = TopicFilter::new(&topics.availability).options(options);
            hubs_are_told = connection.subscribe_besides(availability).await?;
        }
        send(connection, topics, requests).await?;
        let is_settled = Instant::now() >= settled;
        let several = requests.several().filter(|_| is_settled);
        if named != several {
            if let Some(names) = &several {
                let names = one_line::<512>(names);
                log::error!(
                    "voice: there are several hubs; name the one that is spoken to with --hub: {names}"
                );
            }
            named = several;
        }
        let due = requests.next_end().into_iter().chain((!is_settled).then_some(settled)).min();
        tokio::select! {
            // In order, not by chance: a run in virtual time goes the same way every time.
            biased;
            received = connection.receive() => if let Some(received) = received? {
                topics.deliver(&received.message, requests);
            },
            Some(question) = questions.recv(), if is_settled => requests.ask(question, Instant::now()),
            () = until(due) => requests.expire(Instant::now()),
        }
    }
}

/// Sends requests as far as there is room.
async fn send<IO: Io>(
    connection: &mut Connection<'_, '_, IO>,
    topics: &Topics,
    requests: &mut VoiceRequests,
) -> Result<(), Lost> {
    while let Some(request) = requests.requests.front() {
        let left = request.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            requests.requests.pop_front();
            continue;
        }
        let seconds = u32::try_from(left.as_secs()).unwrap_or(u32::MAX).max(1);
        let reply = topics.reply_for(&request.topic);
        let properties = [
            Property::ResponseTopic(&reply),
            Property::CorrelationData(&request.correlation),
            Property::MessageExpiryInterval(seconds),
        ];
        let publication = Publication::bytes(&request.topic, &request.payload);
        // QoS 2, because a resumed session may repeat the publication.
        match connection.publish(publication.qos(QoS::ExactlyOnce).properties(&properties)).await? {
            Sent::Later => break,
            Sent::Now(_) => drop(requests.requests.pop_front()),
            Sent::Never => {
                log::warn!("voice: a request of {} bytes cannot be sent", request.payload.len());
                requests.requests.pop_front();
            }
        }
    }
    Ok(())
}

/// What is subscribed to.
struct Topics {
    availability: String,
    speech: String,
    replies: String,
}

impl Topics {
    fn new(settings: &Settings) -> Self {
        let hub = settings.hub.as_deref().unwrap_or("+");
        // Where access rules let a login hear replies.
        let name = settings.broker.login.as_ref().map_or(&settings.client_id, |(user, _)| user);
        Self {
            availability: format!("{ROOT}{hub}/availability"),
            speech: format!("{ROOT}{hub}/speech"),
            replies: format!("{ROOT}{hub}/reply/{name}/{}", settings.client_id),
        }
    }

    fn all(&self) -> [&str; 3] {
        [&self.availability, &self.speech, &self.replies]
    }

    /// Where the hub that a request goes to replies.
    fn reply_for(&self, request: &str) -> String {
        let hub = request.split('/').nth(1).unwrap_or_default();
        self.replies.replacen('+', hub, 1)
    }

    fn deliver(&self, message: &InboundPublish<'_>, requests: &mut VoiceRequests) {
        let (payload, now) = (message.payload(), Instant::now());
        match message.topic().split('/').collect::<Vec<_>>()[..] {
            ["hearthwave", _, "reply", ..] => requests.reply(message.correlation_data(), payload, now),
            // Relays tell on such a topic, too, whether they are there.
            ["hearthwave", "relay", "availability"] => {}
            ["hearthwave", hub, "availability"] => requests.availability(hub, payload),
            ["hearthwave", hub, "speech"] if !message.retained() => requests.speech(hub, payload, now),
            _ => {}
        }
    }
}
