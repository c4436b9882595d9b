//! The programs' log on stderr: stdout is for results.

use std::io::Write as _;

use env_logger::{Builder, Env, Target};

/// Starts the log with this level, unless RUST_LOG names another. `prompt` is what a person types after while they are at
/// the terminal: a line of the log goes before it.
pub fn start_log(level: &str, has_time: bool, prompt: Option<fn() -> Option<&'static str>>) {
    Builder::from_env(Env::default().default_filter_or(level))
        .format(move |out, record| {
            let prompt = prompt.and_then(|prompt| prompt());
            if prompt.is_some() {
                write!(out, "\r\x1b[K")?;
            }
            if has_time {
                write!(out, "{} ", out.timestamp_seconds())?;
            }
            let style = out.default_level_style(record.level());
            writeln!(out, "{style}{:5}{style:#} {}", record.level(), record.args())?;
            write!(out, "{}", prompt.unwrap_or_default())
        })
        .target(Target::Stderr)
        .init();
}
