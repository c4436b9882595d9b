//! Completes the first word of a line: a command, a tool, a prompt.

use std::time::Duration;

use host_sim::hub::Settings;
use host_sim::network::Network;
use hub_core::chat::prompts::PROMPTS;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::line;

/// How long the hub may take to say which tools there are, while somebody waits.
const PATIENCE: Duration = Duration::from_secs(2);

/// Everything that a line can begin with.
pub(crate) struct Names {
    /// What the simulator itself understands.
    pub(crate) commands: &'static [&'static str],
    pub(crate) network: Network,
    pub(crate) settings: Settings,
    /// The hub runs in another thread than the editor.
    pub(crate) runtime: Handle,
}

impl Completer for Names {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = line.get(..at).unwrap_or_default();
        if begun.contains(char::is_whitespace) {
            return Ok((at, Vec::new()));
        }
        let asking =
            async { timeout(PATIENCE, line::names(self.network.clone(), &self.settings)).await.ok()?.ok() };
        let listed = self.runtime.block_on(asking).unwrap_or_default();
        let mut names: Vec<String> = self.commands.iter().map(|command| (*command).to_owned()).collect();
        names.extend(PROMPTS.iter().map(|prompt| format!("@{}", prompt.name)));
        names.extend(line::own_names(&listed).map(str::to_owned));
        names.extend(listed);
        names.retain(|name| name.starts_with(begun));
        names.sort();
        names.dedup();
        Ok((0, names))
    }
}

impl Helper for Names {}
impl Highlighter for Names {}
impl Hinter for Names {
    type Hint = String;
}
impl Validator for Names {}
