//! What a tool is.

use core::cell::Cell;

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;

use crate::json::Value;

/// A tool: one of the hub's own, declared as a `static` next to its handler, or one of the controller's.
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
    /// Why it must not be called without a person's consent, if so. Such a tool takes no unknown arguments, and one of
    /// them has a single literal value.
    pub consent: Option<&'static str>,
    /// Whether models are offered the tool only if a rule names it. Definitions take up room in every question.
    pub on_request: bool,
    /// Whether unknown arguments are an error. They are ignored otherwise.
    pub strict: bool,
    /// Replaces the hub's prefix; an empty one means none.
    pub prefix: Option<&'static str>,
    /// What the controller says about the effects of its tool.
    pub hints: Hints,
    /// What runs.
    pub implementation: Implementation,
}

impl Tool<'_> {
    /// The defaults of a declaration, for `..Tool::PLAIN`.
    pub const PLAIN: Tool<'static> = Tool {
        name: "",
        description: "",
        schema: r#"{"type":"object","properties":{}}"#,
        usage: "",
        examples: &[],
        consent: None,
        on_request: false,
        strict: false,
        prefix: None,
        hints: Hints::NONE,
        implementation: Implementation::Mock("null"),
    };

    /// The defaults of a tool whose handler has the tool's name.
    pub const fn builtin(name: &'static str) -> Tool<'static> {
        Tool { name, implementation: Implementation::Builtin(name), ..Self::PLAIN }
    }

    /// Whether arguments that the schema does not name are an error.
    pub const fn forbids_unknown(&self) -> bool {
        self.strict || self.consent.is_some()
    }
}

/// The effects of a call, as far as the controller declares them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something, or open a door.
    pub destructive: Option<bool>,
    /// Doing it twice is like doing it once.
    pub idempotent: Option<bool>,
}

impl Hints {
    /// Nothing is declared.
    pub const NONE: Self = Self { read_only: None, destructive: None, idempotent: None };
}

/// One call of a tool, shown.
#[derive(Debug)]
pub struct Example {
    /// The call, with real values. That of a tool has its result behind [`ARROW`](Self::ARROW).
    pub code: &'static str,
    /// What it shows.
    pub explanation: &'static str,
}

impl Example {
    /// The call alone, without its result.
    pub fn call(&self) -> &'static str {
        self.code.split_once(Self::ARROW).map_or(self.code, |(call, _)| call)
    }

    /// Between a call and its result.
    pub const ARROW: &str = "  ->  ";
}

/// How a tool is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// Always answers with this JSON value.
    Mock(&'static str),
    /// By the handler of this name, within the hub.
    Builtin(&'static str),
    /// By the handler of this name, which asks another part of the system.
    Internal(&'static str),
    /// By the handler of this name, within the hub, without a time limit: what it waits for ends by itself.
    LongRunning(&'static str),
    /// By the controller.
    Mcp,
}

/// Declared tools, which can be taken once: the second time there are none, even if two threads race for them.
pub struct DeclaredTools(Mutex<CriticalSectionRawMutex, Cell<&'static [&'static Tool<'static>]>>);

impl DeclaredTools {
    /// These, not taken yet.
    pub const fn new(tools: &'static [&'static Tool<'static>]) -> Self {
        Self(Mutex::new(Cell::new(tools)))
    }

    /// Takes them all, in the order of their declaration.
    pub fn take(&self) -> &'static [&'static Tool<'static>] {
        self.0.lock(|tools| tools.replace(&[]))
    }
}

/// The caller. A model's call may need a person's approval.
#[derive(Clone, Copy, Debug)]
pub enum Caller<'a> {
    /// A person, or a program of theirs.
    Person,
    /// A model.
    Model {
        /// The conversation in which it was asked.
        conversation: &'a str,
        /// From where people talk with it.
        satellite: Option<Value<'a>>,
        /// Whether its answer is spoken.
        is_spoken: bool,
    },
}
