//! One call to a server, with its retries.

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};

use super::endpoint::Key;
use super::failure::{Failure, describe_body, error_kind, error_message};
use super::http::{Advice, Body, Http, HttpError, HttpReply};
use super::retry::{Retries, is_transient};

/// A call, without the request that it sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct HttpCall<'a> {
    /// The service that is asked.
    pub(super) who: &'a str,
    /// Host and port of its server.
    pub(super) authority: &'a str,
    /// The key, to be hidden in what the server says.
    pub(super) key: Option<&'a Key>,
    /// When the hub asked.
    pub(super) received: Instant,
    /// When the answer is due.
    pub(super) until: Instant,
    /// Decides the random waits.
    pub(super) seed: u64,
}

/// Sends the request that `compose` makes until there is an answer or no point in trying. A good answer is a JSON object.
/// Also returns the number of retries.
///
/// Dropping the future closes the connection; the server may go on.
pub(super) async fn call(
    http: &Http,
    call: &HttpCall<'_>,
    compose: impl Fn() -> Request<Full<Bytes>>,
) -> (u32, Result<Vec<u8>, Failure>) {
    let mut retries = Retries::new(call.until, call.seed);
    loop {
        let attempt = timeout_at(call.until, http.fetch(compose())).await;
        let (failure, advice) = match attempt {
            Err(_) => (call.late(), None),
            Ok(Ok(answer)) if (200..300).contains(&answer.status) => {
                return (retries.made(), call.accept(answer));
            }
            Ok(Ok(answer)) => call.refused(&answer),
            Ok(Err(broken)) => call.broken(broken),
        };
        let wait = advice.and_then(|advice| retries.next(Instant::now(), advice));
        match wait {
            Some(wait) => {
                log::debug!("relay: {}; again in {} ms", failure.log_text(), wait.as_millis());
                sleep(wait).await;
            }
            None => return (retries.made(), Err(failure)),
        }
    }
}

/// A failure and, if a retry may help, the server's advice about that.
type Failed = (Failure, Option<Advice>);

impl HttpCall<'_> {
    fn who(&self) -> String {
        self.who.into()
    }

    fn late(&self) -> Failure {
        Failure::Late { who: self.who(), after: self.received.elapsed() }
    }

    fn accept(&self, answer: HttpReply) -> Result<Vec<u8>, Failure> {
        match answer.body {
            // The caller knows the hub and sets the limit.
            Body::Larger(bytes) => Err(Failure::TooLarge { who: self.who(), bytes, limit: 0 }),
            Body::Whole(body) => match serde_json::from_slice::<Value>(&body) {
                Ok(Value::Object(_)) => Ok(body),
                _ => {
                    let what = describe_body(&body);
                    Err(Failure::Malformed { who: self.who(), status: answer.status, what })
                }
            },
        }
    }

    fn refused(&self, answer: &HttpReply) -> Failed {
        let body = match &answer.body {
            Body::Whole(body) => body.as_slice(),
            Body::Larger(_) => &[],
        };
        let is_transient = is_transient(answer.status) && !is_out_of_money(body);
        let (kind, message) = (error_kind(body), error_message(body, self.key));
        let failure = Failure::Refused { who: self.who(), status: answer.status, kind, message };
        (failure, is_transient.then_some(answer.advice))
    }

    fn broken(&self, broken: HttpError) -> Failed {
        let (authority, who) = (self.authority.into(), self.who());
        match broken {
            HttpError::NoReply(why) => {
                (Failure::Unreachable { who, authority, why }, Some(Advice::default()))
            }
            HttpError::Untrusted(why) => (Failure::Unreachable { who, authority, why }, None),
            HttpError::BrokenOff(bytes) => (Failure::BrokenOff { who, bytes }, None),
        }
    }
}

/// OpenAI answers 429 also to those who have not paid: a retry does not help.
fn is_out_of_money(body: &[u8]) -> bool {
    let error: Value = serde_json::from_slice(body).unwrap_or_default();
    error["error"]["code"] == "insufficient_quota"
}
