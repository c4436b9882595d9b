//! The lamp: what it tells people, and how it blinks.

use crate::platform::{NetworkState, Pattern};

/// What a lamp has to tell.
pub const fn pattern(
    is_safe_mode: bool,
    network: NetworkState,
    has_broker: bool,
    has_controller: bool,
) -> Pattern {
    match network {
        _ if is_safe_mode => Pattern::Safe,
        NetworkState::Joined if has_broker && has_controller => Pattern::Well,
        NetworkState::Joined => Pattern::Missing,
        NetworkState::Off | NetworkState::Joining | NetworkState::Failed(_) => Pattern::Waiting,
    }
}

/// One part of a pattern: whether the lamp is lit, and for how many milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Lit or dark.
    pub is_lit: bool,
    /// For so long.
    pub milliseconds: u16,
}

const fn lit(milliseconds: u16) -> Step {
    Step { is_lit: true, milliseconds }
}

const fn dark(milliseconds: u16) -> Step {
    Step { is_lit: false, milliseconds }
}

/// How a pattern blinks, again and again: steady, slow, two short flashes and a pause, or fast.
pub const fn steps(pattern: Pattern) -> &'static [Step] {
    match pattern {
        Pattern::Well => &[lit(1000)],
        Pattern::Waiting => &[lit(1000), dark(1000)],
        Pattern::Missing => &[lit(120), dark(180), lit(120), dark(1080)],
        Pattern::Safe => &[lit(120), dark(120)],
    }
}

#[cfg(test)]
mod tests {
    use super::{pattern, steps};
    use crate::platform::{NetworkState, Pattern};

    #[test]
    fn each_state_has_its_pattern() {
        let joined = NetworkState::Joined;
        for (is_safe, network, broker, controller, expected) in [
            (false, joined, true, true, Pattern::Well),
            (false, joined, false, true, Pattern::Missing),
            (false, joined, true, false, Pattern::Missing),
            (false, NetworkState::Off, false, true, Pattern::Waiting),
            (false, NetworkState::Joining, false, false, Pattern::Waiting),
            (false, NetworkState::Failed("wrong password"), false, false, Pattern::Waiting),
            (true, joined, true, true, Pattern::Safe),
            (true, NetworkState::Off, false, false, Pattern::Safe),
        ] {
            assert_eq!(pattern(is_safe, network, broker, controller), expected);
        }
    }

    #[test]
    fn patterns_differ_to_the_eye() {
        let all = [Pattern::Well, Pattern::Waiting, Pattern::Missing, Pattern::Safe].map(steps);
        for (index, one) in all.iter().enumerate() {
            assert!(one[0].is_lit && one.iter().all(|step| step.milliseconds >= 100));
            assert!(one.windows(2).all(|pair| pair[0].is_lit != pair[1].is_lit));
            assert!(!all[..index].contains(one));
        }
    }
}
