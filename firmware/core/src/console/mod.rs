//! The console on the serial port of people, and Improv beside it.

pub mod command;
pub mod improv;
pub mod input;
pub mod nearest;
pub mod screen;

#[cfg(test)]
mod tests;
