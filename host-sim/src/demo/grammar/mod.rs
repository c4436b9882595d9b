//! What a person wants, from what was said.

mod home;
mod hub;
mod sum;
mod words;

pub(super) use words::Target;

use words::{END, after, without_manners};

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
    },
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

/// Understands what was said, as far as possible.
pub(super) fn read(text: &str) -> Heard {
    let text: String = text.chars().take(LONGEST).collect();
    let words = words::split(&text);
    let mut heard = Heard::default();
    // "Turn the lamp and the light off": what is to be done to the lamp comes later.
    let mut waiting: Vec<Target> = Vec::new();
    for clause in clauses(&words).into_iter().take(CLAUSES) {
        let clause = without_manners(clause);
        if clause.is_empty() {
            continue;
        }
        let found = understand(clause).or_else(|| again(heard.intents.last()?, clause));
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

/// Parts that each want something. What is searched for stays whole.
fn clauses(words: &[String]) -> Vec<&[String]> {
    let mut clauses = Vec::new();
    for sentence in words.split(|word| word == END) {
        match hub::search(without_manners(sentence)) {
            Some(_) => clauses.push(sentence),
            None => clauses.extend(sentence.split(|word| word == "and" || word == "then")),
        }
    }
    clauses
}

type Rule = fn(&[String]) -> Option<Intent>;

fn understand(clause: &[String]) -> Option<Intent> {
    const RULES: [Rule; 16] = [
        hub::self_or_manners,
        hub::search,
        hub::flag,
        hub::volume,
        hub::clock,
        home::batteries,
        home::ping,
        home::scene,
        home::thermostat,
        home::temperature,
        home::lock,
        sum::sum,
        home::level,
        home::power,
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
