//! What was said in a conversation, in fixed room.
//!
//! A turn is a person's message and everything up to the next one. When room is needed, whole turns are dropped, the
//! oldest first. The current turn stays; if it alone is too large, the longest results of its tools are cut, with a mark
//! that says so. A call and its result are one record, so that none is ever without the other; room for a result is kept
//! free from the moment of the call, and room for last words from the beginning of the turn.

mod call;
mod message;
mod record;

use core::fmt::Display;

use self::call::{Id, ToolName, Wrong};
pub use self::message::{Call, Message, Messages, Outcome, Round};
use self::record::{
    ARGUMENTS, CUT, DONE, Draft, FAILED, Header, ID, Kind, Nothing, RESULT, Record, Records, WRONG,
};
use super::reply::{Content, Requested};
use crate::json::{self, Value};
use crate::limits;
use crate::log::warn;
use crate::text::{Fill, MARK, Measure};

/// What stands in place of an answer that has no words: providers refuse messages without any.
const NOTHING_SAID: &str = "(nothing said)";

/// There is no room for it, even with everything dropped and cut that can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// One conversation.
#[derive(Debug)]
pub struct History {
    bytes: [u8; limits::HISTORY],
    used: usize,
    /// Where the current turn begins, the last one.
    current: usize,
    /// Whether the current turn has no last words yet.
    is_open: bool,
    /// The last number that an id was made of.
    last_id: u32,
}

// Lengths are counted in two bytes, and what is kept free fits.
const _: () = assert!(limits::HISTORY <= u16::MAX as usize);
const _: () = assert!(limits::RESULT_LEAST > MARK.len() && limits::ANSWER_LEAST > Header::SIZE + MARK.len());

impl History {
    /// Nothing was said.
    pub const fn new() -> Self {
        Self { bytes: [0; limits::HISTORY], used: 0, current: 0, is_open: false, last_id: 0 }
    }

    /// Forgets everything.
    pub const fn clear(&mut self) {
        self.used = 0;
        self.current = 0;
        self.is_open = false;
    }

    /// Bytes in use, of [`limits::HISTORY`].
    pub const fn used(&self) -> usize {
        self.used
    }

    /// The longest message that a turn can begin with.
    pub const LONGEST: usize = limits::HISTORY - limits::ANSWER_LEAST - Header::SIZE;

    /// A turn begins with what a person says. One that was left open is closed first. If it does not fit, nothing is
    /// dropped for it.
    pub fn begin(&mut self, message: &dyn Display) -> Result<(), Full> {
        let parts: [&dyn Display; 3] = [message, &Nothing, &Nothing];
        let draft = Draft::new(Kind::User, parts, usize::MAX).ok_or(Full)?;
        if draft.header.total() + limits::ANSWER_LEAST > limits::HISTORY {
            return Err(Full);
        }
        self.give_up(None, "");
        self.current = self.used;
        self.is_open = true;
        self.append(&draft)
    }

    /// The model asks for calls, perhaps with a few words beside them. All of them are kept, or none.
    pub fn request<'a>(
        &mut self,
        iteration: u8,
        beside: Content<'_>,
        calls: impl Iterator<Item = Requested<'a>>,
    ) -> Result<(), Full> {
        let before = self.turn().count();
        let added = self.try_request(iteration, beside, calls);
        if added.is_err()
            && let Some(first) = self.turn().nth(before).map(|record| record.at)
        {
            self.used = first;
        }
        added
    }

    fn try_request<'a>(
        &mut self,
        iteration: u8,
        beside: Content<'_>,
        calls: impl Iterator<Item = Requested<'a>>,
    ) -> Result<(), Full> {
        if !beside.is_blank() {
            let parts: [&dyn Display; 3] = [&beside, &Nothing, &Nothing];
            self.append(&Draft::new(Kind::Said, parts, limits::RESULT).ok_or(Full)?)?;
        }
        for call in calls {
            let id = self.id(&call);
            let name = ToolName(call.name);
            let draft = |arguments, flags| {
                let mut draft = Draft::new(Kind::Call, [&id, &name, arguments], usize::MAX).ok_or(Full)?;
                draft.header.iteration = iteration;
                draft.header.flags = flags;
                Ok(draft)
            };
            // Nothing else is to be forgotten for arguments that no tool can have meant.
            if Measure::Plain.length(&call.arguments) > limits::RESULT {
                self.append(&draft(&Wrong(&call.arguments), WRONG)?)?;
                continue;
            }
            self.append(&draft(&call.arguments, 0)?)?;
            // Only now that they are decoded can they be looked at.
            let Some(record) = self.turn().last() else { return Err(Full) };
            let arguments = record.part(ARGUMENTS);
            let is_blank = arguments.trim().is_empty();
            let is_object = match Value::parse(arguments.as_bytes()) {
                Ok(value) => value.kind() == json::Kind::Object,
                Err(_) => false,
            };
            if !is_object {
                self.used = record.at;
                let wrong = Wrong(&call.arguments);
                let draft = if is_blank { draft(&"{}", 0)? } else { draft(&wrong, WRONG)? };
                self.append(&draft)?;
            }
        }
        Ok(())
    }

    /// The next call that has no result.
    pub fn pending(&self) -> Option<Call<'_>> {
        self.turn().find(Record::is_pending).map(Call::new)
    }

    /// The result of the [pending](Self::pending) call. What does not fit is cut.
    pub fn answer(&mut self, result: &str, is_error: bool) {
        let wanted = result.len().min(limits::RESULT);
        let can_have = self.make_room(wanted.saturating_sub(limits::RESULT_LEAST));
        let Some(call) = self.turn().find(Record::is_pending) else { return };
        // What was kept free for this result.
        let most = self.room() + limits::RESULT_LEAST;
        let length = if can_have.is_ok() { wanted } else { wanted.min(most) };
        let (at, start, mut header) = (call.at, call.end(), call.header);
        header.flags |= DONE;
        if is_error {
            header.flags |= FAILED;
        }
        if length < result.len() {
            header.flags |= CUT;
            warn!("chat: a result of {} bytes is cut to {}", result.len(), length);
        }
        // It is at most `limits::RESULT`.
        header.lengths[RESULT] = length as u16;
        self.bytes.copy_within(start..self.used, start + length);
        self.used += length;
        self.fill(start, length, &result);
        self.rewrite(at, &header);
    }

    /// The last words of the turn. What does not fit is cut.
    pub fn say(&mut self, words: &dyn Display) {
        if !self.is_open {
            return;
        }
        let most = match self.make_room(self.to_say(words).saturating_sub(limits::ANSWER_LEAST)) {
            Ok(()) => limits::RESULT,
            Err(Full) => self.room() + limits::ANSWER_LEAST - Header::SIZE,
        };
        let draft = Draft::new(Kind::Said, [words, &Nothing, &Nothing], most.min(limits::RESULT));
        let Some(draft) = draft else { return };
        let draft = match draft.header.length(record::TEXT) {
            0 => Draft::new(Kind::Said, [&NOTHING_SAID, &Nothing, &Nothing], most).unwrap_or(draft),
            _ => draft,
        };
        self.is_open = false;
        self.put(&draft);
    }

    /// Ends a turn that has no answer. If nothing was called in it, it is forgotten. Otherwise the calls that have no
    /// result get one that says so, `running` for the one that was being run, and `words` are the last.
    pub fn give_up(&mut self, running: Option<&str>, words: &str) {
        if !self.is_open {
            return;
        }
        let was_called = running.is_some() || self.turn().any(|record| record.has(DONE));
        if !was_called {
            self.used = self.current;
            self.is_open = false;
            return;
        }
        let mut result = running.unwrap_or(NOT_RUN);
        while self.pending().is_some() {
            self.answer(result, true);
            result = NOT_RUN;
        }
        self.say(&words);
    }

    /// Everything that was said, oldest first.
    pub fn messages(&self) -> Messages<'_> {
        self.messages_after(0)
    }

    /// What was said after so many of the oldest turns.
    pub fn messages_after(&self, turns: usize) -> Messages<'_> {
        let mut begins = self.records(0).filter(|record| record.header.kind == Kind::User);
        Messages::new(self.records(begins.nth(turns).map_or(self.used, |record| record.at)))
    }

    /// How many turns there are, with the one that is going on.
    pub fn turns(&self) -> usize {
        self.records(0).filter(|record| record.header.kind == Kind::User).count()
    }

    /// The calls of the current turn that have a result, in the order in which they were made.
    pub fn calls(&self) -> impl Iterator<Item = Call<'_>> + Clone {
        self.turn().filter(|record| record.has(DONE)).map(Call::new)
    }

    fn records(&self, from: usize) -> Records<'_> {
        Records::new(self.bytes.get(..self.used).unwrap_or_default(), from)
    }

    fn turn(&self) -> Records<'_> {
        self.records(self.current)
    }

    /// What is free, apart from what is kept so for results and last words to come.
    fn room(&self) -> usize {
        let pending = self.turn().filter(Record::is_pending).count();
        let kept = pending * limits::RESULT_LEAST + limits::ANSWER_LEAST;
        limits::HISTORY.saturating_sub(self.used + kept)
    }

    fn make_room(&mut self, wanted: usize) -> Result<(), Full> {
        while self.room() < wanted {
            if !self.drop_oldest() && !self.cut_longest() {
                return Err(Full);
            }
        }
        Ok(())
    }

    /// Drops the oldest turn, if it is not the current one.
    fn drop_oldest(&mut self) -> bool {
        let next = self.records(0).skip(1).find(|record| record.header.kind == Kind::User);
        let end = next.map_or(self.current, |record| record.at).min(self.current);
        self.bytes.copy_within(end..self.used, 0);
        self.used -= end;
        self.current -= end;
        end > 0
    }

    /// Cuts the longest result of the current turn in half, if it is long.
    fn cut_longest(&mut self) -> bool {
        let longest = self.turn().max_by_key(|record| record.header.length(RESULT));
        let Some((at, mut header)) = longest.map(|record| (record.at, record.header)) else { return false };
        let old = header.length(RESULT);
        if old < 2 * limits::RESULT_LEAST {
            return false;
        }
        let start = at + header.offset(RESULT);
        let keep = (start + old / 2 - MARK.len()..).find(|at| self.is_boundary(*at)).unwrap_or(start);
        let end = keep + MARK.len();
        if let Some(room) = self.bytes.get_mut(keep..end) {
            room.copy_from_slice(MARK.as_bytes());
        }
        self.bytes.copy_within(start + old..self.used, end);
        self.used -= start + old - end;
        header.lengths[RESULT] = (end - start) as u16;
        header.flags |= CUT;
        self.rewrite(at, &header);
        true
    }

    /// Whether a character begins here, or the bytes end.
    fn is_boundary(&self, at: usize) -> bool {
        self.bytes.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
    }

    fn append(&mut self, draft: &Draft<'_>) -> Result<(), Full> {
        // A call will want a result.
        let result = if draft.header.kind == Kind::Call { limits::RESULT_LEAST } else { 0 };
        self.make_room(draft.header.total() + result)?;
        self.put(draft);
        Ok(())
    }

    fn put(&mut self, draft: &Draft<'_>) {
        let end = self.used + draft.header.total();
        if let Some(room) = self.bytes.get_mut(self.used..end) {
            draft.write(room);
            self.used = end;
        }
    }

    fn rewrite(&mut self, at: usize, header: &Header) {
        if let Some(room) = self.bytes.get_mut(at..at + Header::SIZE) {
            room.copy_from_slice(&header.encode());
        }
    }

    fn fill(&mut self, start: usize, length: usize, text: &dyn Display) {
        if let Some(rest) = self.bytes.get_mut(start..start + length) {
            rest.fill(b' ');
            // It was measured, and is cut if it must be.
            let _ = Measure::Plain.write(text, length, &mut Fill { rest });
        }
    }

    /// Bytes that last words take.
    fn to_say(&self, words: &dyn Display) -> usize {
        Header::SIZE + Measure::Plain.length(words).clamp(NOTHING_SAID.len(), limits::RESULT)
    }

    /// The id of a new call: its own, if every provider takes it and no other call has it.
    fn id<'a>(&mut self, call: &Requested<'a>) -> Id<'a> {
        let is_taken = |id: &Id<'_>| {
            let calls = self.records(0).filter(|record| record.header.kind == Kind::Call);
            calls.into_iter().any(|record| id.is(record.part(ID)))
        };
        if let Some(id) = call.id.and_then(Id::given).filter(|id| !is_taken(id)) {
            return id;
        }
        let mut number = self.last_id;
        loop {
            number = number.wrapping_add(1);
            let id = Id::Made(number);
            // There are fewer calls than numbers.
            if !is_taken(&id) {
                self.last_id = number;
                return id;
            }
        }
    }
}

/// What a model reads of a call that was never made.
const NOT_RUN: &str = r#"{"success":false,"error":"Not run: the turn ended before"}"#;
