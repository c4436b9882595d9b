//! The button that resets the settings: somebody holds it for five seconds.

use embassy_time::Instant;

use crate::limits;

/// How long the button has been held.
///
/// Only a press that was seen to begin counts: a pin that is stuck must not reset the hub at every start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Button {
    /// Pressed at the start, or held for long enough already.
    Ignored,
    /// Not pressed.
    Released,
    /// Pressed since then.
    Pressed(Instant),
}

impl Button {
    /// Looks at it. Returns whether it has just been held for [`limits::BUTTON_HOLD`], once for each press.
    pub fn poll(&mut self, is_pressed: bool, now: Instant) -> bool {
        let (next, is_held) = match (*self, is_pressed) {
            (_, false) => (Self::Released, false),
            (Self::Released, true) => (Self::Pressed(now), false),
            (Self::Pressed(since), true) if now - since >= limits::BUTTON_HOLD => (Self::Ignored, true),
            (same, true) => (same, false),
        };
        *self = next;
        is_held
    }
}

#[cfg(test)]
mod tests {
    use super::Button;
    use crate::limits;
    use embassy_time::{Duration, Instant};
    use proptest::prelude::*;

    /// When it was held for long enough, if looked at every tenth of a second.
    fn held(presses: &[bool]) -> std::vec::Vec<usize> {
        let mut button = Button::Ignored;
        let at = |index: usize| Instant::from_millis(100 * index as u64);
        presses
            .iter()
            .enumerate()
            .filter(|(index, is)| button.poll(**is, at(*index)))
            .map(|(i, _)| i)
            .collect()
    }

    #[test]
    fn it_takes_five_seconds_from_a_press_that_was_seen() {
        let pressed = |count| std::vec![true; count];
        let seconds = limits::BUTTON_HOLD.as_millis() as usize / 100;
        assert_eq!(seconds, 50);
        assert_eq!(held(&[&[false][..], &pressed(50)].concat()), [0; 0]);
        assert_eq!(held(&[&[false][..], &pressed(200)].concat()), [51]);
        // Stuck since the start.
        assert_eq!(held(&pressed(500)), [0; 0]);
        // Let go and held again, after it was stuck.
        assert_eq!(held(&[&pressed(99)[..], &[false], &pressed(60)].concat()), [150]);
    }

    proptest! {
        #[test]
        fn only_a_whole_press_counts(presses in prop::collection::vec((any::<bool>(), 1usize..80), 0..20)) {
            let all: std::vec::Vec<bool> =
                presses.iter().flat_map(|(is, count)| std::iter::repeat_n(*is, *count)).collect();
            let expected: std::vec::Vec<usize> = (0..all.len())
                .filter(|index| *index > 50 && all[index - 50..=*index].iter().all(|is| *is) && !all[index - 51])
                .collect();
            prop_assert_eq!(held(&all), expected);
        }
    }

    #[test]
    fn the_hold_is_a_multiple_of_the_looks() {
        assert_eq!(limits::BUTTON_HOLD.as_millis() % limits::PANEL_POLL.as_millis(), 0);
        assert!(limits::PANEL_POLL <= Duration::from_millis(500));
    }
}
