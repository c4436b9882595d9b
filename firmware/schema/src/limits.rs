//! Capacities, each with its reason.

/// Schemas inside schemas, and values inside those that are compared. Real tools go to about five; each level takes some
/// 350 bytes of stack on a board, 6 KiB in all, and a pattern at the end of them 2.5 KiB.
pub const DEPTH: u8 = 16;

/// Steps of one check of a value against a schema. A step reads a byte, in some 15 instructions. A request full of
/// honest arguments takes fewer; all of them keep a board busy for up to a fifth of a second.
pub const STEPS: u32 = 1280 * 1024;

/// Arguments up to this length do not use up [`STEPS`] by themselves: if the steps run out, it is the schema's
/// fault, and they are passed on.
pub const SHORT: usize = 512;

/// References that lead from one to the next. SDKs write one or two.
pub const REFS: u8 = 8;

/// Longest reference that is followed. Generic classes have long names.
pub const REF: usize = 192;

/// References that are remembered during a check. Each saves a search through the schema, and takes 16 bytes of stack.
pub const REFS_KEPT: usize = 4;

/// Longest pattern that is understood. That of zod for a date with a time has 350 characters.
pub const PATTERN: usize = 512;

/// States of the automaton of a pattern, where `[a-z]{20}` takes 20. zod's longest takes 200. Each costs four bytes of stack.
pub const STATES: usize = 256;

/// Groups inside groups in a pattern.
pub const GROUPS: usize = 12;

/// The path to an invalid value in an error. Longer ones are cut.
pub const PATH: usize = 64;

/// Characters of the allowed values in an error: about eighty names.
pub const OPTIONS: usize = 640;

/// Characters of one value or pattern of a schema in an error.
pub const VALUE: usize = 160;

/// Keywords of one schema that are reported as not checked. JSON Schema has about as many.
pub const UNKNOWN: usize = 16;
