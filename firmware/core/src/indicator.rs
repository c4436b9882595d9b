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

/// How a pattern blinks, again and again: for how many milliseconds the lamp is lit, and then dark.
pub const fn blinks(pattern: Pattern) -> &'static [[u16; 2]] {
    match pattern {
        // Steady.
        Pattern::Well => &[[1000, 0]],
        // Slow.
        Pattern::Waiting => &[[1000, 1000]],
        // Two short ones and a pause.
        Pattern::Missing => &[[120, 180], [120, 1080]],
        // Fast.
        Pattern::Safe => &[[120, 120]],
    }
}

#[cfg(test)]
mod tests {
    use super::{blinks, pattern};
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
        let all = [Pattern::Well, Pattern::Waiting, Pattern::Missing, Pattern::Safe].map(blinks);
        for (index, one) in all.iter().enumerate() {
            assert!(one.iter().all(|[lit, dark]| *lit >= 100 && (*dark >= 100 || *dark == 0)));
            assert!(!all[..index].contains(one));
        }
    }
}
