//! When to look for a better access point of the same network, and when to move to it.
//!
//! Pure, so that `rustc --test src/roam.rs` runs its tests on a desktop. A move costs the connection to the broker, so
//! it has to be worth it: the signal has been weak for a while, and the other access point is clearly stronger. After
//! every look the station rests, so that two access points of about the same strength do not toss it to and fro.

/// Below this, in dBm, packets begin to get lost.
const WEAK: i8 = -70;

/// How many checks in a row the signal is weak before it counts.
const WEAK_CHECKS: u16 = 3;

/// By how many decibels another access point has to be stronger.
const GAIN: i8 = 10;

/// Checks without a look after a look. It doubles up to [`LONGEST_REST`] with every look that finds nothing.
const SHORTEST_REST: u16 = 30;

const LONGEST_REST: u16 = 360;

/// What was seen since the network was joined.
pub struct Roaming {
    weak: u16,
    rest: u16,
    next_rest: u16,
}

impl Roaming {
    pub const fn new() -> Self {
        Self { weak: 0, rest: 0, next_rest: SHORTEST_REST }
    }

    /// Takes the signal of a regular check, in dBm. Returns whether to look for another access point now.
    pub fn is_time_to_look(&mut self, signal: i8) -> bool {
        self.rest = self.rest.saturating_sub(1);
        if signal >= WEAK {
            self.weak = 0;
            self.next_rest = SHORTEST_REST;
            return false;
        }
        self.weak = self.weak.saturating_add(1);
        if self.weak < WEAK_CHECKS || self.rest > 0 {
            return false;
        }
        self.weak = 0;
        self.rest = self.next_rest;
        self.next_rest = (self.next_rest * 2).min(LONGEST_REST);
        true
    }

    /// The access point to move to, if one of `found` is worth it: the strongest one. Each has its own address and its
    /// signal; the station is at `here`, and hears it with `signal`.
    pub fn choose<A: PartialEq + Copy>(
        &mut self,
        here: A,
        signal: i8,
        found: impl Iterator<Item = (A, i8)>,
    ) -> Option<A> {
        let (mut best, mut strongest) = (None, signal.saturating_add(GAIN));
        let mut own = signal;
        for (access_point, signal) in found {
            if access_point == here {
                own = own.max(signal);
            } else if signal >= strongest {
                (best, strongest) = (Some(access_point), signal);
            }
        }
        // The look itself may show that it is not so bad here.
        let best = best.filter(|_| strongest >= own.saturating_add(GAIN));
        if best.is_some() {
            self.next_rest = SHORTEST_REST;
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checks, of signals one after the other, at which the station looks around.
    fn looks(signals: impl Iterator<Item = i8>) -> Vec<usize> {
        let mut roaming = Roaming::new();
        signals.enumerate().filter(|(_, signal)| roaming.is_time_to_look(*signal)).map(|(at, _)| at).collect()
    }

    #[test]
    fn a_good_signal_is_left_alone() {
        assert_eq!(looks([-70; 1000].into_iter()), []);
    }

    #[test]
    fn a_short_dip_is_left_alone() {
        assert_eq!(looks([-60, -80, -80, -60].into_iter().cycle().take(1000)), []);
    }

    #[test]
    fn a_weak_signal_is_looked_at_soon_and_then_ever_less_often() {
        assert_eq!(looks([-80; 600].into_iter()), [2, 32, 92, 212, 452]);
    }

    #[test]
    fn a_signal_that_recovers_is_looked_at_again_soon() {
        let mut signals = vec![-80; 100];
        signals.extend([-60; 200]);
        signals.extend([-80; 40]);
        assert_eq!(looks(signals.into_iter()), [2, 32, 92, 302, 332]);
    }

    #[test]
    fn only_a_clearly_stronger_access_point_is_worth_a_move() {
        let choose = |here, found: &[(u8, i8)]| Roaming::new().choose(1, here, found.iter().copied());
        assert_eq!(choose(-80, &[(1, -80), (2, -71)]), None);
        assert_eq!(choose(-80, &[(1, -80), (2, -70)]), Some(2));
        assert_eq!(choose(-80, &[(2, -69), (1, -81), (3, -50), (4, -60)]), Some(3));
        assert_eq!(choose(-80, &[(2, -65), (1, -70)]), None, "the station was in a hole for a moment");
        assert_eq!(choose(-80, &[(1, -30)]), None, "it is there already");
        assert_eq!(choose(-80, &[]), None);
    }

    /// Two access points whose signals wander: whoever stands between them moves rarely, and only upwards.
    #[test]
    fn two_access_points_do_not_toss_a_station_to_and_fro() {
        let mut random = 1_u32;
        let mut wander = |signal: &mut i8| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *signal = (*signal + (random >> 16) as i8 % 4).clamp(-90, -60);
        };
        let (mut roaming, mut here, mut signals, mut last) = (Roaming::new(), 0, [-75_i8; 2], None);
        for check in 0..100_000_usize {
            signals.iter_mut().for_each(&mut wander);
            if !roaming.is_time_to_look(signals[here]) {
                continue;
            }
            assert!(last.is_none_or(|last| check - last >= usize::from(SHORTEST_REST)));
            last = Some(check);
            if let Some(there) = roaming.choose(here, signals[here], signals.into_iter().enumerate()) {
                assert!(signals[there] >= signals[here] + GAIN);
                here = there;
            }
        }
        assert!(last.is_some());
    }
}
