//! Text: what [`hub_json::text`] offers, words and spoken text.

pub use hub_json::text::*;

pub mod spoken;
pub mod words;
