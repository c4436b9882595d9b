//! The bridge between hubs and language models.
//!
//! A hub publishes the body of an HTTP request, as its service wants it, to `hearthwave/<hub-id>/llm/request/<service>`.
//! The relay adds the key, posts the body as it is, and publishes the reply's body as it is to the request's Response
//! Topic. So hubs know formats but no keys. The relay needs a format only to shorten replies that are larger than the
//! hub accepts (`shorten`).
//!
//! ```text
//!   broker ──► jobs ──request──► work ──► call ──► http ──► server
//!     ▲          │ ◄───done───────┘        │
//!     └──reply───┘                       retry: again? when?
//! ```
//!
//! `session` keeps the connection to the broker, `jobs` gives each request to a task of its own; `work` finds the service,
//! `call` asks it until there is an answer or no point in trying. Any number of relays share the requests of all
//! hubs, by a shared subscription. Whatever happens, a request gets one answer while its hub waits: the reply, or
//! `{"error":{"status","message"}}`, with the server's `type` of the error if it has one. An error of the relay's own
//! has `relay`: `timeout`, `unavailable`, `too_large` or `malformed`.

mod call;
pub mod demo;
mod endpoint;
mod failure;
mod http;
mod hubs;
mod jobs;
mod model;
pub mod options;
mod presence;
mod provider;
mod recent;
mod request;
mod retry;
mod search;
mod session;
mod shorten;
pub mod voice;
mod work;

use host_desktop::broker::BrokerUrl;
use host_desktop::random::random_seed;

pub use endpoint::{Endpoint, Key};
pub use http::Http;
pub use model::{Model, Models};
pub use provider::{Provider, ProviderExt};
pub use search::SearchUrl;
pub use session::{Unfit, run};
pub use shorten::shorten;

/// The settings of a relay.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the broker is; means nothing to a network in memory.
    pub broker: BrokerUrl,
    /// The relay's name at the broker, at most 64 bytes. No two may have the same.
    pub client_id: String,
    /// The relays that share the requests of all hubs: those with the same name here. Whoever knows it can join them.
    pub group: String,
    /// The models behind the services.
    pub models: Models,
    /// The search service, if there is one.
    pub search: Option<SearchUrl>,
    /// The client for servers.
    pub http: Http,
    /// Decides the random waits.
    pub seed: u64,
}

impl Settings {
    /// A relay with these models and a name of its own, whose broker is in this process.
    pub fn in_memory(models: Models) -> Self {
        Self {
            broker: BrokerUrl::in_memory(),
            client_id: format!("hearthwave-relay-{:016x}", random_seed()),
            group: "relay".into(),
            models,
            search: None,
            http: Http::over_network(),
            seed: random_seed(),
        }
    }
}
