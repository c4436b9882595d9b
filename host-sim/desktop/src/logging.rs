//! The programs' log on stderr: stdout is for results.

use std::io::{IsTerminal as _, Write};

use env_logger::{Builder, Env, Target, WriteStyle};
use log::LevelFilter;

/// Starts the log with this level, unless RUST_LOG names another. `stderr` stands for stderr, if it is to be written
/// through something.
pub fn start_log(level: &str, has_time: bool, stderr: Option<Box<dyn Write + Send>>) {
    let mut builder = Builder::from_env(Env::default().default_filter_or(level));
    let target = match stderr {
        Some(stderr) => {
            let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            if std::io::stderr().is_terminal() && !is_set("NO_COLOR") && !is_set("RUST_LOG_STYLE") {
                // It cannot tell by itself.
                builder.write_style(WriteStyle::Always);
            }
            Target::Pipe(stderr)
        }
        None => Target::Stderr,
    };
    builder
        // It logs each key, and so would log what it shows of the log.
        .filter_module("rustyline", LevelFilter::Off)
        .format(move |out, record| {
            if has_time {
                write!(out, "{} ", out.timestamp_seconds())?;
            }
            let style = out.default_level_style(record.level());
            writeln!(out, "{style}{:5}{style:#} {}", record.level(), record.args())
        })
        .target(target)
        .init();
}
