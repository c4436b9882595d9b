//! Capacities, each with its reason.

/// Nesting of arrays and objects. Schemas of real tools go to about ten; the check costs one bit a level.
pub const JSON_DEPTH: usize = 64;

/// What is kept of a line from the controller: one tool of a list, or a result. Lines may be longer; of those, what does not
/// fit is left out. Most real tools take less than 6 KB. One that does not fit even with a short description is not offered.
pub const LINE: usize = 8 * 1024;

/// The description of a tool, as JSON, if the tool's definition does not fit into a [`LINE`].
pub const LINE_DESCRIPTION: usize = 1024;

/// Nesting in a line from the controller; what is deeper is left out. Less than [`JSON_DEPTH`], since the hub puts results
/// into its own replies.
pub const LINE_DEPTH: usize = 48;

/// How much of a malformed line is quoted in the log.
pub const QUOTE: usize = 80;
