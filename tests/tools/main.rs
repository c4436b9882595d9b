//! Tools from their declaration to the result of a call, in virtual time.

mod bench;
mod calls;
mod definitions;
mod examples;
mod memory;
mod names;
mod over_mqtt;
mod owner;
mod pages;
mod prompts;
