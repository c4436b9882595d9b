//! Regular expressions, in the part of ECMAScript's syntax that Rust and Python read in the same way.
//!
//! A pattern becomes a small automaton whose states are followed all at once, so that the time is bounded by the
//! lengths of pattern and text, and no pattern is catastrophic. By hand because the crates without a heap want their
//! patterns at compile time, or know no groups (`tiny-regex`).

use core::str::Chars;

use super::{Exhausted, Work};
use crate::limits::{GROUPS, PATTERN, STATES};
use hub_json::Text;

/// Whether a text matches a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    Yes,
    No,
    /// The pattern is beyond what is understood here, or the engines disagree about it.
    Unclear,
}

/// One state of the automaton. Distances are relative, so that code can be moved and copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Takes a character by the atom at this place in the pattern.
    Atom(u16),
    /// Goes on with the next state, and also with one at this distance.
    Split(i16),
    /// Goes on elsewhere. Zero until the end of its group is known.
    Jump(i16),
    Start,
    End,
    /// At the edge of a word, or not.
    Edge(bool),
}

/// Whether `text` has a part that matches `pattern`. Takes at most half of the steps that are left.
#[inline(never)]
pub(super) fn search(pattern: Text<'_>, text: Text<'_>, work: &mut Work) -> Match {
    let mut own = Work(work.0 / 2);
    let mut automaton = Automaton::new();
    let found = match automaton.read(pattern, &mut own) {
        Some(()) => automaton.search(text, &mut own).unwrap_or(Match::Unclear),
        None => Match::Unclear,
    };
    work.0 = work.0 / 2 + own.0;
    found
}

/// Whether [`search`] understands `pattern`.
#[inline(never)]
pub(super) fn is_understood(pattern: Text<'_>) -> bool {
    Automaton::new().read(pattern, &mut Work::new()).is_some()
}

struct Automaton {
    pattern: heapless::String<PATTERN>,
    states: heapless::Vec<State, STATES>,
}

impl Automaton {
    const fn new() -> Self {
        Self { pattern: heapless::String::new(), states: heapless::Vec::new() }
    }

    /// Builds the states. `None` for a pattern that is not understood, or too long.
    fn read(&mut self, pattern: Text<'_>, work: &mut Work) -> Option<()> {
        // What building costs, for each byte.
        work.spend(pattern.escaped().len().saturating_mul(16)).ok()?;
        for character in pattern.chars() {
            self.pattern.push(character).ok()?;
        }
        // Where the open groups and their last alternatives began.
        let mut groups = heapless::Vec::<(usize, usize), GROUPS>::new();
        let (mut group, mut branch) = (0, 0);
        // Where the code begins that a quantifier repeats.
        let mut last = None;
        let mut at = 0;
        while let Some(&byte) = self.pattern.as_bytes().get(at) {
            let following = self.pattern.as_bytes().get(at + 1).copied();
            let repeated = last.take();
            at += 1;
            match (byte, following) {
                (b'(', _) => {
                    if following == Some(b'?') {
                        at += 2;
                        self.pattern.get(..at).filter(|head| head.ends_with("?:"))?;
                    }
                    groups.push((group, branch)).ok()?;
                    (group, branch) = (self.states.len(), self.states.len());
                }
                (b')', _) => {
                    self.close(group);
                    last = Some(group);
                    (group, branch) = groups.pop()?;
                }
                (b'|', _) => {
                    self.insert(branch, self.distance(branch) + 2)?;
                    self.push(State::Jump(0))?;
                    branch = self.states.len();
                }
                (b'*' | b'+' | b'?' | b'{', _) => {
                    let least;
                    let most;
                    (least, most, at) = self.quantifier(byte, at)?;
                    self.repeat(repeated?, least, most)?;
                    // That it takes as little as possible changes nothing about whether it matches.
                    at += usize::from(self.pattern.as_bytes().get(at) == Some(&b'?'));
                }
                (b'^', _) => self.push(State::Start)?,
                (b'$', _) => self.push(State::End)?,
                (b'\\', Some(edge @ (b'b' | b'B'))) => {
                    self.push(State::Edge(edge == b'b'))?;
                    at += 1;
                }
                _ => {
                    last = Some(self.states.len());
                    self.push(State::Atom(u16::try_from(at - 1).ok()?))?;
                    at = atom(&self.pattern, at - 1, '\0')?.end;
                }
            }
        }
        self.close(0);
        groups.is_empty().then_some(())
    }

    fn push(&mut self, state: State) -> Option<()> {
        self.states.push(state).ok()
    }

    /// Puts a split before the code that begins at `at`.
    fn insert(&mut self, at: usize, distance: i16) -> Option<()> {
        self.states.insert(at, State::Split(distance)).ok()
    }

    /// From `start` to the end of the code. There are far fewer states than this can count.
    fn distance(&self, start: usize) -> i16 {
        i16::try_from(self.states.len().saturating_sub(start)).unwrap_or_default()
    }

    /// Has the alternatives of a group that began at `start` go on at its end.
    fn close(&mut self, start: usize) {
        let mut distance = self.distance(start);
        for state in self.states.iter_mut().skip(start) {
            if *state == State::Jump(0) {
                *state = State::Jump(distance);
            }
            distance -= 1;
        }
    }

    /// How often the quantifier says, and where it ends. Its first byte was before `at`.
    fn quantifier(&self, byte: u8, mut at: usize) -> Option<(u16, Option<u16>, usize)> {
        let mut count = || {
            let rest = self.pattern.get(at..)?;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let separator = *rest.as_bytes().get(digits)?;
            at += digits + 1;
            Some((rest.get(..digits)?, separator))
        };
        Some(match byte {
            b'*' => (0, None, at),
            b'+' => (1, None, at),
            b'?' => (0, Some(1), at),
            _ => {
                let (least, separator) = count()?;
                let least: u16 = least.parse().ok()?;
                let most = match separator {
                    b'}' => Some(least),
                    b',' => match count()? {
                        ("", b'}') => None,
                        (most, b'}') => Some(most.parse().ok().filter(|most| *most >= least)?),
                        _ => return None,
                    },
                    _ => return None,
                };
                (least, most, at)
            }
        })
    }

    /// Repeats the code from `start`.
    fn repeat(&mut self, start: usize, least: u16, most: Option<u16>) -> Option<()> {
        let length = self.distance(start);
        let end = self.states.len();
        if length == 0 {
            // Nothing, however often.
            return Some(());
        }
        for copy in 1..most.unwrap_or(least) {
            if copy >= least {
                self.push(State::Split(length + 1))?;
            }
            for at in start..end {
                self.push(*self.states.get(at)?)?;
            }
        }
        match (least, most) {
            (_, Some(0)) => self.states.truncate(start),
            (0, Some(_)) => self.insert(start, length + 1)?,
            (0, None) => {
                self.insert(start, length + 2)?;
                self.push(State::Jump(-length - 1))?;
            }
            (_, None) => self.push(State::Split(-length))?,
            (_, Some(_)) => {}
        }
        Some(())
    }

    fn search(&self, text: Text<'_>, work: &mut Work) -> Result<Match, Exhausted> {
        let anchored = self.states.first() == Some(&State::Start);
        let mut doubt = false;
        let mut active = Active::default();
        let mut characters = text.chars();
        let mut before = None;
        loop {
            let next = characters.next();
            // A match can begin anywhere.
            active.add(0);
            doubt |= self.follow(&mut active, before, next, work)?;
            if active.has(self.states.len()) {
                return Ok(Match::Yes);
            }
            let Some(character) = next else { break };
            let mut after = Active::default();
            for (index, state) in self.states.iter().enumerate() {
                if let State::Atom(at) = *state
                    && active.has(index)
                    && let Some(atom) = atom(&self.pattern, usize::from(at), character)
                {
                    work.spend(atom.end.saturating_sub(usize::from(at)))?;
                    doubt |= atom.doubt;
                    if atom.takes {
                        after.add(index + 1);
                    }
                }
            }
            if anchored && after.0 == Active::default().0 {
                break;
            }
            active = after;
            before = Some(character);
        }
        Ok(if doubt { Match::Unclear } else { Match::No })
    }

    /// Adds all states that can be reached between two characters. Returns whether that is in doubt.
    fn follow(
        &self,
        active: &mut Active,
        before: Option<char>,
        next: Option<char>,
        work: &mut Work,
    ) -> Result<bool, Exhausted> {
        let is_word = |side: Option<char>| side.is_some_and(is_word);
        let mut doubt = false;
        let mut changed = true;
        while changed {
            changed = false;
            work.spend(self.states.len())?;
            for (index, state) in self.states.iter().enumerate() {
                if !active.has(index) {
                    continue;
                }
                let goes_on = match *state {
                    State::Atom(_) => false,
                    State::Split(distance) => {
                        changed |= active.add(index.saturating_add_signed(distance.into()));
                        true
                    }
                    State::Jump(distance) => {
                        changed |= active.add(index.saturating_add_signed(distance.into()));
                        false
                    }
                    State::Start => before.is_none(),
                    State::End => next.is_none(),
                    State::Edge(edge) => {
                        let unsure = [before, next].into_iter().flatten().any(|side| !side.is_ascii());
                        doubt |= unsure;
                        !unsure && (is_word(before) != is_word(next)) == edge
                    }
                };
                if goes_on {
                    changed |= active.add(index + 1);
                }
            }
        }
        Ok(doubt)
    }
}

/// The states that are active, a bit each, and one for the match.
#[derive(Default)]
struct Active([u32; STATES / 32 + 1]);

impl Active {
    fn has(&self, state: usize) -> bool {
        self.0.get(state / 32).is_some_and(|word| word & 1 << (state % 32) != 0)
    }

    /// Returns whether it is new.
    fn add(&mut self, state: usize) -> bool {
        let new = !self.has(state);
        if let Some(word) = self.0.get_mut(state / 32) {
            *word |= 1 << (state % 32);
        }
        new
    }
}

/// What an atom says about a character.
struct Atom {
    /// Where the atom ends in the pattern.
    end: usize,
    takes: bool,
    /// Engines disagree: about letters and spaces outside ASCII, ends of lines, and whether an emoji is one character.
    doubt: bool,
}

/// What a class or an escape says about a character; `None` where engines disagree.
type Taken = Option<bool>;

/// A part of a class, or an escape.
enum Part {
    Character(char),
    Set(Taken),
}

/// The atom at `start` of `pattern`, and whether it takes `character`. `None` if it is not understood.
fn atom(pattern: &str, start: usize, character: char) -> Option<Atom> {
    let mut rest = pattern.get(start..)?.chars();
    let mut wide = false;
    let taken = match rest.next()? {
        '.' => {
            wide = true;
            (!matches!(character, '\r' | '\u{2028}' | '\u{2029}')).then_some(character != '\n')
        }
        '[' => {
            wide = rest.as_str().starts_with('^');
            class(&mut rest, character)?
        }
        '\\' => match escape(&mut rest, character)? {
            Part::Character(literal) => Some(literal == character),
            Part::Set(taken) => taken,
        },
        '(' | ')' | '|' | '*' | '+' | '?' | '{' | '}' | ']' | '^' | '$' => return None,
        literal => Some(literal == character),
    };
    let doubt = taken.is_none() || wide && character > '\u{FFFF}';
    Some(Atom { end: pattern.len() - rest.as_str().len(), takes: taken == Some(true), doubt })
}

/// What follows a `[`, up to its `]`. What is an operator on sets in some engines, such as `&&`, is not understood.
fn class(rest: &mut Chars<'_>, character: char) -> Option<Taken> {
    let negated = rest.as_str().starts_with('^');
    if negated {
        rest.next();
    }
    let peek = |rest: &Chars<'_>| rest.clone().next();
    let mut found = None;
    loop {
        let taken = match rest.next()? {
            // Without a part, it takes nothing in some engines and is literal in others.
            ']' => break,
            '[' => return None,
            set @ ('&' | '~' | '-') if peek(rest) == Some(set) => return None,
            first => match part(first, rest, character)? {
                Part::Set(taken) => taken,
                Part::Character(first) => {
                    let mut ahead = rest.clone();
                    let mut last = first;
                    if ahead.next() == Some('-') && peek(&ahead) != Some(']') {
                        *rest = ahead;
                        last = match part(rest.next().filter(|last| *last != '[')?, rest, character)? {
                            Part::Character(last) if last >= first => last,
                            _ => return None,
                        };
                    }
                    Some((first..=last).contains(&character))
                }
            },
        };
        found = Some(match (found, taken) {
            (Some(Some(true)), _) | (_, Some(true)) => Some(true),
            (Some(None), _) | (_, None) => None,
            _ => Some(false),
        });
    }
    found.map(|found| found.map(|found| found != negated))
}

/// The part of a class that begins with `first`.
fn part(first: char, rest: &mut Chars<'_>, character: char) -> Option<Part> {
    match first {
        '\\' => escape(rest, character),
        literal => Some(Part::Character(literal)),
    }
}

/// What follows a `\`.
fn escape(rest: &mut Chars<'_>, character: char) -> Option<Part> {
    let name = rest.next()?;
    let within = match name {
        'd' | 'D' => character.is_ascii_digit(),
        'w' | 'W' => is_word(character),
        's' | 'S' => matches!(character, '\t'..='\r' | ' '),
        _ => {
            return Some(Part::Character(match name {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\u{b}',
                'f' => '\u{c}',
                'x' => hex(rest, 2)?,
                'u' => hex(rest, 4)?,
                // The edges of words, in Rust.
                '<' | '>' => return None,
                literal if literal.is_ascii_punctuation() => literal,
                _ => return None,
            }));
        }
    };
    Some(Part::Set(character.is_ascii().then_some(within != name.is_ascii_uppercase())))
}

fn hex(rest: &mut Chars<'_>, digits: u32) -> Option<char> {
    let code = (0..digits).try_fold(0, |code, _| Some(code << 4 | rest.next()?.to_digit(16)?))?;
    char::from_u32(code)
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
