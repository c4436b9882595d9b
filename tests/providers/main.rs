//! Everything that the providers of language models are known to answer, through relay and broker to a hub.
//!
//! The exchanges are in the JSON files beside this one, which `support::exchange` explains.

mod world;

use support::exchange::{Said, providers};
use support::{sdk, search};

use crate::world::story;

/// The providers, and what is switched on in the home in the course of their exchanges.
const ALL: [(&str, &str); 3] =
    [("anthropic", "Kitchen Light"), ("openai", "Porch Light"), ("ollama", "Coffee Machine")];

/// Plays all exchanges of a provider. Each takes as long as it takes, in virtual time.
fn plays((service, device): (&str, &str)) -> Said {
    let mut said = Said::default();
    let provider = providers().into_iter().find(|provider| provider.service == service).expect(service);
    story(false, async |world| {
        world.sets_rule(&provider).await;
        for exchange in provider.exchanges() {
            let ask = async |name, request| world.ask(name, request).await;
            said.0.append(&mut exchange.play(&world.server, ask, true).await.0);
        }
        assert_eq!(world.home.device(device).expect(device).state.to_string(), "on");
    });
    said
}

/// spec: reply-04, reply-13, reply-16, reply-19, reply-20, reply-25, reply-26, reply-27, reply-29
#[test]
fn anthropic() {
    plays(ALL[0]);
}

/// spec: reply-04, reply-13, reply-15, reply-16, reply-17, reply-18, reply-19, reply-20, reply-25, reply-26, reply-27, reply-29
#[test]
fn openai() {
    plays(ALL[1]);
}

/// spec: reply-04, reply-13, reply-16, reply-19, reply-20, reply-25, reply-26, reply-27, reply-29
#[test]
fn ollama() {
    plays(ALL[2]);
}

#[test]
#[ignore = "needs a Python with the providers' SDKs; ./tests/run runs it"]
fn what_is_said_is_as_the_providers_own_sdks_know_it() {
    let said = ALL.map(|provider| plays(provider).0).concat();
    sdk::check(&Said(said));
}

#[test]
fn searches_go_through_the_relay_and_come_back() {
    story(true, async |world| {
        for provider in providers() {
            world.sets_rule(&provider).await;
        }
        search::plays(&world.server, async |name, request| world.ask(name, request).await.0).await;
    });
}

#[test]
fn without_a_search_service_the_caller_is_told_so() {
    story(false, async |world| {
        search::plays_without_a_service(async |name, request| world.ask(name, request).await.0).await;
        assert!(world.server.seen().is_empty());
    });
}
