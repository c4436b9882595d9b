//! Words: for whoever compares what people said with what something is called.

/// The words of a text, each with the rest after it.
pub fn words(text: &str) -> impl Iterator<Item = (&str, &str)> {
    core::iter::successors(next_word(text), |(_, rest)| next_word(rest))
}

/// The next word of a text, and the rest. An apostrophe before a letter is part of a word.
fn next_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(is_between);
    let is_end = |(at, next): &(usize, char)| {
        let joins = matches!(next, '\'' | '’')
            && text
                .get(at + next.len_utf8()..)
                .is_some_and(|rest| !rest.starts_with(is_between) && !rest.is_empty());
        is_between(*next) && !joins
    };
    let end = text.char_indices().find(is_end).map_or(text.len(), |(at, _)| at);
    text.split_at_checked(end).filter(|(word, _)| !word.is_empty())
}

/// Whether a character separates words: white space, punctuation and symbols. By hand for
/// the same reason as [`small`].
pub fn is_between(character: char) -> bool {
    match character {
        '\0'..='\x7f' => !character.is_ascii_alphanumeric(),
        'ª' | '²' | '³' | 'µ' | '¹' | 'º' | '¼'..='¾' => false,
        '\u{80}'..='\u{bf}' | '×' | '÷' => true,
        // General and CJK punctuation, and the full-width forms of ASCII punctuation.
        '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{3020}' => true,
        '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' => true,
        '\u{ff5b}'..='\u{ff65}' => true,
        // Arrows, symbols, emoji and what modifies them, without the letters and numbers among them.
        '\u{2190}'..='\u{245f}' | '\u{2500}'..='\u{2775}' | '\u{2794}'..='\u{2bff}' => true,
        '\u{fe00}'..='\u{fe0f}' | '\u{1f000}'..='\u{1f0ff}' | '\u{1f18a}'..='\u{1faff}' => true,
        _ => false,
    }
}

/// The lower-case letter for a capital one, in Latin with accents, Greek and Cyrillic. By hand: the standard library's
/// Unicode tables take 15 KB of flash.
pub fn small(letter: char) -> char {
    let code = u32::from(letter);
    let small = match code {
        0x41..=0x5a | 0xc0..=0xd6 | 0xd8..=0xde | 0x391..=0x3a1 | 0x3a3..=0x3ab | 0x410..=0x42f => {
            code + 0x20
        }
        0x400..=0x40f => code + 0x50,
        0x130 => 0x69,
        0x178 => 0xff,
        // Pairs of a capital letter and its small one; these begin with an even number,
        0x100..=0x137 | 0x14a..=0x177 | 0x1e00..=0x1e95 | 0x1ea0..=0x1eff => code | 1,
        0x460..=0x481 | 0x48a..=0x4bf | 0x4d0..=0x52f => code | 1,
        // and these with an odd one.
        0x139..=0x148 | 0x179..=0x17e => (code + 1) & !1,
        // Greek with accents.
        0x386 => 0x3ac,
        0x388..=0x38a => code + 0x25,
        0x38c => 0x3cc,
        0x38e..=0x38f => code + 0x3f,
        _ => code,
    };
    char::from_u32(small).unwrap_or(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_letters_are_those_of_unicode() {
        let scripts = ['\0'..='\u{17e}', '\u{386}'..='\u{3ce}', '\u{400}'..='\u{481}', '\u{48a}'..='\u{4bf}'];
        let more = ['\u{4d0}'..='\u{52f}', '\u{1e00}'..='\u{1e95}', '\u{1ea0}'..='\u{1eff}'];
        for letter in scripts.into_iter().chain(more).flatten() {
            // The Turkish İ becomes two characters.
            let expected = if letter == 'İ' { Some('i') } else { letter.to_lowercase().next() };
            assert_eq!(Some(small(letter)), expected, "{letter} {:x}", u32::from(letter));
        }
    }

    #[test]
    fn what_is_between_words_is_no_letter_or_digit() {
        for character in '\0'..=char::MAX {
            assert!(!(is_between(character) && character.is_alphanumeric()), "{character:?}");
        }
        for character in "\t\n .,;:!?¡¿«»“”„‘’–—…·、。！？（）\u{a0}\u{202f}\u{3000}".chars()
        {
            assert!(is_between(character), "{character:?}");
        }
    }
}
