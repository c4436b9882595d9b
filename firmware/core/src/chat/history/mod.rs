//! What was said in a conversation, in a buffer of fixed size.
//!
//! A turn is a person's message and everything up to the next one. When space is needed, whole turns are evicted, the
//! oldest first. The current turn stays; if it alone is too large, the longest results of its tools are cut and marked.
//! A call and its result are one record, so that neither is ever without the other. Space for the result is reserved
//! with the call, and space for the final answer at the beginning of the turn.

mod call;
mod message;
mod record;

use core::fmt::Display;

pub use self::call::NoResult;
use self::call::{CallId, FailureResult, QuotedArguments, ToolName};
pub use self::message::{Call, CallResult, Message, Messages, Round};
use self::record::{
    ARGUMENTS, DONE, Draft, FAILED, Header, ID, INVALID, RESULT, Record, RecordKind, Records,
};
use super::reply::{ModelText, RequestedCall};
use crate::json::{Kind, Value};
use crate::limits;
use crate::log::warn;
use crate::text::{MARK, Measure, clip};

/// Replaces an empty answer: providers refuse empty messages.
const NOTHING_SAID: &str = "(nothing said)";

/// Not enough space, even after evicting old turns and cutting results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryFull;

/// The history of one conversation.
#[derive(Debug)]
pub struct History {
    bytes: [u8; limits::HISTORY],
    used: usize,
    /// Where the current turn begins, which is the last one.
    current: usize,
    /// Whether the current turn has no final answer yet.
    is_open: bool,
    /// The number in the last generated id.
    last_id: u32,
}

// Lengths are stored in two bytes; the marks fit into the reserved space.
const _: () = assert!(limits::HISTORY <= u16::MAX as usize);
const _: () = assert!(limits::RESULT_LEAST > MARK.len() && limits::ANSWER_LEAST > Header::SIZE + MARK.len());

impl History {
    /// An empty one.
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

    /// Begins a turn with a person's message. A turn that was left open is aborted first. If the message does not fit,
    /// nothing changes.
    pub fn begin(&mut self, message: &dyn Display) -> Result<(), HistoryFull> {
        let parts: [&dyn Display; 3] = [message, &"", &""];
        let draft = Draft::new(RecordKind::User, parts, usize::MAX).ok_or(HistoryFull)?;
        if draft.header.total() + limits::ANSWER_LEAST > limits::HISTORY {
            return Err(HistoryFull);
        }
        self.abort(None, "");
        self.current = self.used;
        self.is_open = true;
        self.append(&draft)
    }

    /// Adds the calls that the model asks for, and the text beside them. All of them are added, or none.
    pub fn add_calls<'a>(
        &mut self,
        iteration: u8,
        beside: ModelText<'_>,
        calls: impl Iterator<Item = RequestedCall<'a>>,
    ) -> Result<(), HistoryFull> {
        let before = self.turn().count();
        let added = self.try_add_calls(iteration, beside, calls);
        if added.is_err()
            && let Some(first) = self.turn().nth(before).map(|record| record.at)
        {
            self.used = first;
        }
        added
    }

    fn try_add_calls<'a>(
        &mut self,
        iteration: u8,
        beside: ModelText<'_>,
        calls: impl Iterator<Item = RequestedCall<'a>>,
    ) -> Result<(), HistoryFull> {
        if !beside.is_blank() {
            let parts: [&dyn Display; 3] = [&beside, &"", &""];
            self.append(&Draft::new(RecordKind::Assistant, parts, limits::RESULT).ok_or(HistoryFull)?)?;
        }
        for call in calls {
            let id = self.id(&call);
            let name = ToolName(call.name);
            let draft = |arguments, flags| {
                let mut draft =
                    Draft::new(RecordKind::Call, [&id, &name, arguments], usize::MAX).ok_or(HistoryFull)?;
                draft.header.iteration = iteration;
                draft.header.flags = flags;
                Ok(draft)
            };
            // No older turn is evicted for arguments that no tool takes.
            if Measure::Plain.length(&call.arguments) > limits::RESULT {
                self.append(&draft(&QuotedArguments(&call.arguments), INVALID)?)?;
                continue;
            }
            self.append(&draft(&call.arguments, 0)?)?;
            // They can be parsed only once they are decoded.
            let Some(record) = self.turn().last() else { return Err(HistoryFull) };
            let arguments = record.part(ARGUMENTS);
            let is_blank = arguments.trim().is_empty();
            let is_object =
                Value::parse(arguments.as_bytes()).is_ok_and(|value| value.kind() == Kind::Object);
            if !is_object {
                self.used = record.at;
                let quoted = QuotedArguments(&call.arguments);
                let draft = if is_blank { draft(&"{}", 0)? } else { draft(&quoted, INVALID)? };
                self.append(&draft)?;
            }
        }
        Ok(())
    }

    /// The next call that has no result.
    pub fn pending(&self) -> Option<Call<'_>> {
        self.turn().find(Record::is_pending).map(Call::new)
    }

    /// Sets the result of the [pending](Self::pending) call. What does not fit is cut.
    pub fn set_result(&mut self, result: &dyn Display, is_error: bool) {
        let whole = Measure::Plain.length(result);
        let wanted = whole.min(limits::RESULT);
        let can_have = self.make_room(wanted.saturating_sub(limits::RESULT_LEAST));
        let Some(call) = self.turn().find(Record::is_pending) else { return };
        // With the space that was reserved for this result.
        let most = self.free() + limits::RESULT_LEAST;
        let length = if can_have.is_ok() { wanted } else { wanted.min(most) };
        let (at, start, mut header) = (call.at, call.end(), call.header);
        header.flags |= DONE;
        if is_error {
            header.flags |= FAILED;
        }
        if length < whole {
            warn!("chat: a result of {} bytes is cut to {}", whole, length);
        }
        // It is at most `limits::RESULT`.
        header.lengths[RESULT] = length as u16;
        self.bytes.copy_within(start..self.used, start + length);
        self.used += length;
        if let Some(room) = self.bytes.get_mut(start..start + length) {
            record::fill(room, result);
        }
        self.rewrite(at, &header);
    }

    /// Ends the turn with its final answer. What does not fit is cut.
    pub fn set_answer(&mut self, answer: &dyn Display) {
        if !self.is_open {
            return;
        }
        let most = match self.make_room(answer_size(answer).saturating_sub(limits::ANSWER_LEAST)) {
            Ok(()) => limits::RESULT,
            Err(HistoryFull) => self.free() + limits::ANSWER_LEAST - Header::SIZE,
        };
        let draft = Draft::new(RecordKind::Assistant, [answer, &"", &""], most.min(limits::RESULT));
        let Some(draft) = draft else { return };
        let draft = match draft.header.length(record::TEXT) {
            0 => Draft::new(RecordKind::Assistant, [&NOTHING_SAID, &"", &""], most).unwrap_or(draft),
            _ => draft,
        };
        self.is_open = false;
        self.put(&draft);
    }

    /// Sets a failure as the result of the [pending](Self::pending) call.
    pub fn set_failure(&mut self, failure: &NoResult) {
        let Some(name) = self.pending().map(|call| clip(&call.name)) else { return };
        self.set_result(&FailureResult { failure, name }, true);
    }

    /// Ends a turn without the model's answer. If it made no calls, it is removed. Otherwise each pending call gets an
    /// error as its result, `running` for the one that was being run, and `answer` is the final answer.
    pub fn abort(&mut self, running: Option<NoResult>, answer: &str) {
        if !self.is_open {
            return;
        }
        let was_called = running.is_some() || self.turn().any(|record| record.has(DONE));
        if !was_called {
            self.used = self.current;
            self.is_open = false;
            return;
        }
        let mut failure = running.unwrap_or(NOT_RUN);
        while self.pending().is_some() {
            self.set_failure(&failure);
            failure = NOT_RUN;
        }
        self.set_answer(&answer);
    }

    /// The messages after so many of the oldest turns, oldest first.
    pub fn messages_after(&self, turns: usize) -> Messages<'_> {
        let mut begins = self.records(0).filter(|record| record.header.kind == RecordKind::User);
        Messages::new(self.records(begins.nth(turns).map_or(self.used, |record| record.at)))
    }

    /// The number of turns, with the current one.
    pub fn turns(&self) -> usize {
        self.records(0).filter(|record| record.header.kind == RecordKind::User).count()
    }

    /// How many of the oldest turns begin before the last `bytes` of what was said. The current turn never does.
    pub fn turns_before_last(&self, bytes: usize) -> usize {
        let begin = self.used.saturating_sub(bytes).min(self.current);
        let begins = self.records(0).take_while(|record| record.at < begin);
        begins.filter(|record| record.header.kind == RecordKind::User).count()
    }

    /// The calls of the current turn that have a result, in order.
    pub fn calls(&self) -> impl Iterator<Item = Call<'_>> + Clone {
        self.turn().filter(|record| record.has(DONE)).map(Call::new)
    }

    fn records(&self, from: usize) -> Records<'_> {
        Records::new(self.bytes.get(..self.used).unwrap_or_default(), from)
    }

    fn turn(&self) -> Records<'_> {
        self.records(self.current)
    }

    /// Free space that is not reserved for results and the final answer.
    fn free(&self) -> usize {
        let pending = self.turn().filter(Record::is_pending).count();
        let reserved = pending * limits::RESULT_LEAST + limits::ANSWER_LEAST;
        limits::HISTORY.saturating_sub(self.used + reserved)
    }

    fn make_room(&mut self, wanted: usize) -> Result<(), HistoryFull> {
        while self.free() < wanted {
            if !self.evict_oldest() && !self.cut_longest() {
                return Err(HistoryFull);
            }
        }
        Ok(())
    }

    /// Evicts the oldest turn, unless it is the current one.
    fn evict_oldest(&mut self) -> bool {
        let next = self.records(0).skip(1).find(|record| record.header.kind == RecordKind::User);
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
        self.rewrite(at, &header);
        true
    }

    /// Whether a character begins at this byte, or the buffer ends.
    fn is_boundary(&self, at: usize) -> bool {
        self.bytes.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
    }

    fn append(&mut self, draft: &Draft<'_>) -> Result<(), HistoryFull> {
        // A call reserves space for its result.
        let result = if draft.header.kind == RecordKind::Call { limits::RESULT_LEAST } else { 0 };
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

    /// The id of a new call: the model's, if every provider accepts it and no other call has it.
    fn id<'a>(&mut self, call: &RequestedCall<'a>) -> CallId<'a> {
        let is_taken = |id: &CallId<'_>| {
            let calls = self.records(0).filter(|record| record.header.kind == RecordKind::Call);
            calls.into_iter().any(|record| id.is(record.part(ID)))
        };
        if let Some(id) = call.id.and_then(CallId::given).filter(|id| !is_taken(id)) {
            return id;
        }
        let mut number = self.last_id;
        loop {
            number = number.wrapping_add(1);
            let id = CallId::Generated(number);
            // There are fewer calls than numbers.
            if !is_taken(&id) {
                self.last_id = number;
                return id;
            }
        }
    }
}

/// The size of a final answer's record.
fn answer_size(answer: &dyn Display) -> usize {
    Header::SIZE + Measure::Plain.length(answer).clamp(NOTHING_SAID.len(), limits::RESULT)
}

/// The failure of a call that was never run.
const NOT_RUN: NoResult =
    NoResult { error: "Not run: the turn ended before", error_type: "cancelled", milliseconds: 0 };
