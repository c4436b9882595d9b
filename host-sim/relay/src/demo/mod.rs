//! A demo model: a small grammar that stands in for a language model, without a network, the same every time.
//!
//! It reads a request in the format of any of the services, and answers in that format. It parses what the person said
//! last into intents, and calls the tools that the request offers for them; once their results are in the messages, it puts
//! them into a sentence or two.
//!
//! ```text
//!   body ──format──► conversation ──grammar──► intents ──plan──► calls, or ──speech──► words ──format──► body
//! ```
//!
//! It keeps nothing between two requests: what it did before is in the messages. So each time it plans the same calls, and
//! makes those that have not been made yet.

mod conversation;
mod devices;
mod explain;
mod format;
mod grammar;
mod offer;
mod plan;
mod report;
mod speech;

#[cfg(test)]
mod tests;

pub use devices::HOME;

use conversation::{Conversation, Reply};
use format::Format as _;
use hub_mqtt::model::Provider;
use plan::Plan;

/// Rounds of calls after which it says what it has: a plan takes two.
const ROUNDS: usize = 4;
/// Calls in one round: a hub ignores more.
const CALLS: usize = 8;

/// Its answer to who it is.
const SELF: &str = "I am the demo model of Hearthwave: a small grammar, not a language model. I understand lights, locks, \
                    heating, scenes, batteries, time, sums, volume and flags. Try: turn off all lights but the hall light, make it warmer, \
                    or what is open? For a real model, start cargo sim with --llm \
                    anthropic:MODEL, or cargo relay with its key in the environment.";

/// Its answer to what it does not understand.
const NOT_UNDERSTOOD: &str = "I am only a demo and did not understand that. Try: turn on the kitchen light, is the front door locked? \
                    or what is 12% of 80? For a real model, start cargo sim with --llm anthropic:MODEL, or cargo relay with \
                    its key in the environment.";

/// Answers the body of a request with the body of a reply, both in the format of a service.
///
/// Fails, in words for a person, if the body is not a request in that format.
pub fn answer(service: Provider, body: &[u8]) -> Result<Vec<u8>, String> {
    let conversation = service.read(body)?;
    let reply = decide(&conversation);
    Ok(service.write(&conversation, &reply))
}

fn decide(conversation: &Conversation) -> Reply {
    let understood = grammar::read(&conversation.question, &conversation.before);
    let known = devices::known(conversation);
    let mut due = Vec::new();
    let mut words = Vec::new();
    for intent in &understood.intents {
        match plan::plan(intent, &known, conversation) {
            Plan::Say(text) => words.push(text),
            Plan::Missing(text) => {
                // A hub whose buffer gets full offers fewer tools from round to round. What was done counts all the same.
                let made = conversation.calls_now().filter(|made| made.result.is_some()).last();
                let made =
                    made.filter(|made| understood.intents.len() == 1 && intent.is_served_by(&made.call.name));
                match made.and_then(|made| made.result.as_ref()) {
                    Some(last) => words.extend(speech::of(intent, &[last])),
                    None => words.push(text),
                }
            }
            Plan::Calls(calls) => {
                let done: Vec<_> = calls.iter().filter_map(|call| conversation.result_of(call)).collect();
                let open = calls.iter().filter(|call| !conversation.was_made(call));
                due.extend(open.cloned());
                words.extend(speech::of(intent, &done));
            }
        }
    }
    due.dedup();
    due.truncate(CALLS);
    if !due.is_empty() && conversation.rounds < ROUNDS {
        return Reply::Calls(due);
    }
    if understood.intents.is_empty() {
        return Reply::Words(NOT_UNDERSTOOD.into());
    }
    words.extend(understood.rest.iter().map(|rest| format!("I did not understand '{rest}'")));
    Reply::Words(speech::join(&words))
}
