//! The limits of hubs, from their `info`.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// Bytes of a reply that a hub takes, unless its `info` has a limit.
pub(super) const USUAL_LIMIT: usize = hub_mqtt::limits::LLM_REPLY;

/// Hubs that are remembered. More than these have the usual limit.
const HUBS: usize = 100_000;

/// The largest reply that each hub takes.
#[derive(Debug, Default)]
pub(super) struct Hubs(Mutex<HashMap<String, usize>>);

impl Hubs {
    /// Reads a hub's `info`. Without a limit in it, the usual one counts.
    pub(super) fn read_info(&self, hub: &str, info: &[u8]) {
        let info: Value = serde_json::from_slice(info).unwrap_or_default();
        let limit = info["limits"]["llm_reply"].as_u64().and_then(|limit| usize::try_from(limit).ok());
        let mut limits = self.limits();
        match limit {
            None => {
                limits.remove(hub);
            }
            Some(limit) if limits.len() < HUBS || limits.contains_key(hub) => {
                limits.insert(hub.into(), limit);
            }
            Some(_) => {}
        }
    }

    /// The largest reply that a hub takes.
    pub(super) fn limit(&self, hub: &str) -> usize {
        self.limits().get(hub).copied().unwrap_or(USUAL_LIMIT)
    }

    fn limits(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hubs_say_what_they_take() {
        let hubs = Hubs::default();
        assert_eq!(hubs.limit("kitchen"), USUAL_LIMIT);
        hubs.read_info("kitchen", br#"{"version":"1","limits":{"reply":4608,"llm_reply":12000}}"#);
        assert_eq!(hubs.limit("kitchen"), 12_000);
        assert_eq!(hubs.limit("attic"), USUAL_LIMIT);
        for nothing in [&b""[..], b"nonsense", b"[]", br#"{"limits":{"llm_reply":-1}}"#, b"{}"] {
            hubs.read_info("kitchen", br#"{"limits":{"llm_reply":12000}}"#);
            hubs.read_info("kitchen", nothing);
            assert_eq!(hubs.limit("kitchen"), USUAL_LIMIT);
        }
    }
}
