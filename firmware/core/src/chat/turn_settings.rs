//! The settings of a running turn, read from its rule once when the turn begins.

use core::ops::ControlFlow;

use heapless::{String, Vec};

use super::Provider;
use super::rule::{Rule, RuleTools};
use crate::hash::Fingerprint;
use crate::limits;
use crate::log::warn;
use crate::tool::{Registry, Tool, model_name};

/// The settings of a running turn. All zeros when new.
#[derive(Clone, Debug)]
pub struct TurnSettings {
    /// The provider of the model.
    pub provider: Provider,
    /// The model.
    pub model: String<{ limits::MODEL }>,
    /// The system prompt, rendered.
    pub system: String<{ limits::PROMPT }>,
    /// Most tokens of an answer.
    pub max_tokens: u32,
    /// See [`Rule::temperature`].
    pub temperature: Option<f64>,
    /// See [`Rule::thinking`].
    pub thinking: Option<bool>,
    /// What the model may call.
    pub tools: ToolAccess,
}

impl TurnSettings {
    /// Before any turn.
    pub const fn new() -> Self {
        Self {
            provider: Provider::Anthropic,
            model: String::new(),
            system: String::new(),
            max_tokens: 0,
            temperature: None,
            // `None` is not all zeros.
            thinking: Some(false),
            tools: ToolAccess::OFF,
        }
    }

    /// Copies everything from `rule` but the system prompt. `max_iterations` counts if the rule sets no limit.
    pub fn apply(&mut self, rule: &Rule<'_>, max_iterations: u8) {
        self.provider = rule.provider;
        // It fits: the parser checked its length.
        self.model = String::try_from(rule.model.escaped()).unwrap_or_default();
        self.max_tokens = rule.max_tokens;
        self.temperature = rule.temperature;
        self.thinking = rule.thinking;
        self.tools.apply(&rule.tools, max_iterations);
    }
}

/// Which tools the model may call, and how often.
#[derive(Clone, Debug)]
pub struct ToolAccess {
    /// Whether it may call any.
    pub enabled: bool,
    /// Whether it may call only those in `names`.
    is_limited: bool,
    /// The fingerprints of the names of those it may call.
    names: Vec<u32, { limits::ALLOWED_TOOLS }>,
    /// How many rounds of calls it may ask for.
    pub max_iterations: u8,
}

impl ToolAccess {
    const OFF: Self = Self { enabled: false, is_limited: false, names: Vec::new(), max_iterations: 0 };

    fn apply(&mut self, tools: &RuleTools<'_>, max_iterations: u8) {
        self.enabled = tools.enabled;
        self.max_iterations = tools.max_iterations.unwrap_or(max_iterations);
        self.is_limited = tools.allowed.is_some();
        self.names.clear();
        let names = tools.allowed.iter().flat_map(|allowed| allowed.items());
        // What is longer is no tool's name.
        for name in names.filter_map(|name| name.as_text()?.decode::<{ limits::TOOL_NAME }>()) {
            if self.names.push(fingerprint(&name)).is_err() {
                warn!("chat: the rule allows more tools than fit; {} is left out", name.as_str());
            }
        }
    }

    /// Whether the model is offered any registered tool.
    pub fn has_some(&self, registry: &Registry) -> bool {
        let mut has_some = false;
        registry.each(|name, tool| {
            has_some = self.offers(name, tool);
            if has_some { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        has_some
    }

    /// Whether the model is offered the tool with this final name. The model must be allowed to call it, and it must be
    /// an everyday tool or named by the rule.
    pub fn offers(&self, name: &str, tool: &Tool<'_>) -> bool {
        (self.is_limited || !tool.on_request) && self.allows([name, tool.name])
    }

    /// Whether the model may call the tool with these names, with prefix and without. A rule can name a tool as models see
    /// it, too.
    pub fn allows(&self, names: [&str; 2]) -> bool {
        let is_named = |name: &str| self.names.contains(&fingerprint(name));
        let is_allowed = |name: &&str| {
            is_named(name) || name.contains('.') && model_name(name).is_some_and(|name| is_named(&name))
        };
        self.enabled && (!self.is_limited || names.iter().any(is_allowed))
    }
}

/// Half of a fingerprint. Collisions do no harm: a controller that can choose a colliding name can also choose the
/// allowed name itself.
fn fingerprint(name: &str) -> u32 {
    Fingerprint::of(&[name.as_bytes()]) as u32
}
