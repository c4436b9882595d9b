//! Whether a relay is there: what hubs and Home Assistant are told of it.

/// Where relays publish their presence. It is one retained topic for all relays, because a hub needs only one of them.
pub(super) use hub_contract::RELAY_AVAILABILITY as TOPIC;
use serde_json::json;

use super::Models;

/// What the broker tells when a relay is gone.
pub(super) const OFFLINE: &str = r#"{"state":"offline"}"#;

/// What a relay tells that serves these.
pub(super) fn online(models: &Models) -> String {
    let services: Vec<_> = models.iter().map(|(service, _)| service.name()).collect();
    json!({ "state": "online", "services": services }).to_string()
}
