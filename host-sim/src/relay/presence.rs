//! Whether a relay is there: what hubs and Home Assistant are told of it.

use serde_json::json;

use super::Models;

/// Where relays tell it. It is retained, and one for all of them: who asks needs only one.
pub(super) const TOPIC: &str = "hearthwave/relay/availability";

/// What the broker tells when a relay is gone.
pub(super) const OFFLINE: &str = r#"{"state":"offline"}"#;

/// What a relay tells that serves these.
pub(super) fn online(models: &Models) -> String {
    let services: Vec<_> = models.iter().map(|(service, _)| service.name()).collect();
    json!({ "state": "online", "services": services }).to_string()
}
