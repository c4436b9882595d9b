//! The kinds of faults of a line.

use std::fmt;
use std::str::FromStr;

/// A kind of fault. It happens to one line from the controller or one from the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A line from the controller gets lost.
    Silence,
    /// A line from the hub gets lost.
    Deafness,
    /// A line from the controller comes late and in two pieces, up to two seconds in all. Those after it wait.
    Slowness,
    /// Before a line from the controller comes noise: log lines, bytes that are not UTF-8, JSON that is not JSON-RPC.
    Garbage,
    /// The controller restarts around a line from the hub: before it arrives, while it is handled, or in the
    /// middle of its answer. The session is lost; a boot log follows.
    Reset,
    /// A line from the controller breaks off: its end is lost, with or without the line break, so that
    /// the next line continues it.
    HalfLine,
    /// Before an answer comes another one, [`STRAY_ANSWER`], whose id is not that of a request.
    WrongId,
    /// A line from the controller comes twice.
    Duplicate,
    /// Before a line from the controller comes one of 20 to 60 kB.
    LongLine,
    /// Nothing passes either way. With a rate below 1 a loose contact: up to ten seconds each time.
    Unplugged,
    /// The line ends, as one to another process does. It can be opened again if this is no longer always so.
    Closed,
}

/// The text of an answer to no request.
pub const STRAY_ANSWER: &str = "an answer to nobody";

impl Fault {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Silence,
        Self::Deafness,
        Self::Slowness,
        Self::Garbage,
        Self::Reset,
        Self::HalfLine,
        Self::WrongId,
        Self::Duplicate,
        Self::LongLine,
        Self::Unplugged,
        Self::Closed,
    ];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Silence => "silence",
            Self::Deafness => "deafness",
            Self::Slowness => "slowness",
            Self::Garbage => "garbage",
            Self::Reset => "reset",
            Self::HalfLine => "half-line",
            Self::WrongId => "wrong-id",
            Self::Duplicate => "duplicate",
            Self::LongLine => "long-line",
            Self::Unplugged => "unplugged",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A fault and how often it happens, written `NAME` or `NAME:RATE`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultRate {
    /// The kind of fault.
    pub fault: Fault,
    /// The probability for each line, from 0 to 1.
    pub rate: f64,
}

impl FromStr for FaultRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rate) = text.split_once(':').map_or((text, None), |(name, rate)| (name, Some(rate)));
        let fault = Fault::ALL.into_iter().find(|fault| fault.name() == name).ok_or_else(|| {
            let names: Vec<_> = Fault::ALL.map(Fault::name).into();
            format!("there is no fault '{name}'; there are {}", names.join(", "))
        })?;
        let rate = match rate {
            None => 1.0,
            Some(text) => text
                .parse()
                .ok()
                .filter(|rate| (0.0..=1.0).contains(rate))
                .ok_or_else(|| format!("'{text}' is not a rate; it is a number from 0 to 1, like 0.05"))?,
        };
        Ok(Self { fault, rate })
    }
}
