//! What the hub and the relays both know of language models: the names of their providers, and where a reply's thoughts end.

/// The provider of a model. The first one is all zeros, as a new hub's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Provider {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's chat completions API, and compatible servers.
    OpenAi,
    /// Ollama's chat API.
    Ollama,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAi, Self::Ollama];

    /// Its name in a rule (`service`), a topic and a reply.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }
}

/// What comes after the thoughts that a text begins with, if it has any. The template of some models opens the first one
/// in the prompt, so that the text has only its end. A thought without an end is all there is.
pub fn after_thoughts<I: Iterator<Item = char> + Clone>(text: I) -> Option<impl Iterator<Item = char>> {
    const BEGIN: &str = "<think>";
    const END: &str = "</think>";
    let (mut begin, mut end) = (Tag::new(BEGIN), Tag::new(END));
    let (mut said, mut rest) = (None, text);
    // Since the last thought.
    let (mut is_thought, mut visible) = (false, 0);
    // Characters of the current line that can be seen.
    let mut on_line = 0;
    while let Some(next) = rest.next() {
        visible += usize::from(!next.is_whitespace());
        let (begins, ends) = (begin.is_complete_with(next), end.is_complete_with(next));
        on_line = if next == '\n' { 0 } else { on_line + usize::from(!next.is_whitespace()) };
        // Words before it and a space behind it: it is mentioned.
        let is_mention = |next: char| next.is_ascii_punctuation() && next != '<' || next == ' ';
        let is_mentioned = || on_line > END.len() && rest.clone().next().is_some_and(is_mention);
        let ends = ends && (is_thought || !is_mentioned());
        if ends {
            (is_thought, visible) = (false, 0);
            said = Some(rest.clone());
        } else if begins && !is_thought {
            is_thought = visible == BEGIN.len();
            // After other words it is no thought, but about one.
            if !is_thought {
                break;
            }
        }
    }
    said = if is_thought { Some(rest) } else { said };
    said.map(|said| said.skip_while(|next| next.is_whitespace()))
}

/// Finds a tag, character by character. Only its first one is `<`.
struct Tag {
    tag: &'static str,
    missing: core::str::Chars<'static>,
}

impl Tag {
    fn new(tag: &'static str) -> Self {
        Self { tag, missing: tag.chars() }
    }

    fn is_complete_with(&mut self, next: char) -> bool {
        if self.missing.next() != Some(next) {
            self.missing = self.tag.chars();
            if next == '<' {
                self.missing.next();
            }
        }
        self.missing.as_str().is_empty()
    }
}
