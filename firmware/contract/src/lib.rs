//! Names that programs around the hub share with it: the relay, the Z-Wave service and the simulator.
//!
//! They are part of the hub's interface. A change breaks clients, so `docs/` describes each of them.
#![no_std]
#![forbid(unsafe_code)]

use core::fmt::Display;

use heapless::String;
use hub_json::text::abbreviate;

/// The beginning of every topic of a hub. The hub's id follows.
pub const ROOT: &str = "hearthwave/";

/// Where relays publish whether one of them is online.
pub const RELAY_AVAILABILITY: &str = "hearthwave/relay/availability";

/// The URI of a device that the controller offers is its id after this prefix.
pub const DEVICE_URI: &str = "home://devices/";

/// The baud rate of the controller's serial line, unless set otherwise.
pub const DEFAULT_BAUD_TEXT: &str = "115200";

/// [`DEFAULT_BAUD_TEXT`] as a number.
pub const DEFAULT_BAUD: u32 = match u32::from_str_radix(DEFAULT_BAUD_TEXT, 10) {
    Ok(baud) => baud,
    Err(_) => 0,
};

/// Words that people add to the name of a device, or leave out.
pub const FILLERS: [&str; 9] = ["the", "a", "an", "my", "our", "in", "of", "at", "on"];

/// The conversation of requests that name neither a conversation nor a satellite.
pub const DEFAULT_CONVERSATION: &str = "default";

/// Most bytes in the name of a conversation.
pub const CONVERSATION: usize = 48;

/// The name of a conversation.
pub type ConversationId = String<CONVERSATION>;

/// The conversation of a request that names none, by the satellite that it comes from. People who speak from one place
/// continue the same conversation.
pub fn conversation_of(satellite: Option<&dyn Display>) -> ConversationId {
    let name: ConversationId = abbreviate(satellite.unwrap_or(&DEFAULT_CONVERSATION));
    if name.is_empty() { abbreviate(&DEFAULT_CONVERSATION) } else { name }
}
