//! The command line of `cargo sim`.

mod config;
mod llm;
pub mod sim;

use host_desktop::options::{Parsed, environment, login, read};

pub use llm::Llm;
