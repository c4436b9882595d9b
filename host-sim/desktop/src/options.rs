//! Command lines.
//!
//! [`lexopt`] splits arguments. What is one program's own is in its file; here is what all of them have in common.

use std::ffi::OsString;

use lexopt::prelude::*;

/// A parsed command line.
#[derive(Debug, PartialEq)]
pub enum Parsed<T> {
    /// To run with these options.
    Run(T),
    /// To print a text and end.
    Print(String),
}

impl<T> Parsed<T> {
    /// The options to run with. If there are none to run with, prints why, and ends the process.
    pub fn or_exit(parsed: Result<Self, lexopt::Error>, program: &str) -> T {
        match parsed {
            Ok(Self::Run(options)) => options,
            Ok(Self::Print(text)) => {
                println!("{text}");
                std::process::exit(0)
            }
            Err(error) => {
                eprintln!("{program}: {error}\n{program}: try `cargo {program} --help`");
                std::process::exit(2)
            }
        }
    }
}

/// Reads arguments, the program's own name left out. `option` is called with the name of each long option; it takes the
/// value from the parser, and returns whether there is such an option. Returns the text to print if help or the version is
/// asked for.
pub fn read(
    arguments: impl IntoIterator<Item = OsString>,
    help: &str,
    mut option: impl FnMut(&str, &mut lexopt::Parser) -> Result<bool, lexopt::Error>,
) -> Result<Option<String>, lexopt::Error> {
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("help") | Short('h') => return Ok(Some(help.into())),
            Long("version") | Short('V') => {
                return Ok(Some(format!("hearthwave {}", env!("CARGO_PKG_VERSION"))));
            }
            Long(name) => {
                let name = name.to_owned();
                if !option(&name, &mut parser)? {
                    return Err(Long(&name).unexpected());
                }
            }
            other => return Err(other.unexpected()),
        }
    }
    Ok(None)
}

/// The value of the option `name`. Unlike lexopt's own, the error never shows the value: a password may be in it.
pub fn value<T>(
    parser: &mut lexopt::Parser,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, lexopt::Error> {
    let text = parser.value()?.string()?;
    parse(&text).map_err(|error| format!("--{name}: {error}").into())
}

/// The broker's login from the environment, where `variable` looks up a name.
pub fn login(variable: impl Fn(&str) -> Option<String>) -> Option<(String, String)> {
    let user = variable("HEARTHWAVE_BROKER_USER").filter(|user| !user.is_empty())?;
    Some((user, variable("HEARTHWAVE_BROKER_PASSWORD").unwrap_or_default()))
}

/// Looks up a variable of this process's environment.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
