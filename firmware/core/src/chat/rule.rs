//! Response rules: how the hub answers, as data.
//!
//! A rule is a JSON object, built in or set by a person:
//!
//! ```json
//! {
//!   "name": "kitchen",
//!   "service": "ollama",
//!   "model": "qwen3:8b",
//!   "prompt": "You help in the {{satellite.room}}. {{rag_context}}",
//!   "max_tokens": 300,
//!   "temperature": 0.4,
//!   "thinking": false,
//!   "tools": {"enabled": true, "allowed_tools": ["datetime", "search"], "max_iterations": 3},
//!   "context": "recipes/*,guidelines/voice",
//!   "intents": ["cooking"]
//! }
//! ```
//!
//! Only `name` is required. Other members are inherited from a base rule, [`DEFAULT`] unless another one is given; `tools`
//! and `intents` are not inherited.

use core::fmt;

use super::Provider;
use crate::json::{self, Kind, Text, Value};
use crate::limits;
use crate::store::Expression;
use crate::store::documents::Malformed;

/// The rule for requests that select no other.
pub const DEFAULT: &str = r#"{
    "name": "default",
    "service": "anthropic",
    "model": "claude-haiku-4-5",
    "prompt": "You are Hearthwave, the voice of a home. You answer questions and control the home with the tools you are given. Say what you did, in one to three short sentences without Markdown, in the language of the person. Never claim to have done what no tool has confirmed; if a tool fails, say so and what can be tried.\n\n{{rag_context}}",
    "tools": {"enabled": true},
    "context": "guidelines",
    "intents": []
}"#;

/// For satellites that speak the answer: short ones.
pub const BRIEF: &str = r#"{
    "name": "brief",
    "prompt": "You are Hearthwave, the voice of a home. Your answer is spoken aloud: one short sentence, no lists, no Markdown, no links, in the language of the person. Use the tools you are given; never claim to have done what no tool has confirmed.\n\n{{rag_context}}",
    "max_tokens": 200,
    "tools": {"enabled": true, "max_iterations": 3},
    "intents": ["voice"]
}"#;

/// All built-in rules, by name. A stored rule of the same name replaces one.
pub const BUILT_IN: [(&str, &str); 2] = [("default", DEFAULT), ("brief", BRIEF)];

/// A response rule, borrowed from its JSON text.
#[derive(Clone, Copy, Debug)]
pub struct Rule<'a> {
    /// The name by which a request selects it.
    pub name: Text<'a>,
    /// The provider of the model.
    pub provider: Provider,
    /// The model.
    pub model: Text<'a>,
    /// The template of the system prompt.
    pub prompt: Text<'a>,
    /// Most tokens of an answer.
    pub max_tokens: u32,
    /// The sampling temperature; the provider's default if `None`. Some models reject any.
    pub temperature: Option<f64>,
    /// Switches thinking on or off, if the provider has a switch; the provider's default if `None`. Thinking counts towards
    /// `max_tokens` and is not kept. Some models reject the switch.
    pub thinking: Option<bool>,
    /// What the model may call.
    pub tools: RuleTools<'a>,
    /// Selects the documents for `{{rag_context}}`.
    pub context: Option<Expression<'a>>,
}

/// The tools that a rule allows.
#[derive(Clone, Copy, Debug)]
pub struct RuleTools<'a> {
    /// Whether the model may call any.
    pub enabled: bool,
    /// The names of those it may call, an array; all if `None`.
    pub allowed: Option<Value<'a>>,
    /// How many rounds of calls it may ask for; the hub's setting if `None`.
    pub max_iterations: Option<u8>,
}

impl RuleTools<'_> {
    const OFF: Self = Self { enabled: false, allowed: None, max_iterations: None };
}

/// What is wrong with a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleError {
    /// It is not JSON.
    NotJson(json::Error),
    /// A member has the wrong type or value. An empty name is the rule itself.
    Member(&'static str, Must),
    /// A rule has no such member.
    Unknown(MemberName),
    /// The expression that selects documents is malformed.
    Context(Malformed),
}

/// The beginning of an unknown member's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberName {
    bytes: [u8; Self::LENGTH],
}

impl MemberName {
    const LENGTH: usize = 24;

    fn of(name: Text<'_>) -> Self {
        let name = name.excerpt::<{ Self::LENGTH }>();
        let mut bytes = [0; Self::LENGTH];
        bytes.iter_mut().zip(name.bytes()).for_each(|(place, byte)| *place = byte);
        Self { bytes }
    }

    fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes).unwrap_or_default().trim_end_matches('\0')
    }
}

/// What a member of a rule must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their words say it")]
pub enum Must {
    Object,
    Switch,
    Text,
    Names,
    Provider,
    Expression,
    /// A text of 1 to so many bytes.
    Name(usize),
    /// A whole number in this range.
    Whole(u32, u32),
    /// A number in this range.
    Number(u32, u32),
}

impl fmt::Display for Must {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object => f.write_str("an object"),
            Self::Switch => f.write_str("true or false"),
            Self::Text => f.write_str("a text"),
            Self::Names => f.write_str("an array of names"),
            Self::Provider => f.write_str("\"anthropic\", \"openai\" or \"ollama\""),
            Self::Expression => f.write_str("an expression like \"category/pattern\", without escapes"),
            Self::Name(most) => write!(f, "a text of 1 to {most} bytes, without escapes"),
            Self::Whole(least, most) => write!(f, "a whole number from {least} to {most}"),
            Self::Number(least, most) => write!(f, "a number from {least} to {most}"),
        }
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(error) => write!(f, "the rule is {error}"),
            Self::Member("", must) => write!(f, "the rule must be {must}"),
            Self::Member(name, must) => write!(f, "'{name}' must be {must}"),
            Self::Unknown(name) => write!(f, "a rule has no member '{}'", name.as_str()),
            Self::Context(malformed) => write!(f, "'context': {malformed}"),
        }
    }
}

impl core::error::Error for RuleError {}

impl<'a> Rule<'a> {
    /// Reads a rule that inherits from [`DEFAULT`].
    pub fn parse(text: &'a str) -> Result<Self, RuleError> {
        Self::root(DEFAULT)?.derive(text)
    }

    /// Reads a rule that inherits from this one all but tools and intents.
    pub fn derive(&self, text: &'a str) -> Result<Self, RuleError> {
        let rule = Value::parse(text.as_bytes()).map_err(RuleError::NotJson)?;
        if rule.kind() != Kind::Object {
            return Err(RuleError::Member("", Must::Object));
        }
        let name = short(rule.get("name"), "name", limits::NAME)?;
        let mut read = Self { name, tools: RuleTools::OFF, ..*self };
        for (member, value) in rule.members() {
            read.take(member, value)?;
        }
        Ok(read)
    }

    /// Reads a rule without a base.
    fn root(text: &'a str) -> Result<Self, RuleError> {
        let rule = Value::parse(text.as_bytes()).map_err(RuleError::NotJson)?;
        let root = Self {
            name: short(rule.get("name"), "name", limits::NAME)?,
            provider: Provider::Anthropic,
            model: short(rule.get("model"), "model", limits::MODEL)?,
            prompt: words(rule.get("prompt"))?,
            max_tokens: limits::TOKENS,
            temperature: None,
            thinking: None,
            tools: RuleTools::OFF,
            context: None,
        };
        root.derive(text)
    }

    fn take(&mut self, member: Text<'a>, value: Value<'a>) -> Result<(), RuleError> {
        const KNOWN: [&str; 10] = [
            "name",
            "service",
            "model",
            "prompt",
            "max_tokens",
            "temperature",
            "thinking",
            "tools",
            "context",
            "intents",
        ];
        let is_null = value.kind() == Kind::Null;
        match KNOWN.into_iter().find(|known| member == **known) {
            // Read before.
            Some("name") => {}
            Some("service") => {
                let named =
                    |provider: &Provider| value.as_text().is_some_and(|name| name == *provider.name());
                let provider = Provider::ALL.into_iter().find(named);
                self.provider = provider.ok_or(RuleError::Member("service", Must::Provider))?;
            }
            Some("model") => self.model = short(Some(value), "model", limits::MODEL)?,
            Some("prompt") => self.prompt = words(Some(value))?,
            Some("max_tokens") => {
                self.max_tokens = whole(value, "max_tokens", 1, limits::TOKENS_MOST)?;
            }
            Some("temperature") if is_null => self.temperature = None,
            Some("temperature") => {
                let number = value.as_f64().filter(|number| (0.0..=2.0).contains(number));
                self.temperature = Some(number.ok_or(RuleError::Member("temperature", Must::Number(0, 2)))?);
            }
            Some("thinking") if is_null => self.thinking = None,
            Some("thinking") => self.thinking = Some(switch(value, "thinking")?),
            Some("tools") => self.tools.take(value)?,
            Some("context") if is_null => self.context = None,
            Some("context") => {
                let text = value.as_text().and_then(|text| text.plain());
                let text = text.ok_or(RuleError::Member("context", Must::Expression))?;
                self.context = Some(Expression::parse(text).map_err(RuleError::Context)?);
            }
            // Read when a rule is chosen.
            Some("intents") => drop(names(value, "intents")?),
            _ => return Err(RuleError::Unknown(MemberName::of(member))),
        }
        Ok(())
    }
}

impl<'a> RuleTools<'a> {
    fn take(&mut self, tools: Value<'a>) -> Result<(), RuleError> {
        if tools.kind() != Kind::Object {
            return Err(RuleError::Member("tools", Must::Object));
        }
        for (member, value) in tools.members() {
            if member == *"enabled" {
                self.enabled = switch(value, "tools.enabled")?;
            } else if member == *"allowed_tools" {
                let all = value.kind() == Kind::Null;
                self.allowed = if all { None } else { Some(names(value, "tools.allowed_tools")?) };
            } else if member == *"max_iterations" {
                let most = limits::ITERATIONS_MOST;
                let number = whole(value, "tools.max_iterations", 0, most.into())?;
                self.max_iterations = u8::try_from(number).ok().filter(|number| *number > 0);
            } else {
                return Err(RuleError::Unknown(MemberName::of(member)));
            }
        }
        Ok(())
    }
}

/// Whether the rule with this text is for an intent. Nothing else of it is read.
pub fn is_for(text: &str, intent: &str) -> bool {
    let intents = Value::parse(text.as_bytes()).ok().and_then(|rule| rule.get("intents"));
    let mut names = intents.iter().flat_map(|intents| intents.items()).filter_map(|name| name.as_text());
    names.any(|name| name == *intent)
}

fn short<'a>(value: Option<Value<'a>>, name: &'static str, most: usize) -> Result<Text<'a>, RuleError> {
    let text = value.and_then(|value| value.as_text()).filter(|text| text.plain().is_some());
    text.filter(|text| (1..=most).contains(&text.escaped().len()))
        .ok_or(RuleError::Member(name, Must::Name(most)))
}

fn switch(value: Value<'_>, name: &'static str) -> Result<bool, RuleError> {
    match value.text() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(RuleError::Member(name, Must::Switch)),
    }
}

fn words(value: Option<Value<'_>>) -> Result<Text<'_>, RuleError> {
    value.and_then(|value| value.as_text()).ok_or(RuleError::Member("prompt", Must::Text))
}

fn whole(value: Value<'_>, name: &'static str, least: u32, most: u32) -> Result<u32, RuleError> {
    let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or(RuleError::Member(name, Must::Whole(least, most)))
}

fn names<'a>(value: Value<'a>, name: &'static str) -> Result<Value<'a>, RuleError> {
    let are_names = value.kind() == Kind::Array && value.items().all(|item| item.kind() == Kind::String);
    if are_names { Ok(value) } else { Err(RuleError::Member(name, Must::Names)) }
}
