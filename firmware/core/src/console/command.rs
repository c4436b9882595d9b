//! The commands of the console, as a table, and what a line means.

use super::nearest::nearest;
use crate::settings::{self, SETTINGS};

/// One command.
pub struct Row {
    /// How it is written. For a hyphen or a space in it, any of both and an underscore will do.
    pub name: &'static str,
    /// What follows it.
    pub arguments: &'static str,
    /// What it does.
    pub purpose: &'static str,
    command: Command,
}

/// What can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Lists the commands.
    Help,
    /// Shows settings.
    Show,
    /// Changes a setting.
    Set,
    /// Resets a setting.
    Unset,
    /// Lists networks.
    Scan,
    /// Tells how the hub is.
    Status,
    /// Shows what people should know.
    Log,
    /// Tests the parts of the hub.
    Selftest,
    /// Restarts the hub.
    Restart,
    /// Forgets everything.
    FactoryReset,
}

const fn row(command: Command, name: &'static str, arguments: &'static str, purpose: &'static str) -> Row {
    Row { name, arguments, purpose, command }
}

/// All commands, in the order in which `help` lists them.
pub static COMMANDS: &[Row] = &[
    row(Command::Help, "help", "", "this list"),
    row(Command::Show, "show", "[KEY]", "the settings, or one of them with what it is for"),
    row(Command::Set, "set", "KEY VALUE", "changes a setting; \"\" is an empty text"),
    row(Command::Unset, "unset", "KEY", "brings back the default of a setting"),
    row(Command::Scan, "wifi scan", "", "the Wi-Fi networks in reach"),
    row(Command::Status, "status", "", "Wi-Fi, broker, controller, time"),
    row(Command::Log, "log", "", "what the hub reported lately"),
    row(Command::Selftest, "selftest", "", "tries each part, and says what to do"),
    row(Command::Restart, "restart", "", "starts the hub again"),
    row(Command::FactoryReset, "factory-reset", "confirm", "forgets settings, flags and documents"),
];

/// Other words that people try.
static ALIASES: &[(&str, Command)] =
    &[("?", Command::Help), ("scan", Command::Scan), ("get", Command::Show), ("reboot", Command::Restart)];

/// What a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning<'a> {
    /// Nothing.
    Blank,
    /// This command, with what follows it.
    Command(Command, &'a str),
    /// No command that is known, but perhaps the second.
    Unknown(&'a str, Option<&'static str>),
}

/// Reads a line. A key alone shows a setting, and one with a value sets it.
pub fn parse(line: &str) -> Meaning<'_> {
    let line = line.trim();
    if line.is_empty() {
        return Meaning::Blank;
    }
    let rows = || COMMANDS.iter().map(|row| (row.name, row.command));
    let all = rows().chain(ALIASES.iter().copied());
    if let Some((command, rest)) =
        all.into_iter().find_map(|(name, command)| Some((command, strip(line, name)?)))
    {
        return Meaning::Command(command, rest);
    }
    let (key, value) = assignment(line);
    if settings::find(key).is_some() || known_key(key).is_some() {
        return Meaning::Command(if value.is_some() { Command::Set } else { Command::Show }, line);
    }
    // People forget the second word, and mistype the first.
    let word = key;
    let commands = COMMANDS.iter().map(|row| row.name);
    Meaning::Unknown(word, nearest(line, commands.clone()).or_else(|| nearest(word, commands)))
}

/// What follows the command of this name, if the line begins with it.
fn strip<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let is_gap = |byte: &u8| matches!(byte, b' ' | b'-' | b'_');
    let mut rest = line.as_bytes();
    for byte in name.bytes() {
        let (first, after) = rest.split_first()?;
        rest = after;
        if is_gap(&byte) {
            if !is_gap(first) {
                return None;
            }
            while let [next, after @ ..] = rest
                && is_gap(next)
            {
                rest = after;
            }
        } else if !first.eq_ignore_ascii_case(&byte) {
            return None;
        }
    }
    let rest = line.get(line.len() - rest.len()..)?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| rest.trim_start())
}

/// A key and a value, with a space or `=` between them. Quotes around the value are not part of it.
pub fn assignment(text: &str) -> (&str, Option<&str>) {
    let end = text.bytes().position(|byte| byte == b' ' || byte == b'=').unwrap_or(text.len());
    let (key, rest) = text.split_at(end);
    let rest = rest.trim_start();
    let value = rest.strip_prefix('=').map_or(rest, str::trim_start).trim_end();
    (unquote(key), (!rest.is_empty()).then(|| unquote(value)))
}

fn unquote(text: &str) -> &str {
    match text.as_bytes() {
        [first @ (b'"' | b'\'' | b'`'), .., last] if first == last => {
            text.get(1..text.len() - 1).unwrap_or(text)
        }
        _ => text,
    }
}

/// The key as it is written in the list of settings, whatever the case of its letters.
pub fn known_key(typed: &str) -> Option<&'static str> {
    SETTINGS.iter().map(|row| row.key).find(|key| key.eq_ignore_ascii_case(typed))
}

/// The key that somebody meant, perhaps.
pub fn nearest_key(typed: &str) -> Option<&'static str> {
    nearest(typed, SETTINGS.iter().map(|row| row.key))
}
