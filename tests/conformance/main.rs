//! What the hub may expect of any MQTT 5 broker, checked against the simulator's and against mosquitto.
//!
//! In each check the same two clients meet as in the field: minimq, which runs on the hub, and an unrelated
//! client as its peer. A check that passes with mosquitto and fails with the embedded broker is a fault of
//! the latter. The peer always comes over TCP; the hub's side over TCP, or in memory as in the simulator.
//!
//! Every test has a broker of its own, so they run at once, and next to another run of the same suite. They
//! wait for events, never for a guess of how long something takes; that nothing happens is shown by
//! something later that does.

mod broker;
mod checks;
mod device;
mod embedded;
mod peer;

use std::time::Duration;

use broker::Subject;
use support::{PATIENCE, unique};

/// How long a whole check may take.
const GREAT_PATIENCE: Duration = Duration::from_secs(120);

fn run(subject: Subject, check: impl AsyncFnOnce(Subject)) {
    let in_time = async { tokio::time::timeout(GREAT_PATIENCE, check(subject)).await };
    world::in_real_time(in_time).expect("the check did not come to an end");
}

/// Makes a test of each check for each broker.
macro_rules! conformance {
    ($($noun:ident::$check:ident,)*) => {
        mod embedded_over_tcp {
            $(#[test]
            fn $check() {
                crate::run(crate::Subject::EmbeddedOverTcp, crate::checks::$noun::$check);
            })*
        }
        mod embedded_in_memory {
            $(#[test]
            fn $check() {
                crate::run(crate::Subject::EmbeddedInMemory, crate::checks::$noun::$check);
            })*
        }
        mod mosquitto {
            $(#[test]
            #[ignore = "needs mosquitto; ./tests/run runs it"]
            fn $check() {
                crate::run(crate::Subject::Mosquitto, crate::checks::$noun::$check);
            })*
        }
    };
}

conformance! {
    delivery::every_quality_reaches_the_peer_once_and_in_order,
    delivery::every_quality_reaches_the_device_once_and_in_order,
    delivery::the_subscription_caps_the_quality,
    delivery::a_burst_reaches_the_device_in_order,
    delivery::a_burst_reaches_the_peer_in_order,
    delivery::large_messages_go_both_ways,
    delivery::what_the_device_cannot_take_is_left_out,
    delivery::the_device_learns_what_the_broker_cannot_take,
    retained::a_retained_message_waits_for_subscribers,
    retained::the_last_retained_message_counts_and_an_empty_one_clears_it,
    retained::the_retain_flag_is_kept_on_request,
    retained::retained_messages_are_sent_on_request,
    retained::an_expired_retained_message_is_gone,
    will::a_lost_device_leaves_its_will,
    will::a_lost_device_with_a_session_leaves_its_will_at_once,
    will::a_proper_goodbye_takes_the_will_back,
    will::a_will_is_delayed,
    will::a_client_that_returns_takes_its_delayed_will_back,
    will::a_silent_device_is_given_up_and_a_pinging_one_is_not,
    session::a_new_session_is_new,
    session::a_session_waits_for_its_device,
    session::what_the_device_did_not_see_comes_again,
    session::what_the_device_sent_again_arrives_once,
    session::a_session_ends_when_its_time_is_over,
    session::a_session_without_expiry_ends_with_its_connection,
    session::an_expired_message_does_not_wait_on,
    session::a_second_connection_replaces_the_first,
    session::a_device_without_a_name_gets_one,
    session::only_a_login_opens_the_door,
    subscription::wildcards_match_levels,
    subscription::leading_wildcards_do_not_match_dollar_topics,
    subscription::an_unsubscribed_topic_is_silent,
    subscription::a_client_can_be_spared_its_own_messages,
    subscription::subscriptions_are_identified,
    subscription::a_group_shares_its_messages,
    subscription::the_rest_of_a_group_takes_over,
    property::a_request_carries_where_to_reply,
    property::properties_arrive_unchanged,
}
