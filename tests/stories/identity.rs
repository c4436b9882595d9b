//! Who the hub is and where it connects: settings that replace what the firmware was built with.

use world::prelude::*;

#[test]
fn a_hub_that_was_given_another_id_and_name_has_them_after_a_restart() {
    story(async |world| {
        let mut owner = world.person("owner").await;
        owner.sets("hub.id", json!("kitchen")).await;
        owner.sets("hub.name", json!("The hub in the kitchen")).await;
        assert_eq!(
            owner.asks("config/get", json!({ "key": "hub.id" })).await["settings"]["hub.id"],
            "kitchen"
        );
        let mut guest = world.client("guest", &["hearthwave/kitchen/#"]).await;
        world.restarts_the_hub().await;
        while guest.hears_at("hearthwave/kitchen/availability").await.payload != b"online" {}
        let info = guest.hears_at("hearthwave/kitchen/info").await.json();
        assert_eq!(info["name"], "The hub in the kitchen");
        while owner.hears("availability").await.payload != b"offline" {}
    });
}

#[test]
fn a_login_that_was_set_is_used_after_a_restart_and_never_shown() {
    story(async |world| {
        let mut owner = world.person("owner").await;
        owner.sets("broker.user", json!("ann")).await;
        owner.sets("broker.password", json!("a secret of hers")).await;
        let shown = owner.asks("config/get", json!({})).await;
        assert_eq!(shown["settings"]["broker.user"], "ann");
        assert_eq!(shown["settings"]["broker.password"], "***");
        let sends_password = || {
            let dials = world.wire.dials.borrow();
            let sent = dials.last().map(|dialled| dialled.sent.clone()).unwrap_or_default();
            sent.windows(16).any(|bytes| bytes == b"a secret of hers")
        };
        assert!(!sends_password(), "not before the restart");
        world.restarts_the_hub().await;
        owner.sees_online().await;
        assert!(sends_password());
        assert_not_logged("a secret of hers");
    });
}
