//! A logger that formats everything and discards it.

use std::fmt::Write;

use log::{LevelFilter, Log, Metadata, Record};

struct Unread;

impl Log for Unread {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let mut line = String::new();
        write!(line, "{}", record.args()).expect("a line that can be written");
    }

    fn flush(&self) {}
}

/// Installs the logger, so that the code that formats is fuzzed too.
pub fn keep() {
    log::set_logger(&Unread).expect("the only logger");
    log::set_max_level(LevelFilter::Trace);
}
