//! What a tool is.

/// A tool: one of the hub's own, declared as a `static` next to its handler, or one that the controller told about.
///
/// All texts use the undecorated name; the prefix is the business of the registry.
#[derive(Debug)]
pub struct Tool<'a> {
    /// Unique among the hub's tools.
    pub name: &'a str,
    /// What it is for and when to use it, in Markdown. The first line says it in about fifty characters.
    pub description: &'a str,
    /// The JSON Schema of its arguments, an object. Every property of the hub's own tools has a `description`.
    pub schema: &'a str,
    /// How it is called in general.
    pub usage: &'static str,
    /// Calls with real values, each with what it shows.
    pub examples: &'static [Example],
    /// Why it must not be called without a person's word, if so. Such a tool takes no unknown arguments, and one of
    /// them has a single literal value.
    pub consent: Option<&'static str>,
    /// Whether unknown arguments are an error. They are ignored otherwise.
    pub strict: bool,
    /// Takes the place of the hub's prefix; an empty one means none.
    pub prefix: Option<&'static str>,
    /// What the controller says about the effects of its tool.
    pub hints: Hints,
    /// What runs.
    pub implementation: Implementation,
}

impl Tool<'_> {
    /// A tool without the things that few tools have, for `..Tool::PLAIN` in a declaration.
    pub const PLAIN: Tool<'static> = Tool {
        name: "",
        description: "",
        schema: r#"{"type":"object","properties":{}}"#,
        usage: "",
        examples: &[],
        consent: None,
        strict: false,
        prefix: None,
        hints: Hints::NONE,
        implementation: Implementation::Mock("null"),
    };

    /// Whether arguments that the schema does not name are an error.
    pub const fn forbids_unknown(&self) -> bool {
        self.strict || self.consent.is_some()
    }
}

/// What a call does to the world, as far as the controller says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// It only looks.
    pub read_only: Option<bool>,
    /// It may destroy something, or open a door.
    pub destructive: Option<bool>,
    /// Doing it twice is like doing it once.
    pub idempotent: Option<bool>,
}

impl Hints {
    /// Nothing is said.
    pub const NONE: Self = Self { read_only: None, destructive: None, idempotent: None };
}

/// One call of a tool, shown.
#[derive(Debug)]
pub struct Example {
    /// The call, with real values.
    pub code: &'static str,
    /// What it shows.
    pub explanation: &'static str,
}

/// How a tool is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// Always answers with this JSON value.
    Mock(&'static str),
    /// By the handler of this name, which answers by itself.
    Builtin(&'static str),
    /// By the handler of this name, which asks some other part of the system.
    Internal(&'static str),
    /// By the controller.
    Mcp,
}
