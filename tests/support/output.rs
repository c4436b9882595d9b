//! What a program says.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex};

use crate::wait_for;

/// All lines of a program so far.
#[derive(Clone)]
pub struct Output(Arc<Mutex<String>>);

impl Output {
    /// Listens in the background until the program ends.
    pub fn of(stream: impl Read + Send + 'static) -> Self {
        let output = Self(Arc::default());
        let copy = output.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let mut text = copy.0.lock().expect("whole");
                text.push_str(&line);
                text.push('\n');
            }
        });
        output
    }

    pub fn text(&self) -> String {
        self.0.lock().expect("whole").clone()
    }

    /// Waits until it has said so.
    pub fn has(&self, words: &str) {
        wait_for(words, || self.text().contains(words));
    }
}
