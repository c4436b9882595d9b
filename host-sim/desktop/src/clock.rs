//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since the beginning of 1970.
pub fn unix_seconds() -> Option<i64> {
    SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs().try_into().ok()
}
