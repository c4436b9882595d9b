//! The handshake: which version of MCP is spoken, and who the controller is.

use embassy_time::Instant;

use super::{McpClient, Phase};
use crate::json::Value;
use crate::limits;
use crate::link::controller::{Controller, Loss, Offer};
use crate::link::rpc::{self, RpcError};
use crate::log::{debug, info, warn};
use crate::tool::Registry;

/// How MCP is spoken with the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// With a handshake that offers this version.
    Handshake(&'static str),
    /// Without one.
    Stateless,
}

impl Dialect {
    /// The one to try first.
    pub(super) const FIRST: Self = {
        let [newest, ..] = rpc::VERSIONS;
        Self::Handshake(newest)
    };

    /// The dialect that the controller asks for with this error, if the hub speaks it.
    fn wanted(self, error: &RpcError<'_>) -> Option<Self> {
        let Self::Handshake(offered) = self else { return None };
        let supported = error.data.and_then(|data| data.get("supported"));
        let supports = |version: &str| {
            supported.is_some_and(|list| {
                list.items().filter_map(|item| item.as_text()).any(|item| item == *version)
            })
        };
        // An older one each time, so that this ends.
        let mut older = rpc::VERSIONS.iter().skip_while(|version| **version != offered).skip(1);
        if let Some(version) = older.find(|version| supports(version)) {
            return Some(Self::Handshake(version));
        }
        let is_stateless = supports(rpc::STATELESS) || error.code == Some(rpc::METHOD_NOT_FOUND);
        is_stateless.then_some(Self::Stateless)
    }
}

impl McpClient {
    /// The controller answered the greeting.
    pub(super) fn greeted(&mut self, now: Instant, result: Value<'_>, registry: &Registry) {
        if let Dialect::Handshake(offered) = self.dialect {
            let version = result.get("protocolVersion").and_then(|version| version.as_text());
            match version {
                Some(version) if rpc::VERSIONS.iter().any(|known| version == **known) => {}
                Some(version) => {
                    let version = version.excerpt::<{ limits::QUOTE }>();
                    warn!("controller: it wants MCP {}, which the hub does not speak", version.as_str());
                    return self.lost(now, Loss::Version, registry);
                }
                None => debug!("controller: it does not name its version of MCP; assuming {}", offered),
            }
        }
        // Without a handshake it is beside the result.
        let beside = || result.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/serverInfo"));
        let server = result.get("serverInfo").or_else(beside);
        let text = |name| {
            let text = server.and_then(|server| server.get(name)).and_then(|value| value.as_text());
            text.map(|text| text.excerpt()).unwrap_or_default()
        };
        self.first_greeting = None;
        let offer = Offer::of(result);
        self.controller =
            Controller { name: text("name"), version: text("version"), offer, ..Controller::UNKNOWN };
        self.list();
        if !self.is_stateless() {
            self.phase = Phase::Greeted;
        }
    }

    /// The controller answered the greeting with an error.
    pub(super) fn greeting_refused(&mut self, now: Instant, error: &RpcError<'_>, registry: &Registry) {
        let words = error.words();
        if let Some(dialect) = self.dialect.wanted(error) {
            info!("controller: \"{}\"; trying another version of MCP", words.as_str());
            self.dialect = dialect;
            self.first_greeting = None;
            self.phase = Phase::Waiting { until: now };
        } else {
            warn!("controller: refuses with \"{}\"", words.as_str());
            self.lost(now, Loss::Refused, registry);
        }
    }
}
