//! Thousands of calls over a faulty line: every call gets one answer, and nothing is done twice.

use std::collections::{BTreeMap, HashMap};

use host_zwave::{Fault, Home};
use hub_core::limits;
use world::prelude::*;

/// How many calls a story makes.
const CALLS: usize = 10_000;

/// The probability of each fault, per line.
const RATES: [(Fault, f64); 10] = [
    (Fault::Silence, 0.01),
    (Fault::Deafness, 0.005),
    (Fault::Slowness, 0.02),
    (Fault::Garbage, 0.05),
    (Fault::Reset, 0.004),
    (Fault::HalfLine, 0.01),
    (Fault::WrongId, 0.05),
    (Fault::Duplicate, 0.05),
    (Fault::LongLine, 0.01),
    (Fault::Closed, 0.002),
];

/// The setpoint of call `number`: each time another one, so that calls can be told apart at the far end.
fn setpoint(number: usize) -> f64 {
    5.0 + number as f64 / 500.0
}

#[test]
fn ten_thousand_calls_over_a_bad_line_are_each_answered_once_and_done_at_most_once() {
    let home = Home::fast(11);
    let answers = Setup::new().home(&home).seed(5).story(async |world| {
        let mut person = world.person("ann").await;
        person.sees_link("ready").await;
        for (fault, rate) in RATES {
            home.faults().set(fault, rate);
        }
        let mut answers: HashMap<usize, Vec<Value>> = HashMap::new();
        let mut asked = 0;
        let mut answered = 0;
        while answered < CALLS {
            while asked < CALLS && asked - answered < limits::JOBS - 1 {
                let arguments =
                    json!({ "device_name": "living room thermostat", "setpoint": setpoint(asked) });
                let call = json!({ "name": "set_thermostat", "arguments": arguments, "transaction": asked });
                person.publish(person.request("tool/call", call.to_string()).reply_to("reply/calls"));
                asked += 1;
            }
            let reply = person.hears_at("reply/calls").await.json();
            let number = reply["transaction"].as_u64().unwrap_or_else(|| panic!("whose is {reply}")) as usize;
            if matches!(reply["error_type"].as_str(), Some("not_found" | "unavailable")) {
                // The controller is not reached; a person would wait, too.
                sleep(Duration::from_millis(500)).await;
            }
            answers.entry(number).or_default().push(reply);
            answered += 1;
        }
        home.faults().clear();
        // Late answers have arrived by now.
        let late = person.hears_all_at("reply/calls").await;
        assert!(late.is_empty(), "{} answers too many", late.len());
        answers
    });

    assert_eq!(answers.len(), CALLS, "everybody was answered");
    assert!(answers.values().all(|replies| replies.len() == 1), "somebody was answered twice");
    let numbers: HashMap<_, _> = (0..CALLS).map(|number| (setpoint(number).to_bits(), number)).collect();
    let mut done: BTreeMap<usize, usize> = BTreeMap::new();
    for call in home.record().calls().iter().filter(|call| call.tool == "set_thermostat") {
        let arguments = call.arguments.as_ref().expect("arguments");
        let number = numbers[&arguments["setpoint"].as_f64().expect("a number").to_bits()];
        *done.entry(number).or_default() += 1;
    }
    let twice: Vec<_> = done.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "reached the controller twice: {twice:?}");
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, replies) in &answers {
        let reply = &replies[0];
        let kind =
            if reply["success"] == true { "success" } else { reply["error_type"].as_str().expect("a type") };
        *kinds.entry(kind).or_default() += 1;
        let was_sent = done.contains_key(number);
        match kind {
            "success" => {
                assert!(was_sent, "{number} was not done: {reply}");
                // It is the answer to this call, and not to another.
                assert_eq!(reply["result"]["state"]["setpoint"], setpoint(*number), "{number}: {reply}");
            }
            // The error says that nothing was sent.
            "not_found" | "unavailable" => assert!(!was_sent, "{number} was done: {reply}"),
            "timeout" | "outcome_unknown" | "too_large" => {
                assert!(reply["error"].as_str().is_some_and(|words| words.contains("unknown")), "{reply}");
            }
            // The controller's own error.
            "execution_error" => {}
            other => panic!("{other}: {reply}"),
        }
    }
    assert!(kinds["success"] > CALLS / 2, "{kinds:?}");
    for kind in ["timeout", "outcome_unknown", "unavailable"] {
        assert!(kinds.contains_key(kind), "no {kind} among {kinds:?}");
    }
    for (fault, _) in RATES {
        assert!(home.faults().count(fault) > 0, "{fault} never happened");
    }
}
