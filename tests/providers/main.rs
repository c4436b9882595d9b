//! Everything that the providers of language models are known to answer, through relay and broker to a hub.
//!
//! The exchanges are in the JSON files beside this one, which `support::exchange` explains.

use host_relay::SearchUrl;
use host_zwave::Home;
use support::exchange::{Provider, Said, providers};
use support::server::Server;
use support::{sdk, search};
use tokio::time::Instant;
use world::relay::SERVER;
use world::{Setup, World};

/// The providers, and the devices that their exchanges switch on.
const ALL: [(&str, &str); 3] =
    [("anthropic", "Kitchen Light"), ("openai", "Porch Light"), ("ollama", "Coffee Machine")];

/// Tells a story of a hub, a home, and a relay that has `server` for everything.
fn story(server: &Server, home: &Home, searches: bool, tell: impl AsyncFnOnce(&World)) {
    let mut relay = world::relay::settings(server);
    let url = format!("{SERVER}{}", search::PATH);
    relay.search = searches.then(|| SearchUrl::new(&url).expect("an address"));
    Setup::new().home(home).relay(relay).story(async |world| {
        world.waits_until_ready().await;
        tell(world).await;
    });
}

/// Sets the provider's rule.
async fn set_rule(world: &World, provider: &Provider) {
    let reply = world.ask("config/set", provider.rule()).await;
    assert_eq!(reply["success"], true, "{reply}");
}

/// Plays all exchanges of a provider. Each takes as long as it takes, in virtual time.
fn plays((service, device): (&str, &str)) -> Said {
    let mut said = Said::default();
    let provider = providers().into_iter().find(|provider| provider.service == service).expect(service);
    let (server, home) = (Server::default(), Home::fast(7));
    story(&server, &home, false, async |world| {
        set_rule(world, &provider).await;
        for exchange in provider.exchanges() {
            let ask = async |name, request| {
                let start = Instant::now();
                (world.ask(name, request).await, start.elapsed())
            };
            said.0.append(&mut exchange.play(&server, ask, true).await.0);
        }
        assert_eq!(home.device(device).expect(device).state.to_string(), "on");
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
    let server = Server::default();
    story(&server, &Home::fast(7), true, async |world| {
        for provider in providers() {
            set_rule(world, &provider).await;
        }
        search::plays(&server, async |name, request| world.ask(name, request).await).await;
    });
}

#[test]
fn without_a_search_service_the_caller_is_told_so() {
    let server = Server::default();
    story(&server, &Home::fast(7), false, async |world| {
        search::plays_without_a_service(async |name, request| world.ask(name, request).await).await;
        assert!(server.seen().is_empty());
    });
}
