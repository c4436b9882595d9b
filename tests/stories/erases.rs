//! The store erases pages of its flash, which stops a board, while the controller is being called.

use world::prelude::*;

/// A document that takes most of a page.
fn document(number: usize) -> Value {
    json!({ "name": "list", "category": "home", "text": format!("{number} {}", "d".repeat(2900)) })
}

/// Puts documents until each of them takes the place of an older one: from then on every one needs an erased page.
async fn fills_the_flash(world: &World, person: &mut Client) {
    for number in 0..40 {
        let before = world.stop.erases();
        puts(person, number).await;
        if number > 20 {
            assert!(world.stop.erases() > before, "document {number} needed no erased page");
        }
    }
}

async fn puts(person: &mut Client, number: usize) {
    let reply = person.asks("content/put", document(number)).await;
    assert_eq!(reply["success"], true, "{reply}");
}

/// Answers everything, each time after another pause, with more than a receiver has room for.
async fn serves_for_ever(mut controller: Controller) -> ! {
    let mut pause = 7;
    loop {
        let request = controller.hears().await;
        pause = (pause * 31 + 11) % 97;
        sleep(Duration::from_millis(pause)).await;
        match request["method"].as_str() {
            Some("tools/call") => {
                let text = format!("{} {}", request["params"]["arguments"]["number"], "a".repeat(400));
                controller.replies(&request, &text).await;
            }
            Some("ping") => controller.answers(&request, json!({})).await,
            _ => {}
        }
    }
}

#[test]
fn writing_the_store_in_a_burst_of_calls_loses_none() {
    Setup::new().slow_flash().story(async |world| {
        let (controller, mut ann) = world.connected_with(json!([a_tool("ask")])).await;
        let (mut ben, mut cleo) = (world.person("ben").await, world.person("cleo").await);
        fills_the_flash(world, &mut cleo).await;
        let before = world.stop.erases();
        const CALLS: usize = 150;
        let calls = async |person: &mut Client| {
            for number in 0..CALLS {
                let request = json!({ "name": "ask", "arguments": { "number": number } });
                let reply = person.asks_with_response_topic("tool/call", request).await;
                let text = reply["result"].as_str().unwrap_or_else(|| panic!("call {number}: {reply}"));
                assert!(text.starts_with(&format!("{number} a")), "{reply}");
            }
        };
        let writes = async {
            let mut longest = Duration::ZERO;
            for number in 0..60 {
                let start = Instant::now();
                puts(&mut cleo, number).await;
                longest = longest.max(start.elapsed());
            }
            longest
        };
        let all = async { tokio::join!(calls(&mut ann), calls(&mut ben), writes) };
        let ((), (), longest) = tokio::select! {
            never = serves_for_ever(controller) => never,
            done = all => done,
        };
        assert!(world.stop.erases() - before >= 60, "{}", world.stop.erases() - before);
        assert_eq!(world.stop.lost(), 0, "bytes were lost");
        assert!(longest < Duration::from_secs(2), "the store waited for {longest:?}");
        assert_not_logged("not JSON-RPC");
        assert_not_logged("erased although");
    });
}

#[test]
fn a_call_that_an_erase_holds_back_has_all_its_time() {
    Setup::new().slow_flash().story(async |world| {
        let (mut controller, mut ann) = world.connected_with(json!([a_tool("ask")])).await;
        let (mut ben, mut cleo) = (world.person("ben").await, world.person("cleo").await);
        fills_the_flash(world, &mut cleo).await;
        ann.calls("ask", json!({ "number": 1 }));
        let open = controller.hears_call().await;
        sleep(Duration::from_secs(10)).await;
        // Cleo's document needs a page, which has to wait for Ann's call; Ben's call has to wait for the page.
        let start = Instant::now();
        cleo.sends("content/put", document(100));
        sleep(Duration::from_secs(1)).await;
        ben.calls("ask", json!({ "number": 2 }));
        let erases = world.stop.erases();
        let late = loop {
            let message = controller.hears().await;
            match message["method"].as_str() {
                Some("tools/call") => break message,
                Some("ping") => controller.answers(&message, json!({})).await,
                _ => {}
            }
        };
        assert!(
            start.elapsed() >= Duration::from_secs(20),
            "{:?}: an erase with an open call",
            start.elapsed()
        );
        assert!(world.stop.erases() > erases);
        assert_eq!(late["params"]["arguments"]["number"], 2);
        assert_refused(&ann.result().await, "timeout", "did not answer within 30 s");
        sleep(Duration::from_secs(25)).await;
        controller.replies(&open, "far too late").await;
        controller.replies(&late, "in time").await;
        let reply = ben.result().await;
        let reply = if reply["success"] == true { reply } else { ben.result().await };
        assert_eq!(reply["result"], "in time", "{reply}");
        assert_eq!(cleo.gets("content/put").await["success"], true);
    });
}

#[test]
fn an_erase_does_not_wait_for_a_controller_that_is_away() {
    Setup::new().slow_flash().story(async |world| {
        let mut cleo = world.person("cleo").await;
        fills_the_flash(world, &mut cleo).await;
        for number in 0..20 {
            let start = Instant::now();
            puts(&mut cleo, number).await;
            assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
            sleep(Duration::from_secs(1)).await;
        }
    });
}

#[test]
fn pings_and_erases_do_not_disturb_each_other() {
    Setup::new().slow_flash().story(async |world| {
        let (controller, mut cleo) = world.connected_with(json!([a_tool("ask")])).await;
        let all_day = async {
            for number in 0..2000 {
                puts(&mut cleo, number).await;
                sleep(Duration::from_millis(997)).await;
            }
        };
        tokio::select! {
            never = serves_for_ever(controller) => never,
            () = all_day => {}
        }
        assert!(world.stop.erases() > 1000);
        assert_not_logged("controller: lost");
    });
}
