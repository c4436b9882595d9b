//! Stories of one whole hub, or of many, in virtual time: a broker, a controller and people around it.

mod calls;
mod chat;
mod faults;
mod link;
mod mqtt;
mod requests;
mod search;
mod world;
