//! The documents that come with the firmware.

use crate::store::Builtin;

/// Every one, in any order. A stored document of the same category and name replaces one of these.
pub const DOCUMENTS: &[Builtin<'static>] = &[
    Builtin { category: "hub", name: "about", text: include_str!("documents/about.md") },
    Builtin { category: "guidelines", name: "voice", text: include_str!("documents/voice.md") },
    Builtin { category: "guidelines", name: "safety", text: include_str!("documents/safety.md") },
];
