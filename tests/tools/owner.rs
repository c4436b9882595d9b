//! Somebody who has a hub and asks it things.

use host_zwave::Home;
use world::prelude::*;

/// A hub with a simulated home.
pub fn a_hub() -> Setup {
    Setup::new().home(&Home::default())
}

/// The result of a call that has to succeed.
pub async fn succeeds(owner: &mut Client, tool: &str, arguments: Value) -> Value {
    let reply = owner.uses(tool, arguments).await;
    assert_eq!(reply["success"], true, "{reply}");
    reply["result"].clone()
}
