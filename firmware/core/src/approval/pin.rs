//! The PIN with which a person approves in the conversation itself, and the lock-out after wrong ones.
//!
//! PINs are short, so what protects them is how few can be tried. Wrong ones are counted in a row: across approvals,
//! conversations and restarts. From the third on, each one starts a lock-out, and each lock-out is twice as long as the one
//! before, up to an hour. During a lock-out nothing is compared. Only the right PIN resets the count, or a new PIN in the
//! settings: approvals in the app do not, since somebody who guesses may cause those.

use core::cell::Cell;
use core::fmt::{self, Display};
use core::hint::black_box;
use core::pin::{Pin, pin};

use embassy_time::{Duration, Instant};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use crate::config::Config;
use crate::limits;
use crate::settings::{GATE_PIN, Setting};
use crate::store::{Key, Store, StoreError};
use crate::text::clip;

/// The number of wrong PINs in a row; missing if there is none.
const WRONG_PINS: Key<'static> = Key::Setting("gate.pin.wrong");

/// Digits that may be the PIN.
pub type PinDigits = String<{ limits::PIN }>;

/// The outcome of a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinOutcome {
    /// It is the PIN.
    Right,
    /// It is not the PIN, and the next one is compared.
    Wrong,
    /// It is not the PIN, and PINs are refused for this long from now on.
    LockedOut(Duration),
    /// It was not compared: PINs are refused for this long.
    Refused(Duration),
    /// It was not compared: the store cannot count it.
    Uncounted,
    /// There is no PIN.
    Unset,
}

/// When the last guess was made, or else when the hub started. The count itself is in flash: without a clock that survives a
/// restart, the hub then starts the lock-out again in full.
pub struct LastGuess(Cell<Instant>);

impl LastGuess {
    pub(super) const fn new() -> Self {
        Self(Cell::new(Instant::MIN))
    }

    pub(super) fn restart(&self, now: Instant) {
        self.0.set(now);
    }

    /// Compares a guess with the PIN, and counts it.
    ///
    /// The guess is counted before it is compared: whoever cuts the power as soon as the outcome shows has used it up. The
    /// store stays locked meanwhile, so that two conversations cannot share one count. Once the lock-out has reached its
    /// maximum the count stays the same and nothing more is written, which bounds the wear of the flash.
    pub(crate) async fn check<F: MultiwriteNorFlash>(
        &self,
        guess: &PinDigits,
        now: Instant,
        store: &mut Store<'_, F>,
        config: &Config<'_>,
    ) -> PinOutcome {
        let right = GATE_PIN.value(store, config).await;
        if right.is_empty() {
            return PinOutcome::Unset;
        }
        let wrong = match read_count(store).await {
            Ok(wrong) => wrong,
            Err(_) => return PinOutcome::Uncounted,
        };
        let left = (self.0.get() + lock_out(wrong)).saturating_duration_since(now);
        if left > Duration::MIN {
            return PinOutcome::Refused(left);
        }
        let wrong = wrong.saturating_add(1).min(COUNT_MOST);
        self.0.set(now);
        if write_count(store, wrong).await.is_err() {
            return PinOutcome::Uncounted;
        }
        if is_same(guess, &right) {
            // If it stays, it only makes the next wrong one count more.
            let _ = forget_wrong_pins(&GATE_PIN, store).await;
            return PinOutcome::Right;
        }
        match lock_out(wrong) {
            Duration::MIN => PinOutcome::Wrong,
            lock_out => PinOutcome::LockedOut(lock_out),
        }
    }
}

/// Forgets the wrong PINs, if the setting that somebody changed is the PIN.
pub(crate) async fn forget_wrong_pins<F: MultiwriteNorFlash>(
    changed: &Setting,
    store: &mut Store<'_, F>,
) -> Result<(), StoreError> {
    if changed.key == GATE_PIN.key {
        // Behind a pointer, as below: otherwise each caller would bring its own copy of the store's code.
        let deleting: Pin<&mut dyn Future<Output = _>> = pin!(store.delete(WRONG_PINS));
        deleting.await?;
    }
    Ok(())
}

async fn read_count<F: MultiwriteNorFlash>(store: &mut Store<'_, F>) -> Result<u8, StoreError> {
    let looking: Pin<&mut dyn Future<Output = _>> = pin!(store.look(WRONG_PINS));
    // What cannot be read as a number counts as many.
    Ok(looking.await?.map_or(0, |count| count.parse().unwrap_or(COUNT_MOST)))
}

async fn write_count<F: MultiwriteNorFlash>(store: &mut Store<'_, F>, count: u8) -> Result<(), StoreError> {
    let text: String<3> = clip(&count);
    let setting: Pin<&mut dyn Future<Output = _>> = pin!(store.set(WRONG_PINS, &text));
    setting.await
}

/// More wrong PINs than this make no difference: the lock-out is at its maximum.
const COUNT_MOST: u8 = {
    let doublings = limits::PIN_LOCK_OUT_MOST.as_secs().div_ceil(limits::PIN_LOCK_OUT.as_secs());
    limits::PIN_TRIES + doublings.next_power_of_two().ilog2() as u8
};

/// For how long PINs are refused after so many wrong ones in a row.
fn lock_out(wrong: u8) -> Duration {
    let Some(doublings) = wrong.checked_sub(limits::PIN_TRIES) else { return Duration::MIN };
    let factor = 1u32.checked_shl(doublings.into()).unwrap_or(u32::MAX);
    limits::PIN_LOCK_OUT.checked_mul(factor).unwrap_or(Duration::MAX).min(limits::PIN_LOCK_OUT_MOST)
}

/// Whether two PINs are the same, in a time that depends on neither: both are padded to the same length with what is no
/// digit, and all of it is compared.
fn is_same(guess: &str, right: &str) -> bool {
    let padded = |digits: &str| {
        let mut bytes = [0; limits::PIN];
        bytes.iter_mut().zip(digits.bytes()).for_each(|(byte, digit)| *byte = digit);
        bytes
    };
    let (guess, right) = (padded(guess), padded(right));
    // Without the black box, the compiler may leave the loop at the first difference.
    guess.iter().zip(&right).fold(0, |differences, (a, b)| black_box(differences | (a ^ b))) == 0
}

/// A duration in words, rounded up: "40 seconds", "2 minutes".
pub struct InWords(pub Duration);

impl Display for InWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_millis().div_ceil(1000) {
            1 => f.write_str("1 second"),
            seconds @ ..=99 => write!(f, "{seconds} seconds"),
            seconds => write!(f, "{} minutes", seconds.div_ceil(60)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString as _;

    use embassy_futures::block_on;
    use test_flash::{Flash, TEARS};

    use super::*;
    use crate::store::StoreBuffers;

    const CONFIG: Config<'static> = Config::DEFAULT;

    /// Looks into the store on a flash.
    fn with_store<T>(
        flash: &mut Flash<256>,
        look: impl AsyncFnOnce(&mut Store<'_, &mut Flash<256>>) -> T,
    ) -> T {
        let mut memory = std::boxed::Box::new(StoreBuffers::new());
        block_on(look(&mut Store::new(flash, &mut memory)))
    }

    /// Whenever the power goes: a guess whose outcome was told is counted, and no count is lost.
    #[test]
    fn a_power_cut_gives_no_guess_for_free() {
        let mut flash = Flash::<256>::new(6);
        with_store(&mut flash, async |store| {
            store.set(Key::Setting(GATE_PIN.key), "4711").await.unwrap();
            write_count(store, 1).await.unwrap();
        });
        let mut told = 0;
        for (guess, tear) in ["4711", "4712"].into_iter().flat_map(|guess| TEARS.map(|tear| (guess, tear))) {
            for steps in 0.. {
                let mut flash = flash.clone();
                flash.cut_after(steps, tear, steps as u64);
                let last = LastGuess::new();
                let guess = PinDigits::try_from(guess).unwrap();
                let outcome = with_store(&mut flash, async |store| {
                    last.check(&guess, Instant::from_secs(1), store, &CONFIG).await
                });
                let is_cut = flash.restart();
                let count = with_store(&mut flash, async |store| read_count(store).await.unwrap());
                match outcome {
                    PinOutcome::Uncounted => assert!(is_cut && (1..=2).contains(&count), "{count}"),
                    PinOutcome::Wrong => assert_eq!((guess.as_str(), count), ("4712", 2)),
                    PinOutcome::Right => assert!(guess == "4711" && (count == 2 && is_cut || count == 0)),
                    other => panic!("{other:?}"),
                }
                told += usize::from(outcome != PinOutcome::Uncounted);
                if !is_cut {
                    break;
                }
            }
        }
        assert!(told > 8, "also with the power gone right after: {told}");
    }

    #[test]
    fn at_the_longest_lock_out_nothing_more_is_written() {
        let mut flash = Flash::<256>::new(6);
        let last = LastGuess::new();
        let guess = PinDigits::try_from("0000").unwrap();
        let mut now = Instant::MIN;
        let mut guesses = async |store: &mut Store<'_, &mut Flash<256>>, count: u8| {
            for _ in 0..count {
                now += limits::PIN_LOCK_OUT_MOST;
                let outcome = last.check(&guess, now, store, &CONFIG).await;
                assert!(matches!(outcome, PinOutcome::Wrong | PinOutcome::LockedOut(_)), "{outcome:?}");
            }
        };
        with_store(&mut flash, async |store| {
            store.set(Key::Setting(GATE_PIN.key), "4711").await.unwrap();
            guesses(store, COUNT_MOST).await;
        });
        let steps = flash.steps;
        with_store(&mut flash, async |store| guesses(store, 100).await);
        assert_eq!(flash.steps, steps);
    }

    #[test]
    fn a_lock_out_doubles_up_to_an_hour() {
        let seconds: std::vec::Vec<_> = (0..=COUNT_MOST + 1).map(|wrong| lock_out(wrong).as_secs()).collect();
        assert_eq!(seconds, [0, 0, 0, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
        assert_eq!(lock_out(u8::MAX).as_secs(), 3600);
    }

    #[test]
    fn only_the_same_digits_are_the_same() {
        for (guess, right, same) in [
            ("4711", "4711", true),
            ("123456789012", "123456789012", true),
            ("4712", "4711", false),
            ("47110", "4711", false),
            ("4711", "47110", false),
            ("0000", "00000", false),
            ("", "4711", false),
        ] {
            assert_eq!(is_same(guess, right), same, "{guess} {right}");
        }
    }

    #[test]
    fn durations_are_rounded_up() {
        for (milliseconds, words) in
            [(1, "1 second"), (39_001, "40 seconds"), (60_000, "60 seconds"), (120_000, "2 minutes")]
        {
            assert_eq!(InWords(Duration::from_millis(milliseconds)).to_string(), words);
        }
        assert_eq!(InWords(limits::PIN_LOCK_OUT_MOST).to_string(), "60 minutes");
    }
}
