//! Text as it is said aloud: no Markdown, no emojis, no addresses, and units in words.
//!
//! A filter takes one character after the other, with room for one short word, and writes what can be said at once: any text
//! takes linear time. What it has written it leaves as it is.

use core::fmt::{self, Display, Write};

use heapless::String;

use super::words::is_between;

/// For whom a text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Voice {
    /// For people and programs who read it: it stays as it is.
    #[default]
    None,
    /// For people who hear it, in English: units and symbols become words.
    English,
    /// For people who hear it, in another language: its voice knows how units are said there.
    Other,
}

/// A text as this voice says it.
#[derive(Clone, Copy)]
pub struct Spoken<'a> {
    /// The text.
    pub text: &'a dyn Display,
    /// The voice.
    pub voice: Voice,
}

impl Display for Spoken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.voice == Voice::None {
            return self.text.fmt(f);
        }
        let mut filter = Filter::new(self.voice == Voice::English, f);
        write!(filter, "{}", self.text)?;
        filter.end_word()
    }
}

/// Units as they are written after a number, and as they are said. A `*` is an s, unless there is one of it.
const UNITS: &[(&str, &str)] = &[
    ("%", "percent"),
    ("°", "degree*"),
    ("°C", "degree* Celsius"),
    ("°F", "degree* Fahrenheit"),
    ("lx", "lux"),
    ("dB", "decibel*"),
    ("ppm", "part* per million"),
    ("µg/m³", "microgram* per cubic meter"),
    ("μg/m³", "microgram* per cubic meter"),
    ("m²", "square meter*"),
    ("m³", "cubic meter*"),
    ("mph", "mile* per hour"),
    ("min", "minute*"),
    ("h", "hour*"),
    ("€", "euro*"),
];

/// Units that may have one of the [`PREFIXES`].
const METRIC: &[(&str, &str)] = &[
    ("W", "watt*"),
    ("Wh", "watt hour*"),
    ("V", "volt*"),
    ("A", "ampere*"),
    ("Ah", "ampere hour*"),
    ("Hz", "hertz"),
    ("Pa", "pascal*"),
    ("bar", "bar*"),
    ("m", "meter*"),
    ("m/h", "meter* per hour"),
    ("m/s", "meter* per second"),
    ("l", "liter*"),
    ("l/h", "liter* per hour"),
    ("g", "gram*"),
    ("s", "second*"),
    ("B", "byte*"),
];

const PREFIXES: &[(&str, &str)] =
    &[("", ""), ("k", "kilo"), ("m", "milli"), ("c", "centi"), ("h", "hecto"), ("M", "mega"), ("G", "giga")];

/// Symbols that are said wherever they stand.
const SYMBOLS: &[(char, &str)] = &[
    ('×', "times"),
    ('÷', "divided by"),
    ('→', "to"),
    ('≈', "about"),
    ('±', "plus or minus"),
    ('≤', "at most"),
    ('≥', "at least"),
];

/// Symbols that are said if they stand alone.
const LONE: &[(&str, &str)] = &[("&", "and"), ("=", "equals"), ("+", "plus")];

/// The longest word that is looked at; a longer one passes as it is.
const WORD: usize = 64;

/// What ends a sentence or a part of it.
const ENDS: &[char] = &['.', ',', ';', ':', '!', '?', '…', '。', '、', '！', '？', '，'];

/// What belongs to the word before it.
const CLOSING: &[char] = &['.', ',', ';', ':', '!', '?', '…', ')', '"', '\'', '”', '’', '»'];

/// What belongs to the word after it.
const OPENING: &[char] = &['(', '"', '\'', '“', '‘', '„', '«'];

/// What the beginning of a line is marked with, if it stands alone there: items of a list, rules.
const BULLETS: &[char] = &['-', '+', '=', ':', '–', '—'];

/// What comes before the next word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Comma,
    Stop,
}

/// How the word before counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    No,
    One,
    Many,
}

/// What the next character belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkupPart {
    /// A word.
    Word,
    /// An address, of which this was the last character.
    Address(char),
    /// Where a link leads, with so many brackets open.
    Target(u8),
    /// A tag of HTML.
    Tag,
    /// The fence around code, with the name of its language.
    Fence,
}

struct Filter<'a> {
    out: &'a mut dyn Write,
    is_english: bool,
    part: MarkupPart,
    /// The word so far, without what is not said.
    word: String<WORD>,
    /// The word is too long to be looked at, and its beginning is written.
    is_long: bool,
    /// The character before, of this word, said or not.
    before: Option<char>,
    /// A mark whose meaning depends on what follows.
    held: Option<char>,
    gap: Gap,
    /// The last character that was written.
    last: Option<char>,
    /// Nothing of this line has been said.
    is_line_start: bool,
    /// The line is one of a list or a table, or a heading: it ends as a sentence does.
    is_own_line: bool,
    number: Number,
}

impl Write for Filter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|next| self.take(next))
    }
}

impl<'a> Filter<'a> {
    fn new(is_english: bool, out: &'a mut dyn Write) -> Self {
        Self {
            out,
            is_english,
            part: MarkupPart::Word,
            word: String::new(),
            is_long: false,
            before: None,
            held: None,
            gap: Gap::None,
            last: None,
            is_line_start: true,
            is_own_line: false,
            number: Number::No,
        }
    }

    fn take(&mut self, next: char) -> fmt::Result {
        let is_space = next.is_whitespace() || next.is_control();
        match self.part {
            MarkupPart::Word => {}
            MarkupPart::Address(_) if is_space || next == '|' => {}
            MarkupPart::Address(_) => {
                self.part = MarkupPart::Address(next);
                return Ok(());
            }
            MarkupPart::Target(_) if next == '\n' => self.part = MarkupPart::Word,
            MarkupPart::Target(open) => {
                self.part = match (next, open) {
                    ('(', _) => MarkupPart::Target(open.saturating_add(1)),
                    (')', 0..=1) => MarkupPart::Word,
                    (')', _) => MarkupPart::Target(open - 1),
                    _ => return Ok(()),
                };
                return Ok(());
            }
            MarkupPart::Tag if is_space => self.part = MarkupPart::Word,
            MarkupPart::Tag => {
                match next {
                    '>' => self.part = MarkupPart::Word,
                    ':' => self.begin_address()?,
                    _ => {}
                }
                return Ok(());
            }
            MarkupPart::Fence if is_space => self.part = MarkupPart::Word,
            MarkupPart::Fence => return Ok(()),
        }
        self.release(Some(next))?;
        // It may have been the beginning of a tag.
        if self.part == MarkupPart::Tag {
            return Ok(());
        }
        if is_space {
            self.end_word()?;
            self.widen(Gap::Space);
            if next == '\n' {
                self.end_line();
            }
            return Ok(());
        }
        let before = self.before.replace(next);
        match next {
            '*' | '_' | '~' | '#' | '<' | '>' => self.held = Some(next),
            '`' if self.is_line_start && self.word.is_empty() && before == Some('`') => {
                // The third in a row, at the beginning of a line, is a fence.
                if self.held.take().is_some() {
                    self.part = MarkupPart::Fence;
                } else {
                    self.held = Some('`');
                }
            }
            '`' | '\\' | ']' => {}
            '[' if self.word == "!" => self.word.clear(),
            '[' => {}
            '(' if before == Some(']') => self.part = MarkupPart::Target(1),
            '|' => {
                self.end_word()?;
                if !self.mark_line() {
                    self.is_own_line = true;
                    self.widen(Gap::Comma);
                }
            }
            '•' | '‣' => drop(self.mark_line()),
            '=' if before == Some('<') => self.symbol('≤', "at most")?,
            '=' if before == Some('>') => self.symbol('≥', "at least")?,
            _ if is_picture(next) => {}
            _ => match SYMBOLS.iter().find(|(symbol, _)| *symbol == next) {
                Some((_, words)) => self.symbol(next, words)?,
                None => self.push(next)?,
            },
        }
        Ok(())
    }

    /// Decides about the mark that is held: `next` follows it, if anything does.
    fn release(&mut self, next: Option<char>) -> fmt::Result {
        // Of the fence, the third is what decides; two are none.
        if self.held == Some('`') && next == Some('`') {
            return Ok(());
        }
        let Some(held) = self.held.take().filter(|_| !self.is_long) else { return Ok(()) };
        let is_digit = next.is_some_and(|next| next.is_ascii_digit());
        let is_end = next.is_none_or(char::is_whitespace);
        let tail = self.word.chars().last();
        let (is_first, is_after_digit) = (tail.is_none(), tail.is_some_and(|tail| tail.is_ascii_digit()));
        match held {
            '*' if is_digit && is_after_digit => self.symbol('×', "times"),
            '*' if is_first && is_end && self.number != Number::No && !self.is_line_start => {
                self.symbol('×', "times")
            }
            // The last of several, with a space after them: the item of a list, a rule, a heading.
            '*' | '#' if is_first && is_end => {
                self.mark_line();
                Ok(())
            }
            '#' if is_first && is_digit => self.symbol('#', "number"),
            '~' if is_first && is_digit => self.symbol('≈', "about"),
            '_' if !is_first && next.is_some_and(|next| !is_between(next)) => {
                self.end_word()?;
                self.widen(Gap::Space);
                Ok(())
            }
            '<' if next.is_some_and(|next| next.is_ascii_alphabetic() || next == '/') => {
                self.part = MarkupPart::Tag;
                Ok(())
            }
            '>' if matches!(self.word.as_str(), "-" | "=") => {
                self.word.clear();
                self.symbol('→', "to")
            }
            '<' | '>' if !self.is_english => {
                self.end_word()?;
                self.widen(Gap::Space);
                Ok(())
            }
            '<' | '>' if !self.is_line_start && (is_digit || is_first && is_end) => {
                self.symbol(held, if held == '<' { "less than" } else { "more than" })
            }
            _ => Ok(()),
        }
    }

    /// Says a symbol.
    fn symbol(&mut self, symbol: char, words: &str) -> fmt::Result {
        if !self.is_english {
            return self.push(symbol);
        }
        self.end_letters()?;
        self.widen(Gap::Space);
        self.emit(words)?;
        self.widen(Gap::Space);
        Ok(())
    }

    /// Adds a character to the word.
    fn push(&mut self, next: char) -> fmt::Result {
        if self.is_long {
            self.last = Some(next);
            return self.out.write_char(next);
        }
        if self.word.is_empty() && OPENING.contains(&next) {
            return self.emit(next.encode_utf8(&mut [0; 4]));
        }
        let is_www = self.word.as_bytes().eq_ignore_ascii_case(b"www.") && next.is_ascii_alphanumeric();
        if is_www || next == '/' && self.word.ends_with(":/") {
            self.word.clear();
            return self.begin_address();
        }
        if self.word.push(next).is_err() {
            let word = core::mem::take(&mut self.word);
            self.emit(&word)?;
            self.is_long = true;
            self.last = Some(next);
            return self.out.write_char(next);
        }
        Ok(())
    }

    fn begin_address(&mut self) -> fmt::Result {
        self.part = MarkupPart::Address(' ');
        self.emit(if self.is_english { "a link" } else { "link" })
    }

    /// Ends the word, if there is one.
    fn end_word(&mut self) -> fmt::Result {
        self.release(None)?;
        self.before = None;
        self.end_letters()
    }

    /// Says the word so far.
    fn end_letters(&mut self) -> fmt::Result {
        let part = core::mem::replace(&mut self.part, MarkupPart::Word);
        if let MarkupPart::Address(last) = part
            && ENDS.contains(&last)
        {
            self.last = Some(last);
            self.out.write_char(last)?;
        }
        self.is_long = false;
        let word = core::mem::take(&mut self.word);
        if word.is_empty() || consists_of(&word, BULLETS) && self.mark_line() {
            return Ok(());
        }
        // The number of an item.
        if let [b'0'..=b'9', b'.' | b')'] | [b'0'..=b'9', b'0'..=b'9', b'.' | b')'] = word.as_bytes() {
            self.mark_line();
        }
        if consists_of(&word, CLOSING) {
            self.gap = Gap::None;
        }
        if self.is_english { self.say(&word) } else { self.emit(&word) }
    }

    /// Says a word with its number and unit.
    fn say(&mut self, word: &str) -> fmt::Result {
        let before = self.number;
        if let Some((_, words)) = LONE.iter().find(|(symbol, _)| *symbol == word) {
            return self.emit(words);
        }
        let (signs, bare) = split(word, |letter| matches!(letter, '-' | '−' | '–'));
        if !signs.is_empty() && bare.bytes().next().is_some_and(|first| first.is_ascii_digit()) {
            self.emit("minus")?;
            self.widen(Gap::Space);
            return self.say(bare);
        }
        let last = word.char_indices().rfind(|(_, letter)| !CLOSING.contains(letter));
        let end = last.map_or(0, |(at, letter)| at + letter.len_utf8());
        let (core, tail) = word.split_at_checked(end).unwrap_or((word, ""));
        if before != Number::No
            && let Some(words) = unit(core)
        {
            self.emit_unit(words, before)?;
            return self.finish_word(tail);
        }
        let (digits, rest) = split(core, is_numeral);
        let Some(number) = number(digits) else { return self.emit(word) };
        if rest.is_empty() {
            self.emit_number(digits)?;
            self.finish_word(tail)?;
            self.number = if tail.is_empty() { number } else { Number::No };
            return Ok(());
        }
        let Some(words) = unit(rest) else { return self.emit(word) };
        self.emit_number(digits)?;
        self.widen(Gap::Space);
        self.emit_unit(words, number)?;
        self.finish_word(tail)
    }

    /// Writes a number, or from one to another.
    fn emit_number(&mut self, digits: &str) -> fmt::Result {
        let Some((from, to)) = digits.split_once('–') else { return self.emit(digits) };
        self.emit(from)?;
        for part in ["to", to] {
            self.widen(Gap::Space);
            self.emit(part)?;
        }
        Ok(())
    }

    fn emit_unit(&mut self, [prefix, words]: [&str; 2], number: Number) -> fmt::Result {
        let (one, rest) = words.split_once('*').unwrap_or((words, ""));
        let plural = if one.len() < words.len() && number != Number::One { "s" } else { "" };
        self.emit(prefix)?;
        [one, plural, rest].into_iter().try_for_each(|part| self.finish_word(part))
    }

    /// Writes what belongs to the word before it.
    fn finish_word(&mut self, tail: &str) -> fmt::Result {
        if let Some(last) = tail.chars().last() {
            self.last = Some(last);
        }
        self.out.write_str(tail)
    }

    /// Writes a word after what comes before it.
    fn emit(&mut self, word: &str) -> fmt::Result {
        let is_ended = self.last.is_none_or(|last| ENDS.contains(&last));
        let gap = core::mem::replace(&mut self.gap, Gap::None);
        if self.last.is_some() && gap != Gap::None {
            self.out.write_str(match gap {
                Gap::Comma if !is_ended => ", ",
                Gap::Stop if !is_ended => ". ",
                _ => " ",
            })?;
        }
        self.number = Number::No;
        self.is_line_start = false;
        self.last = word.chars().last().or(self.last);
        self.out.write_str(word)
    }

    fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
        if gap > Gap::Space {
            self.number = Number::No;
        }
    }

    /// At the beginning of a line, makes it one of its own. Returns whether it is there.
    fn mark_line(&mut self) -> bool {
        if self.is_line_start {
            self.is_own_line = true;
            self.widen(Gap::Stop);
        }
        self.is_line_start
    }

    /// A line has ended: with a sentence if it is one of its own, or if nothing was on it.
    fn end_line(&mut self) {
        if self.is_own_line || self.is_line_start {
            self.widen(Gap::Stop);
        }
        (self.is_line_start, self.is_own_line) = (true, false);
    }
}

/// How a unit is said: its prefix and the rest.
fn unit(symbol: &str) -> Option<[&'static str; 2]> {
    let find = |units: &[(&str, &'static str)], symbol: &str| {
        units.iter().find(|(unit, _)| *unit == symbol).map(|(_, words)| *words)
    };
    let metric =
        |(prefix, words): &(&str, &'static str)| Some([*words, find(METRIC, symbol.strip_prefix(prefix)?)?]);
    find(UNITS, symbol).map(|words| ["", words]).or_else(|| PREFIXES.iter().find_map(metric))
}

/// Splits a word before the first letter that does not belong to its beginning.
fn split(word: &str, belongs: fn(char) -> bool) -> (&str, &str) {
    let end = word.char_indices().find(|(_, letter)| !belongs(*letter)).map_or(word.len(), |(at, _)| at);
    word.split_at_checked(end).unwrap_or((word, ""))
}

fn is_numeral(letter: char) -> bool {
    letter.is_ascii_digit() || matches!(letter, '.' | ',' | ':' | '-' | '–' | '½' | '¼' | '¾')
}

/// How digits count, if they are a number, or two with a dash between them.
fn number(digits: &str) -> Option<Number> {
    let (mut dashes, mut is_digit) = (0, false);
    for letter in digits.chars() {
        let is_dash = matches!(letter, '-' | '–');
        if is_dash && !is_digit {
            return None;
        }
        dashes += usize::from(is_dash);
        is_digit = !is_dash && !matches!(letter, '.' | ',' | ':');
    }
    let number = if digits == "1" { Number::One } else { Number::Many };
    (is_digit && dashes <= 1).then_some(number)
}

fn consists_of(word: &str, letters: &[char]) -> bool {
    word.chars().all(|letter| letters.contains(&letter))
}

/// Whether a character is a picture, or part of one.
fn is_picture(character: char) -> bool {
    matches!(character,
        // What joins and varies them.
        '\u{200b}' | '\u{200d}'..='\u{200f}' | '\u{20e3}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
        // Arrows except the one that is said, technical signs, frames, shapes, symbols, private ones.
        | '\u{2190}'..='\u{2191}' | '\u{2193}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2500}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{e000}'..='\u{f8ff}' | '\u{1f000}'..='\u{1faff}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::string::{String, ToString};

    use super::{Spoken, Voice};

    fn say(text: &str, voice: Voice) -> String {
        Spoken { text: &text, voice }.to_string()
    }

    #[track_caller]
    fn assert_said(cases: &[(&str, &str)]) {
        for (written, said) in cases {
            assert_eq!(say(written, Voice::English), *said, "{written:?}");
        }
    }

    #[test]
    fn markdown_is_not_read_out() {
        assert_said(&[
            ("The **kitchen** light is *now* `on`.", "The kitchen light is now on."),
            ("***Really*** ~~not~~ __on__, _off_!", "Really not on, off!"),
            ("# Lights\n\nTwo are on.", "Lights. Two are on."),
            ("Here:\n- Kitchen: on\n- Den: off\n\nThat is all.", "Here: Kitchen: on. Den: off. That is all."),
            ("These\n* one\n  + two\n• three", "These. one. two. three"),
            ("1. Open it\n2) Close it", "1. Open it. 2) Close it"),
            ("> Quoted\n> text", "Quoted text"),
            ("One line\nand its end.\n\n\nMore", "One line and its end. More"),
            ("Title\n=====\nText\n\n---\nEnd", "Title. Text. End"),
            ("```json\n{\"on\": true}\n```\nDone.", "{\"on\": true}. Done."),
            ("Call `control_zwave_device` again", "Call control zwave device again"),
            ("| Room | On |\n|:--|--:|\n| Den | yes |\n| Hall | no |", "Room, On. Den, yes. Hall, no"),
            ("See [the manual](https://x.org/a_(b) \"Title\").", "See the manual."),
            ("![A lamp](lamp.png) is on", "A lamp is on"),
            ("It is <b>on</b>.<br/>Really", "It is on.Really"),
            ("\\*not bold\\*", "not bold"),
            ("Once upon a... [cut: there was no more]", "Once upon a... cut: there was no more"),
            ("", ""),
            (" \n ", ""),
        ]);
    }

    #[test]
    fn addresses_and_pictures_are_not_read_out() {
        assert_said(&[
            ("Look at https://example.org/a_b?c=1&d=[2].", "Look at a link."),
            ("Look at www.example.org, or <http://x>!", "Look at a link, or a link!"),
            ("At mqtt://10.0.0.1:1883 |x|", "At a link, x"),
            ("Done 👍🏽! 🎉", "Done!"),
            ("👨‍👩‍👧 Family ☀️ 1️⃣", "Family 1"),
            ("🎉", ""),
            ("www. is how it begins", "www. is how it begins"),
        ]);
    }

    #[test]
    fn units_are_words() {
        assert_said(&[
            ("It is 21.5 °C.", "It is 21.5 degrees Celsius."),
            ("It is **21.5°C**, 70°F outside", "It is 21.5 degrees Celsius, 70 degrees Fahrenheit outside"),
            ("1 °C, 1 kWh and 1%", "1 degree Celsius, 1 kilowatt hour and 1 percent"),
            ("-5 °C or −3°", "minus 5 degrees Celsius or minus 3 degrees"),
            ("20–22 °C, 20-22°C", "20 to 22 degrees Celsius, 20-22 degrees Celsius"),
            ("45 % (60%)", "45 percent (60 percent)"),
            (
                "3.2kWh, 12\u{a0}W, 120 lx, 50 km/h; 1,013 hPa",
                "3.2 kilowatt hours, 12 watts, 120 lux, 50 kilometers per hour; 1,013 hectopascals",
            ),
            ("~5 min, ≈ 3 m², 2½ h", "about 5 minutes, about 3 square meters, 2½ hours"),
            ("6*7 = 42, 6 * 7 is 6×7", "6 times 7 equals 42, 6 times 7 is 6 times 7"),
            ("on → off -> on & #5 + 1", "on to off to on and number 5 plus 1"),
            ("if x < 5, y >= 6 or z>7", "if x less than 5, y at least 6 or z more than 7"),
            // No unit, and no number.
            ("At 10:30 on 2026-11-18 in A", "At 10:30 on 2026-11-18 in A"),
            ("5\n\nW", "5. W"),
            ("Room 5, A lamp", "Room 5, A lamp"),
            ("100%er 5x 4K", "100%er 5x 4K"),
        ]);
    }

    #[test]
    fn in_other_languages_only_what_cannot_be_said_is_left_out() {
        for (written, said) in [
            ("Es sind **21,5 °C** → 6*7 🎉", "Es sind 21,5 °C → 6×7"),
            ("Siehe https://x.org: ~5 % < 6 %", "Siehe link: ≈5 % 6 %"),
        ] {
            assert_eq!(say(written, Voice::Other), said);
        }
        assert_eq!(say("**raw** 5 °C", Voice::None), "**raw** 5 °C");
    }

    proptest! {
        #[test]
        fn whatever_is_said_is_short_and_can_be_said_again(
            text in "([-a-z0-9 \n*_`~#<>|()\\[\\]!.,:/°%CWmh&=+–×→😀www.]|https://|\\PC|[\t\r\u{1}]){0,90}",
        ) {
            for voice in [Voice::English, Voice::Other] {
                let said = say(&text, voice);
                prop_assert!(said.len() <= 20 * text.len(), "{said:?}");
                let has_marks = said.contains(['*', '`', '_', '[', ']', '|', '~', '\\', '\n', '😀']);
                prop_assert!(!has_marks && said.trim() == said, "{said:?}");
                prop_assert_eq!(&say(&said, voice), &said);
            }
        }

        /// In whatever pieces it comes.
        #[test]
        fn pieces_do_not_matter(text in "[a-c5 \n*_`<>|\\[(\\])%W]{0,40}") {
            struct Pieces<'a>(&'a str);
            impl core::fmt::Display for Pieces<'_> {
                fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                    self.0.chars().try_for_each(|piece| write!(f, "{piece}"))
                }
            }
            let pieces = Spoken { text: &Pieces(&text), voice: Voice::English }.to_string();
            prop_assert_eq!(pieces, say(&text, Voice::English));
        }
    }
}
