//! A hub as the relay sees it: an MQTT client with requests.

use std::time::Duration;

use support::client::{Client, Message, Publish, QoS};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

/// Longer than any relay lets a hub wait.
const PATIENCE: Duration = Duration::from_secs(700);

pub(crate) struct Hub {
    client: Client,
}

/// The message of an error, and its status.
pub(crate) fn error(answer: &Message) -> (String, Option<u64>) {
    let reply = answer.json();
    let error = &reply["error"];
    (error["message"].as_str().expect("an error").to_owned(), error["status"].as_u64())
}

/// The properties of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct With<'a> {
    pub(crate) qos: QoS,
    pub(crate) correlation: &'a [u8],
    pub(crate) deadline_ms: Option<&'a str>,
    pub(crate) expiry: Option<u32>,
}

impl Default for With<'_> {
    fn default() -> Self {
        Self { qos: QoS::ExactlyOnce, correlation: b"1", deadline_ms: None, expiry: None }
    }
}

/// A request with this Correlation Data.
pub(crate) fn correlated(correlation: &[u8]) -> With<'_> {
    With { correlation, ..With::default() }
}

impl Hub {
    /// Connects as the hub of that name, and listens to its answers.
    pub(crate) async fn connect(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        name: &str,
    ) -> Self {
        let [llm, search] =
            ["llm/response", "service/search/response"].map(|end| format!("hearthwave/{name}/{end}"));
        Self { client: Client::connect(stream, name, name, &[&llm, &search]).await }
    }

    pub(crate) fn publish(&self, message: Publish) {
        self.client.publish(message);
    }

    /// Publishes its `info`, as hubs do.
    pub(crate) fn announce(&self, info: &str) {
        self.publish(Publish::new(&self.client.topic("info"), info).retained());
    }

    /// Sends a request for a service.
    pub(crate) fn send(&self, service: &str, body: &str, with: With<'_>) {
        self.send_to(&format!("llm/request/{service}"), "llm/response", body, with);
    }

    /// Sends a request to any of its topics.
    pub(crate) fn send_to(&self, topic: &str, response: &str, body: &str, with: With<'_>) {
        let [topic, response] = [topic, response].map(|name| self.client.topic(name));
        let mut message = Publish::new(&topic, body).reply_to(&response).correlation(with.correlation);
        message = message.qos(with.qos);
        if let Some(time) = with.deadline_ms {
            message = message.user_property("deadline_ms", time);
        }
        if let Some(seconds) = with.expiry {
            message = message.expires_after(seconds);
        }
        self.publish(message);
    }

    /// The next message within a time.
    pub(crate) async fn next(&mut self, within: Duration) -> Option<Message> {
        self.client.next(within).await
    }

    /// Sends a request and returns the answer with the time it took.
    pub(crate) async fn ask(&mut self, service: &str, body: &str, with: With<'_>) -> (Message, Duration) {
        let start = Instant::now();
        self.send(service, body, with);
        let answer = self.next(PATIENCE).await.expect("an answer");
        (answer, start.elapsed())
    }
}
