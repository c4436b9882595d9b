//! What a person wants, from what was said.

mod clause;
mod climate;
mod home;
mod hub;
mod limit;
mod prompt;
mod sum;
mod words;

pub(super) use prompt::prompt_name;
pub(super) use words::Target;

use clause::{Clause, clauses};
use words::{after, without_manners};

/// Characters of what was said that are looked at, and clauses of it.
const LONGEST: usize = 1000;
const CLAUSES: usize = 16;

/// One thing that a person wants.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Intent {
    /// To know whom they talk to.
    Who,
    /// To be polite.
    Hello,
    Thanks,
    /// Date and time.
    Clock,
    Volume(Volume),
    Flag(Scope, Flag),
    /// All batteries, or those below some percent.
    Batteries(Option<u8>),
    Search(String),
    Ping(u8),
    Scene(String),
    Scenes,
    Thermostat {
        mode: Option<&'static str>,
        setpoint: Option<f64>,
    },
    /// Degrees by which the heating is to aim higher.
    Warmer(f64),
    /// How warm it is, everywhere or somewhere.
    Temperature(Target),
    Lock {
        target: Target,
        locks: bool,
    },
    /// An expression, and what was said for it.
    Sum {
        expression: String,
        said: String,
    },
    Level {
        target: Target,
        percent: u8,
    },
    /// Percent by which it is to be brighter.
    Brighter {
        target: Target,
        change: i8,
    },
    Power {
        target: Target,
        power: Power,
    },
    /// How something stands, and whether it stands as expected.
    Status {
        target: Target,
        expected: Option<Condition>,
    },
    /// The devices, or those that stand so.
    Devices {
        target: Target,
        condition: Option<Condition>,
        /// Whether all of them are expected to, and the answer is yes or no.
        is_all: bool,
    },
    Rooms,
    /// How things are at home, or in what is named.
    Report {
        about: Vec<String>,
        clock: Option<String>,
    },
    /// All lights off but for those, and nothing else.
    Night {
        except: Vec<String>,
    },
    /// What something is, without changing it; what was done last if nothing is named.
    Explain {
        about: Vec<String>,
    },
    /// Something that there is no tool for.
    Cannot(&'static str),
    /// To have nothing done.
    Refrain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Volume {
    Tell,
    Level(u8),
    Change(i8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Project,
    Everybody,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Flag {
    List,
    Get(String),
    /// Null removes it.
    Set(String, serde_json::Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Power {
    On,
    Off,
    Toggle,
}

/// How a device may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    On(bool),
    Locked(bool),
    Open(bool),
    Motion(bool),
}

/// What was understood, and what was not.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Heard {
    pub(super) intents: Vec<Intent>,
    pub(super) lost: Vec<String>,
}

/// Understands what was said, as far as possible. `before` was said last.
pub(super) fn read(text: &str, before: &str) -> Heard {
    if let Some(intent) = prompt::read(text) {
        return Heard { intents: vec![intent], lost: vec![] };
    }
    let heard = read_words(text, None);
    if !heard.intents.is_empty() || prompt::read(before).is_some() {
        return heard;
    }
    // "Turn on the lamp." "Which one?" "The floor lamp."
    match read_words(before, None).intents.pop() {
        Some(last) => read_words(text, Some(last)),
        None => heard,
    }
}

fn read_words(text: &str, before: Option<Intent>) -> Heard {
    let text: String = text.chars().take(LONGEST).collect();
    let words = words::split(&text);
    let mut heard = Heard::default();
    // "Turn the lamp and the light off": what is to be done to the lamp comes later.
    let mut waiting: Vec<Target> = Vec::new();
    for Clause { words, except } in clauses(&words).into_iter().take(CLAUSES) {
        let clause = without_manners(&words);
        if clause.is_empty() {
            continue;
        }
        let found = understand(clause).or_else(|| again(heard.intents.last().or(before.as_ref())?, clause));
        let found = match found {
            Some(intent) if !except.is_empty() => intent.without(&except),
            found => found,
        };
        match (found, home::unfinished(clause)) {
            (Some(intent), _) => {
                if let Intent::Power { power, .. } = &intent {
                    let earlier = waiting.drain(..).map(|target| Intent::Power { target, power: *power });
                    heard.intents.extend(earlier);
                }
                heard.intents.push(intent);
            }
            (None, Some(target)) => waiting.push(target),
            (None, None) => heard.lost.push(clause.join(" ")),
        }
    }
    heard.lost.extend(waiting.into_iter().map(|target| target.words.join(" ")));
    // "Good morning! What time is it?" is no wish for a greeting.
    if heard.intents.len() > 1 {
        heard.intents.retain(|intent| !matches!(intent, Intent::Hello | Intent::Thanks));
    }
    heard.intents.dedup();
    heard
}

impl Intent {
    /// Whether a call of a tool with this name does what is wanted. A look at something changes nothing.
    pub(super) fn is_served_by(&self, tool: &str) -> bool {
        let looks = tool.starts_with("get_") || tool.starts_with("list_");
        let changes = matches!(
            self,
            Self::Warmer(_)
                | Self::Brighter { .. }
                | Self::Power { .. }
                | Self::Level { .. }
                | Self::Lock { .. }
        );
        !(looks && changes)
    }

    /// The same, but not for those. None if that makes no sense.
    fn without(mut self, except: &[String]) -> Option<Self> {
        match &mut self {
            Self::Power { target, .. }
            | Self::Level { target, .. }
            | Self::Brighter { target, .. }
            | Self::Lock { target, .. }
            | Self::Devices { target, .. } => {
                target.except = except.to_vec();
                target.is_plural = true;
                Some(self)
            }
            // The scene would not leave anything out.
            Self::Scene(name) if name == "Good Night" => Some(Self::Night { except: except.to_vec() }),
            _ => None,
        }
    }
}

type Rule = fn(&[String]) -> Option<Intent>;

fn understand(clause: &[String]) -> Option<Intent> {
    const RULES: [Rule; 24] = [
        limit::refrain,
        hub::self_or_manners,
        hub::search,
        hub::report,
        hub::explain,
        hub::flag,
        hub::volume,
        home::scene,
        hub::clock,
        limit::cannot,
        home::batteries,
        home::ping,
        climate::warmer,
        climate::thermostat,
        climate::heating,
        climate::temperature,
        home::lock,
        sum::sum,
        home::brighter,
        home::level,
        home::power,
        home::rooms,
        home::devices,
        home::status,
    ];
    RULES.iter().find_map(|rule| rule(clause))
}

/// "Turn on the light and the lamp": the same with something else.
fn again(before: &Intent, clause: &[String]) -> Option<Intent> {
    let named = clause.first().is_some_and(|word| ["the", "my", "all", "in"].contains(&word.as_str()));
    if !named || clause.len() > 5 || after(clause, "the rest").is_some() {
        return None;
    }
    let target = Target::new(clause);
    match before {
        Intent::Power { power, .. } => Some(Intent::Power { target, power: *power }),
        Intent::Level { percent, .. } => Some(Intent::Level { target, percent: *percent }),
        Intent::Lock { locks, .. } => Some(Intent::Lock { target, locks: *locks }),
        Intent::Temperature(_) => Some(Intent::Temperature(target)),
        Intent::Status { .. } => Some(Intent::Status { target, expected: None }),
        _ => None,
    }
}
