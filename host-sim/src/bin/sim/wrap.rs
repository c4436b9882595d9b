//! Breaks text between words.

use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthStr as _;

/// The text as it is shown at the terminal of stdout: lines end between words, and what could control the terminal is
/// replaced.
pub(crate) fn for_terminal(text: &str) -> String {
    let text = text.replace(|c: char| c.is_control() && c != '\n' && c != '\t', "\u{fffd}");
    match tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => wrapped(&text, size.ws_col.into()),
        _ => text,
    }
}

/// The text in lines of less than `width` columns. A word that is longer is left to the terminal.
fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let mut column = 0;
        for piece in line.split_inclusive(' ') {
            if column > 0 && column + piece.trim_end().width() >= width {
                out.truncate(out.trim_end_matches(' ').len());
                out.push('\n');
                column = 0;
            }
            out.push_str(piece);
            column += piece.width();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lines_end_between_words() {
        for (text, shown) in [
            ("", ""),
            ("one two", "one two"),
            ("one two three", "one two\nthree"),
            ("one  two  three ", "one  two\nthree "),
            ("  one two three", "  one two\nthree"),
            ("a\n\n- one two three\nb\n", "a\n\n- one two\nthree\nb\n"),
            ("in aVeryLongWordOfMany letters", "in\naVeryLongWordOfMany\nletters"),
            ("ein schöner Ort", "ein\nschöner\nOrt"),
            ("一二三 四五", "一二三\n四五"),
        ] {
            assert_eq!(wrapped(text, 10), shown);
        }
    }
}
