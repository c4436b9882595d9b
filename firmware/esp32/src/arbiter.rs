//! Whose turn it is at the port: the console's, with lines of text and Improv packets, or the log's, with frames.
//!
//! Pure, so that `rustc --test src/arbiter.rs` runs its tests on a desktop.

/// How many silences a line that is not finished waits for its end: a prompt waits for an answer there, a second at most.
const SILENCES_IN_A_LINE: u8 = 50;

/// What was written last.
pub struct PortArbiter {
    is_in_line: bool,
    is_after_log: bool,
    /// Since the console wrote last.
    silences: u8,
}

impl PortArbiter {
    /// At first there may be anything on the line, a boot loader's message or half of a frame.
    pub const fn new() -> Self {
        Self { is_in_line: false, is_after_log: true, silences: 0 }
    }

    /// The console writes this, always at once. Returns whether it has to begin on a new line: a client looks for an
    /// Improv packet only there, and so do people for text.
    pub fn text(&mut self, text: &[u8]) -> bool {
        self.is_in_line = text.last() != Some(&b'\n');
        self.silences = 0;
        core::mem::take(&mut self.is_after_log)
    }

    /// The console was silent for a moment. Returns whether it is the log's turn.
    pub fn silence(&mut self) -> bool {
        self.silences = self.silences.saturating_add(1);
        !self.is_in_line || self.silences >= SILENCES_IN_A_LINE
    }

    /// The log wrote something, whole frames.
    pub fn logged(&mut self) {
        self.is_in_line = false;
        self.is_after_log = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays the console with `texts`, each followed by so many silences, and a log that always has a frame, `L`.
    fn play(texts: &[(&str, u32)]) -> String {
        let (mut arbiter, mut port) = (PortArbiter::new(), String::new());
        for (text, silences) in texts {
            for piece in text.as_bytes().chunks(5) {
                if arbiter.text(piece) {
                    port.push('|');
                }
                port.push_str(std::str::from_utf8(piece).unwrap());
            }
            for _ in 0..*silences {
                if arbiter.silence() {
                    arbiter.logged();
                    port.push('L');
                }
            }
        }
        port
    }

    #[test]
    fn the_log_waits_for_the_end_of_a_line() {
        assert_eq!(play(&[("a long line of", 49), (" text\n", 1)]), "|a long line of text\nL");
    }

    #[test]
    fn a_prompt_holds_the_log_up_for_a_second() {
        assert_eq!(play(&[("> ", 50), ("x", 0)]), "|> L|x");
    }

    #[test]
    fn lines_without_a_pause_are_not_parted() {
        assert_eq!(play(&[("one\n", 0), ("two\n", 0), ("three\n", 2)]), "|one\ntwo\nthree\nLL");
    }

    #[test]
    fn text_after_the_log_begins_on_a_new_line() {
        assert_eq!(play(&[("one\n", 1), ("two\n", 1), ("\nIMPROV\n", 0)]), "|one\nL|two\nL|\nIMPROV\n");
    }
}
