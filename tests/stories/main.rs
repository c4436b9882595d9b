//! Stories of one whole hub, or of many, in virtual time: a broker, a controller and people around it.

mod calls;
mod chat;
mod discovery;
mod faults;
mod link;
mod losses;
mod mqtt;
mod questions;
mod requests;
mod rules;
mod search;
mod speech;
mod turns;
