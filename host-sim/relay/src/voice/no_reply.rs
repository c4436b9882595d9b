//! Why a hub does not answer, in words that can be said.

/// Why there is no answer of the hub's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoReply {
    /// Nothing was said.
    NothingHeard,
    /// There is no connection to the broker.
    NoBroker,
    /// No hub has been seen at the broker.
    NoHub,
    /// There are several hubs, and none was named.
    SeveralHubs,
    /// The hub is not connected to the broker.
    Offline,
    /// The hub or the broker was lost while the hub worked.
    Lost,
    /// It took too long.
    Late,
    /// The hub, or this service, has too much to do.
    Busy,
    /// What was said is too long.
    TooLong,
    /// The hub refuses it.
    Refused,
    /// The hub wants to hear a wake phrase, as older ones do.
    Outdated,
    /// What was sent is not an event of Wyoming.
    Malformed,
}

impl NoReply {
    /// What a person hears.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NothingHeard => "Sorry, I did not hear anything.",
            Self::NoBroker => "Sorry, I cannot reach the hub, because its message broker does not answer.",
            Self::NoHub => "Sorry, I cannot find the hub.",
            Self::SeveralHubs => "Sorry, there are several hubs here, and nobody told me which one is meant.",
            Self::Offline => "Sorry, the hub is not there right now.",
            Self::Lost => "Sorry, I lost the connection to the hub. I do not know whether that was done.",
            Self::Late => "Sorry, that took too long.",
            Self::Busy => "One moment, I am talking with others.",
            Self::TooLong => "Sorry, that is too much for me at once.",
            Self::Refused => "Sorry, the hub could not do that.",
            Self::Outdated => {
                "Sorry, this hub is too old to be spoken to like this. It needs newer firmware."
            }
            Self::Malformed => "Sorry, I could not understand what was sent to me.",
        }
    }

    /// What whoever reads the log can do, after the words.
    pub(super) const fn hint(self) -> &'static str {
        match self {
            Self::NoHub => {
                " (no hub's `availability` is to be seen at this broker; if it has access rules, use a satellite's login)"
            }
            Self::SeveralHubs => " (name it with --hub)",
            _ => "",
        }
    }

    /// Why the hub refused, by the `error_type` of its reply.
    pub(super) fn of_refusal(error_type: &str) -> Self {
        match error_type {
            "busy" => Self::Busy,
            "too_large" => Self::TooLong,
            "timeout" => Self::Late,
            _ => Self::Refused,
        }
    }
}
