//! The command lines of the programs.

mod config;
mod llm;
pub mod relay;
pub mod sim;

pub use host_desktop::options::{Parsed, environment, login, read, value};

pub use llm::Llm;
