//! The front of the hub: the button that resets the settings, and the lamp.

use embassy_time::{Instant, Timer};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use crate::context::HubContext;
use crate::limits;
use crate::link::LinkState;
use crate::log::{error, warn};
use crate::platform::{NetworkState, Pattern};
use crate::store::Store;

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

/// Watches the button and sets the lamp, for ever.
pub(crate) async fn run_panel<F: MultiwriteNorFlash>(hub: &HubContext<'_, Store<'_, F>>) -> ! {
    let mut button = Button::Ignored;
    let mut shown = None;
    loop {
        let network = (hub.network)().state;
        let is_ready = hub.port.status().read(|state, _| state == LinkState::Ready);
        let is_safe_mode = hub.config.boot.is_safe_mode();
        let pattern = pattern(is_safe_mode, network, hub.broker.is_connected(), is_ready);
        if shown.replace(pattern) != Some(pattern) {
            hub.platform.indicate(pattern);
        }
        if button.poll(hub.platform.is_button_pressed(), Instant::now()) {
            warn!("hub: the button was held; the settings are reset, and the hub restarts");
            if hub.reset_settings().await.is_err() {
                error!("hub: the settings cannot be reset: the flash does not work");
            }
        }
        Timer::after(limits::PANEL_POLL).await;
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

#[cfg(test)]
mod lamp_tests {
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
