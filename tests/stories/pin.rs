//! The PIN: where it is compared, how often it can be guessed, and who gets to hear it.

use host_zwave::Home;
use world::model::{calls, stop};
use world::prelude::*;

use crate::home::at_home;

const PIN: &str = "4711";
const WRONG: &str = "That is not the PIN. Please try again.";
const OVER: &str = "Nothing is waiting for a PIN.";

fn unlock() -> (&'static str, Value) {
    ("lock_door", json!({ "deviceName": "Front Door", "action": "unlock" }))
}

fn door(home: &Home) -> String {
    home.device("Front Door").expect("it").state.to_string()
}

/// Says something in a conversation.
fn says(person: &Client, conversation: &str, text: &str) {
    person.says(json!({ "text": text, "conversation": conversation }));
}

/// The reply to something that is said in a conversation where an approval is pending.
async fn answer(person: &mut Client, conversation: &str, text: &str) -> String {
    says(person, conversation, text);
    person.reply().await["content"].as_str().expect("words").to_owned()
}

/// Has a model want to unlock the door in this conversation. Returns the id of the pending approval.
async fn wants_to_unlock(person: &mut Client, model: &mut Client, conversation: &str) -> u64 {
    says(person, conversation, "Unlock the door");
    model.serves(calls(&[unlock()])).await;
    loop {
        let message = person.next(Duration::from_secs(20)).await.expect("an approval");
        if !message.topic.contains("/approval/") {
            continue;
        }
        let approval = message.json();
        if approval["state"] == "waiting" && approval["conversation"] == conversation {
            return approval["id"].as_u64().expect("a number");
        }
    }
}

/// Denies it, and lets the model have the last word.
async fn ends(person: &mut Client, model: &mut Client, id: u64) {
    person.asks("approve", json!({ "id": id, "allow": false })).await;
    model.serves(stop("I did not.")).await;
    person.reply().await;
}

/// The text of the next notice that tells of refused PINs.
async fn hears_lock_out(person: &mut Client) -> String {
    loop {
        let notice = person.hears("log").await.json();
        if notice["text"].as_str().is_some_and(|text| text.contains("PINs are refused")) {
            assert_eq!(notice["level"], "warning");
            return notice["text"].as_str().expect("words").to_owned();
        }
    }
}

/// There is no telling the PIN from other digits without an approval to use it on.
#[test]
fn digits_are_ordinary_text_while_no_approval_is_pending() {
    at_home(async |world, _, ann| {
        let mut model = world.model().await;
        ann.sets("gate.pin", json!(PIN)).await;
        for text in [PIN, "1234", "four seven one one", "the PIN is 4711", "9990471100099"] {
            says(ann, "porch", text);
            model.serves(stop("Nice digits.")).await;
            assert_eq!(ann.reply().await["content"], "Nice digits.", "{text}");
        }
        // Nor where an approval is pending in another conversation.
        wants_to_unlock(ann, &mut model, "attic").await;
        for text in [PIN, "1234"] {
            says(ann, "porch", text);
            model.serves(stop("Nice digits.")).await;
            assert_eq!(ann.reply().await["content"], "Nice digits.", "{text}");
        }
    });
}

#[test]
fn a_pin_that_comes_too_late_is_heard_by_no_model() {
    at_home(async |world, home, ann| {
        let mut model = world.model().await;
        ann.sets("gate.pin", json!(PIN)).await;
        ann.sets("gate.seconds", json!(5)).await;
        wants_to_unlock(ann, &mut model, "porch").await;
        sleep(Duration::from_secs(6)).await;
        model.serves(stop("Nobody allowed it.")).await;
        ann.reply().await;
        // Whatever the digits are, the answer is the same, and they count for nothing.
        for text in [PIN, "1234", "0000", "four seven one one", "The PIN is 4711.", "it's 4 7 1 2", "123456"]
        {
            assert_eq!(answer(ann, "porch", text).await, OVER, "{text}");
        }
        for (conversation, text) in [("porch", "what is 1234 plus one?"), ("attic", "1234")] {
            says(ann, conversation, text);
            model.serves(stop("Well.")).await;
            assert_eq!(ann.reply().await["content"], "Well.");
        }
        sleep(Duration::from_secs(60)).await;
        says(ann, "porch", "1234");
        model.serves(stop("Well.")).await;
        assert_eq!(ann.reply().await["content"], "Well.");
        assert_eq!(door(home), "locked");
    });
}

#[test]
fn only_exactly_the_pin_approves() {
    at_home(async |world, home, ann| {
        let mut model = world.model().await;
        ann.sets("gate.pin", json!("471147")).await;
        wants_to_unlock(ann, &mut model, "porch").await;
        for text in ["471147471147", "47114"] {
            assert_eq!(answer(ann, "porch", text).await, WRONG, "{text}");
        }
        // Too few or too many digits cannot be a PIN, and are no guess.
        for text in ["471", "4711474711471"] {
            assert_contains(&json!(answer(ann, "porch", text).await), "I am waiting for approval to unlock");
        }
        assert_eq!(door(home), "locked");
        assert_eq!(answer(ann, "porch", "471147").await, "Thank you.");
        model.serves(stop("Done.")).await;
        ann.reply().await;
        assert_eq!(door(home), "unlocked");
    });
}

#[test]
fn a_storm_of_other_notices_does_not_hide_a_lock_out() {
    at_home(async |world, _, ann| {
        let mut model = world.model().await;
        ann.sets("gate.pin", json!(PIN)).await;
        wants_to_unlock(ann, &mut model, "porch").await;
        // Turns of another conversation fail, and people are told.
        for _ in 0..30 {
            says(ann, "attic", "Hi");
            model.serves(json!({ "error": { "status": 400, "message": "no" } })).await;
            ann.reply().await;
        }
        for guess in ["0001", "0002", "0003"] {
            assert_contains(&json!(answer(ann, "porch", guess).await), "That is not the PIN");
        }
        let notice = hears_lock_out(ann).await;
        assert!(notice.contains("conversation porch"), "{notice}");
    });
}

/// Whoever talks on while an approval is pending says digits, too. They must not lock out the PIN.
#[test]
fn other_talk_with_digits_is_no_guess_and_reaches_no_model() {
    at_home(async |world, home, ann| {
        let mut model = world.model().await;
        ann.sets("gate.pin", json!(PIN)).await;
        wants_to_unlock(ann, &mut model, "porch").await;
        let alarm = "Set the alarm to 0730";
        for text in [alarm, "Play radio 1071 at 10:30", "What is 1234 plus one?", alarm, alarm] {
            assert_eq!(
                answer(ann, "porch", text).await,
                "I am waiting for approval to unlock Front Door. Say the PIN, say no, or allow it in your app.",
                "{text}"
            );
        }
        assert_eq!(answer(ann, "porch", "the PIN is 4712").await, WRONG);
        assert_eq!(answer(ann, "porch", "four seven one two").await, WRONG);
        assert_eq!(answer(ann, "porch", "four seven one one").await, "Thank you.");
        let question = model.serves(stop("Done.")).await;
        let question = String::from_utf8_lossy(&question.payload).into_owned();
        assert!(!question.contains("0730") && !question.contains("1234"), "{question}");
        ann.reply().await;
        assert_eq!(door(home), "unlocked");
    });
}

#[test]
fn wrong_pins_lock_out_the_right_one_and_the_app_still_approves() {
    at_home(async |world, home, ann| {
        let mut model = world.model().await;
        ann.sets("gate.pin", json!(PIN)).await;
        // In two approvals: the count goes on.
        let first = wants_to_unlock(ann, &mut model, "porch").await;
        assert_eq!(answer(ann, "porch", "0815").await, WRONG);
        assert_eq!(answer(ann, "porch", "0816").await, WRONG);
        ends(ann, &mut model, first).await;
        let second = wants_to_unlock(ann, &mut model, "attic").await;
        assert_eq!(
            answer(ann, "attic", "It is 0 8 1 7").await,
            "That is not the PIN. PINs are refused for 60 seconds; you can still allow it in your app."
        );
        let notice = hears_lock_out(ann).await;
        assert!(notice.contains("conversation attic") && notice.contains("60 seconds"), "{notice}");
        sleep(Duration::from_secs(20)).await;
        assert_eq!(
            answer(ann, "attic", PIN).await,
            "PINs are refused for another 40 seconds, after too many wrong ones. You can still allow it in your app."
        );
        assert_eq!(door(home), "locked");
        ann.asks("approve", json!({ "id": second, "allow": true })).await;
        model.serves(stop("Done.")).await;
        ann.reply().await;
        assert_eq!(door(home), "unlocked");
        ann.asks("device/set", json!({ "device": "Front Door", "action": "lock" })).await;

        // What was allowed in the app gives no new guesses: the next wrong one locks out at once, for twice as long.
        sleep(Duration::from_secs(60)).await;
        let third = wants_to_unlock(ann, &mut model, "porch").await;
        assert_contains(&json!(answer(ann, "porch", "0818").await), "refused for 2 minutes");
        hears_lock_out(ann).await;
        ends(ann, &mut model, third).await;
        sleep(Duration::from_secs(121)).await;

        // The right one does.
        wants_to_unlock(ann, &mut model, "porch").await;
        assert_eq!(answer(ann, "porch", PIN).await, "Thank you.");
        model.serves(stop("Done.")).await;
        ann.reply().await;
        assert_eq!(door(home), "unlocked");
        wants_to_unlock(ann, &mut model, "porch").await;
        assert_eq!(answer(ann, "porch", "0819").await, WRONG);
        assert_not_logged(PIN);
        assert_not_logged("0817");
    });
}

#[test]
fn wrong_pins_are_counted_across_restarts_and_a_lock_out_begins_anew() {
    at_home(async |world, home, ann| {
        let mut model = world.model().await;
        ann.sets("gate.pin", json!(PIN)).await;
        for guess in ["0001", "0002", "0003"] {
            wants_to_unlock(ann, &mut model, "porch").await;
            assert_contains(&json!(answer(ann, "porch", guess).await), "That is not the PIN");
            restarts(world, ann).await;
        }
        let start = Instant::now();
        wants_to_unlock(ann, &mut model, "porch").await;
        assert_contains(&json!(answer(ann, "porch", PIN).await), "PINs are refused for another");
        // With 50 of 60 seconds served.
        sleep(Duration::from_secs(50).saturating_sub(start.elapsed())).await;
        restarts(world, ann).await;
        sleep(Duration::from_secs(20)).await;
        wants_to_unlock(ann, &mut model, "porch").await;
        assert_contains(&json!(answer(ann, "porch", PIN).await), "PINs are refused for another");
        sleep(Duration::from_secs(45)).await;
        assert_eq!(answer(ann, "porch", PIN).await, "Thank you.");
        model.serves(stop("Done.")).await;
        assert_eq!(door(home), "unlocked");
    });
}

/// Whoever may set the PIN need not guess it.
#[test]
fn a_new_pin_ends_the_lock_out() {
    at_home(async |world, home, ann| {
        let mut model = world.model().await;
        let mut console = world.console();
        for set_at_console in [false, true] {
            ann.sets("gate.pin", json!(PIN)).await;
            let id = wants_to_unlock(ann, &mut model, "porch").await;
            for guess in ["0001", "0002", "0003"] {
                answer(ann, "porch", guess).await;
            }
            assert_contains(&json!(answer(ann, "porch", PIN).await), "PINs are refused");
            match set_at_console {
                true => drop(console.types("set gate.pin 5822").await),
                false => drop(ann.sets("gate.pin", json!("5822")).await),
            }
            assert_eq!(answer(ann, "porch", PIN).await, WRONG);
            assert_eq!(answer(ann, "porch", "5822").await, "Thank you.");
            model.serves(stop("Done.")).await;
            ann.reply().await;
            assert_eq!(door(home), "unlocked");
            ann.asks("device/set", json!({ "device": "Front Door", "action": "lock" })).await;
            let late = ann.asks("approve", json!({ "id": id, "allow": true })).await;
            assert_refused(&late, "not_found", "");
        }
    });
}

/// Restarts the hub, and forgets what came before.
async fn restarts(world: &World, person: &mut Client) {
    world.restarts_the_hub().await;
    person.waits_for_the_hub().await;
    while person.next(Duration::from_secs(2)).await.is_some() {}
}

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A satellite that does nothing but guess: in as many approvals and conversations as it likes, across restarts, and without
/// ever waiting longer than it has to. It is the same for every kind of guess whether it says the PIN or something else.
#[test]
fn a_hostile_satellite_guesses_for_hours() {
    at_home(async |world, home, ann| {
        let mut model = world.model().await;
        ann.sets("gate.pin", json!(PIN)).await;
        let mut numbers = Numbers(11);
        let start = Instant::now();
        let (mut compared, mut refused) = (Vec::new(), 0);
        let mut next = 0u32;
        while start.elapsed() < Duration::from_secs(6 * 3600) {
            let conversation = ["porch", "attic", "hall"][numbers.below(3) as usize];
            let id = wants_to_unlock(ann, &mut model, conversation).await;
            let mut is_restarted = false;
            for _ in 0..numbers.below(12) {
                // Every number but the PIN, in every way to say it.
                next += 1;
                let guess = format!("{:04}", if next == 4711 { 0 } else { next % 10_000 });
                let text = match numbers.below(3) {
                    0 => guess.clone(),
                    1 => guess.chars().map(|digit| format!("{digit} ")).collect(),
                    _ => format!("the PIN is {guess}"),
                };
                let heard = answer(ann, conversation, &text).await;
                match heard.contains("That is not the PIN") {
                    true => compared.push(start.elapsed()),
                    false => {
                        assert!(heard.contains("PINs are refused for another"), "{heard}");
                        // Not even the right one.
                        assert!(
                            answer(ann, conversation, PIN).await.contains("PINs are refused for another")
                        );
                        refused += 1;
                    }
                }
                if numbers.below(20) == 0 {
                    restarts(world, ann).await;
                    is_restarted = true;
                    break;
                }
            }
            match is_restarted {
                true => {}
                false if numbers.below(2) == 0 => ends(ann, &mut model, id).await,
                false => {
                    ann.asks("cancel", json!({ "conversation": conversation })).await;
                    ann.reply().await;
                }
            }
            sleep(Duration::from_secs(numbers.below(600))).await;
        }
        let in_hour = |hour: u64| {
            let is_in = |at: &&Duration| at.as_secs() / 3600 == hour;
            compared.iter().filter(is_in).count()
        };
        let hours: Vec<_> = (0..6).map(in_hour).collect();
        assert!(refused > 30, "{refused}");
        assert!(hours[0] <= 8, "guesses compared in the first hour: {hours:?}");
        assert!(hours[1..].iter().all(|count| *count <= 1), "guesses compared in each hour: {hours:?}");
        assert_eq!((door(home).as_str(), home.record().calls().len()), ("locked", 0));
    });
}
