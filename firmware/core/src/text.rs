//! Text: what [`hub_json::text`] offers, words, spoken text and fingerprints.

pub use hub_json::text::*;

pub use self::fingerprint::Fingerprint;

mod fingerprint;
pub mod spoken;
pub mod words;
