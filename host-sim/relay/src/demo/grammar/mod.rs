//! Parses what a person said into intents.

mod clause;
mod climate;
mod home;
mod hub;
mod limit;
mod number;
mod prompt;
mod sum;
mod words;

pub(super) use prompt::prompt_name;
pub(super) use words::{Target, without};

use clause::{Clause, clauses};
use words::{after, begins, without_manners};

/// Characters of what was said that are looked at, and clauses of it.
const LONGEST: usize = 1000;
const CLAUSES: usize = 16;

/// One thing that a person wants: what the grammar parses.
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
    /// The state of something, and whether it is as expected.
    Status {
        target: Target,
        expected: Option<Condition>,
    },
    /// The devices, or those in this state.
    Devices {
        target: Target,
        condition: Option<Condition>,
        /// Whether all of them are expected to be, and the answer is yes or no.
        is_all: bool,
    },
    Rooms,
    /// A report about the home, or about what is named.
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

/// A state that a device may be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    On(bool),
    Locked(bool),
    Open(bool),
    Motion(bool),
}

/// The intents in what was said, and what is none.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Understood {
    pub(super) intents: Vec<Intent>,
    /// The clauses that were not understood.
    pub(super) rest: Vec<String>,
}

/// Parses what was said, as far as possible. `before` was said before that.
pub(super) fn read(text: &str, before: &str) -> Understood {
    if let Some(intent) = prompt::read(text) {
        return Understood { intents: vec![intent], rest: vec![] };
    }
    let understood = read_words(text, None);
    if !understood.intents.is_empty() || prompt::read(before).is_some() {
        return understood;
    }
    // "Turn on the lamp." "Which one?" "The floor lamp."
    match read_words(before, None).intents.pop() {
        Some(last) => read_words(text, Some(last)),
        None => understood,
    }
}

fn read_words(text: &str, before: Option<Intent>) -> Understood {
    let text: String = text.chars().take(LONGEST).collect();
    let words = words::split(&text);
    let mut understood = Understood::default();
    // "Turn the lamp and the light off": what is to be done to the lamp comes later.
    let mut waiting: Vec<Target> = Vec::new();
    for Clause { words, except } in clauses(&words).into_iter().take(CLAUSES) {
        let clause = without_manners(&words);
        if clause.is_empty() {
            continue;
        }
        let found =
            understand(clause).or_else(|| again(understood.intents.last().or(before.as_ref())?, clause));
        let found = match found {
            Some(intent) if !except.is_empty() => intent.without(&except),
            found => found,
        };
        match (found, home::unfinished(clause)) {
            (Some(intent), _) => {
                if let Intent::Power { power, .. } = &intent {
                    let earlier = waiting.drain(..).map(|target| Intent::Power { target, power: *power });
                    understood.intents.extend(earlier);
                }
                understood.intents.push(intent);
            }
            (None, Some(target)) => waiting.push(target),
            (None, None) => understood.rest.push(clause.join(" ")),
        }
    }
    understood.rest.extend(waiting.into_iter().map(|target| target.words.join(" ")));
    // "Hello! What time is it?" needs no greeting.
    if understood.intents.len() > 1 {
        understood.intents.retain(|intent| !matches!(intent, Intent::Hello | Intent::Thanks));
    }
    understood.intents.dedup();
    understood
}

impl Intent {
    /// Whether a call of this tool can fulfil the intent: a tool that reads changes nothing.
    pub(super) fn is_served_by(&self, tool: &str) -> bool {
        let reads = tool.starts_with("get_") || tool.starts_with("list_");
        let changes = matches!(
            self,
            Self::Warmer(_)
                | Self::Brighter { .. }
                | Self::Power { .. }
                | Self::Level { .. }
                | Self::Lock { .. }
        );
        !(reads && changes)
    }

    /// The same without these devices. None if that makes no sense.
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

type Pattern = fn(&[String]) -> Option<Intent>;

fn understand(clause: &[String]) -> Option<Intent> {
    const PATTERNS: [Pattern; 24] = [
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
    PATTERNS.iter().find_map(|pattern| pattern(clause))
}

/// "Turn on the light and the lamp": the same with something else.
fn again(before: &Intent, clause: &[String]) -> Option<Intent> {
    if !begins(clause, &["the", "my", "all", "in"]) || clause.len() > 5 || after(clause, "the rest").is_some()
    {
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
