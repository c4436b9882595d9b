//! The lines that were typed before, without secrets: a file beside the hub's state, which only its owner can read.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use host_sim::private;
use hub_core::approval::has_pin_digits;
use rustyline::Editor;
use rustyline::history::FileHistory;

use crate::complete::Names;

/// Words of lines that have a secret in them, or the name of a setting that is one.
const SECRETS: [&str; 8] =
    ["pin", "password", "passwords", "passphrase", "passcode", "secret", "token", "psk"];

/// Whether a line may be recorded: it has fewer digits than a PIN, and says nothing of a PIN, a password or a key.
fn is_harmless(line: &str) -> bool {
    let line = line.to_lowercase();
    let words: Vec<_> = line.split(|letter: char| !letter.is_alphanumeric()).collect();
    let is_secret = words.iter().any(|word| SECRETS.contains(word));
    let is_key = words.contains(&"apikey") || words.windows(2).any(|pair| pair == ["api", "key"]);
    !is_secret && !is_key && !has_pin_digits(&line)
}

/// Where typed lines are kept.
pub(crate) struct History(PathBuf);

impl History {
    /// Brings back the history that is kept beside `state`. Secrets that an earlier version recorded are removed.
    pub(crate) fn open(state: &Path, editor: &mut Editor<Names, FileHistory>) -> Self {
        let mut path = OsString::from(state);
        path.push(".history");
        let history = Self(PathBuf::from(path));
        // At first there is none.
        let Ok(file) = File::open(&history.0) else { return history };
        private::restrict(&file, &history.0);
        if let Err(error) = history.load(editor) {
            log::warn!("sim: the history in {} cannot be read: {error}", history.0.display());
        }
        history
    }

    fn load(&self, editor: &mut Editor<Names, FileHistory>) -> rustyline::Result<()> {
        editor.load_history(&self.0)?;
        let all: Vec<String> = editor.history().iter().cloned().collect();
        let harmless: Vec<_> = all.iter().filter(|line| is_harmless(line)).collect();
        if harmless.len() == all.len() {
            return Ok(());
        }
        editor.clear_history()?;
        for line in &harmless {
            editor.add_history_entry(line.as_str())?;
        }
        match harmless.is_empty() {
            true => Ok(fs::remove_file(&self.0)?),
            false => editor.save_history(&self.0),
        }
    }

    /// Keeps the lines that were added since the last time.
    pub(crate) fn save(&self, editor: &mut Editor<Names, FileHistory>) -> Result<(), String> {
        let failed = |error| format!("the history cannot be kept in {}: {error}", self.0.display());
        editor.append_history(&self.0).map_err(failed)
    }
}

/// Adds a line to the lines that the arrow keys bring back, unless it may have a secret in it.
pub(crate) fn add(editor: &mut Editor<Names, FileHistory>, line: &str) {
    if is_harmless(line) {
        // Only the bounds of the history could be wrong.
        let _ = editor.add_history_entry(line);
    }
}

#[cfg(test)]
mod tests {
    use super::is_harmless;

    #[test]
    fn secrets_are_not_recorded() {
        for line in [
            "4711",
            " 4 7 1 1",
            "four seven one one",
            "The PIN is 4711",
            "unlock the front door 4711",
            "the door code is 4711",
            "the door code is four-seven, one one",
            r#"{"text":"4711"}"#,
            r#"{"text":"\u0034\u0037\u0031\u0031"}"#,
            r#"{"key":"gate.pin","value":"4711"}"#,
            "set wifi.password hunter2",
            "broker.password=x",
            "my API key is sk-1",
            "OPENAI_API_KEY=sk-1",
            "the token: abc",
        ] {
            assert!(!is_harmless(line), "{line}");
        }
        for line in
            ["unlock the front door", "wake me at 7:30", "what is in my opinion a pint?", "echo {\"key\":1}"]
        {
            assert!(is_harmless(line), "{line}");
        }
    }
}
