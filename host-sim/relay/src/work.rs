//! One request's way to its service and back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::body::Bytes;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::timeout_at;

use super::Settings;
use super::call::{HttpCall, call};
use super::failure::{Failure, clean};
use super::http::Http;
use super::hubs::Hubs;
use super::model::{Model, Models};
use super::provider::{Provider, ProviderExt as _};
use super::request::{Destination, Request};
use super::search::{self, SearchUrl};
use super::shorten::shorten;
use crate::demo;

/// Requests that are with their services at the same time. More wait.
const AT_ONCE: usize = 32;

/// What all requests share.
#[derive(Debug)]
pub(super) struct Work {
    http: Http,
    models: Models,
    search: Option<SearchUrl>,
    pub(super) hubs: Hubs,
    gate: Semaphore,
    seed: AtomicU64,
}

/// A request that has been worked on.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) payload: Bytes,
    pub(super) succeeded: bool,
}

impl Work {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            http: settings.http.clone(),
            models: settings.models.clone(),
            search: settings.search.clone(),
            hubs: Hubs::default(),
            gate: Semaphore::new(AT_ONCE),
            seed: AtomicU64::new(settings.seed),
        }
    }

    /// Has the request answered, one way or another, before its time is over. Dropping the future gives it up.
    pub(super) async fn serve(self: Arc<Self>, request: Request) -> Done {
        let mut report = Report::default();
        let outcome = match timeout_at(request.until, self.gate.acquire()).await {
            Ok(Ok(_permit)) => match &request.destination {
                Destination::Model(name) => self.ask_model(name, &request, &mut report).await,
                Destination::Search => self.ask_search(&request, &mut report).await,
            },
            _ => Err(Failure::Busy),
        };
        let outcome = fit(outcome, self.hubs.limit(&request.hub), &request.destination);
        report.log(&request, outcome.as_ref().err());
        let succeeded = outcome.is_ok();
        let payload = outcome.unwrap_or_else(|failure| failure.payload()).into();
        Done { payload, succeeded }
    }

    async fn ask_model(
        &self,
        name: &str,
        request: &Request,
        report: &mut Report,
    ) -> Result<Vec<u8>, Failure> {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        report.model = body["model"].as_str().map(|model| clean(model, 64));
        let found = Provider::named(name).and_then(|service| Some((service, self.models.get(service)?)));
        let Some((service, model)) = found else {
            return Err(Failure::NotServed { who: name.into(), served: self.models.to_string() });
        };
        let payload = match model {
            Model::At(endpoint) => {
                let one = HttpCall {
                    who: service.name(),
                    authority: endpoint.authority(),
                    key: endpoint.key(),
                    received: request.received,
                    until: request.until,
                    seed: self.seed(),
                };
                let (retries, payload) =
                    call(&self.http, &one, || endpoint.request(request.body.clone())).await;
                report.retries = retries;
                payload?
            }
            Model::Demo => demo::answer(service, &request.body).map_err(|message| Failure::Refused {
                who: service.name().into(),
                status: 400,
                kind: None,
                message: Some(message),
            })?,
        };
        let reply: Value = serde_json::from_slice(&payload).unwrap_or_default();
        report.tokens = service.tokens(&reply);
        let limit = self.hubs.limit(&request.hub);
        let short = if payload.len() > limit { shorten(service, &reply, limit) } else { None };
        Ok(short.unwrap_or(payload))
    }

    async fn ask_search(&self, request: &Request, report: &mut Report) -> Result<Vec<u8>, Failure> {
        let url = self.search.as_ref().ok_or(Failure::NoSearch)?;
        let query = search::query(&request.body)?;
        let one = HttpCall {
            who: "search",
            authority: &url.authority(),
            key: None,
            received: request.received,
            until: request.until,
            seed: self.seed(),
        };
        let (retries, reply) = call(&self.http, &one, || url.request(&query)).await;
        report.retries = retries;
        search::digest(&reply?).ok_or(Failure::NoResults)
    }

    /// Another one for each request: those that fail together do not come back together.
    fn seed(&self) -> u64 {
        self.seed.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
    }
}

/// A hub gets what it can take, or is told how much it would have been.
fn fit(
    outcome: Result<Vec<u8>, Failure>,
    limit: usize,
    destination: &Destination,
) -> Result<Vec<u8>, Failure> {
    match outcome {
        Ok(payload) if payload.len() > limit => {
            Err(Failure::TooLarge { who: destination.who(), bytes: payload.len() as u64, limit })
        }
        Err(Failure::TooLarge { who, bytes, .. }) => Err(Failure::TooLarge { who, bytes, limit }),
        other => other,
    }
}

/// What the log tells about a request: nothing that was in a body but the model's name and the tokens.
#[derive(Debug, Default)]
struct Report {
    model: Option<String>,
    retries: u32,
    tokens: Option<(u64, u64)>,
}

impl Report {
    fn log(&self, request: &Request, failure: Option<&Failure>) {
        let hub = clean(&request.hub, 64);
        let who = clean(&request.destination.who(), 32);
        let model = self.model.as_ref().map(|model| format!(" ({model})")).unwrap_or_default();
        let time = request.received.elapsed().as_millis();
        let tokens = self.tokens.map(|(read, written)| format!(", {read} tokens in, {written} out"));
        let tokens = tokens.unwrap_or_default();
        let retries = match self.retries {
            0 => String::new(),
            1 => ", 1 retry".into(),
            many => format!(", {many} retries"),
        };
        match failure {
            None => log::info!("relay: {hub} asked {who}{model}: 200 after {time} ms{tokens}{retries}"),
            Some(failure) => {
                let why = failure.log_text();
                log::warn!("relay: {hub} asked {who}{model}: after {time} ms: {why}{tokens}{retries}");
            }
        }
        log::debug!("relay: the request of {hub} had {} bytes", request.body.len());
    }
}
