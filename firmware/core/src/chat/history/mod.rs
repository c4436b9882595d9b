//! What was said in a conversation, in a buffer of fixed size.
//!
//! A turn is a person's message and everything up to the next one. If space runs out, the history gives up, in this
//! order:
//!
//! 1. all but a summary of the results of earlier turns, and then their calls, oldest first
//! 2. all but a summary of the results of earlier rounds in the current turn, and then the summaries as well
//! 3. what the model said beside the calls of earlier rounds
//! 4. the ends of the longest results of the current round, down to [`limits::RESULT_SHORT`] bytes, with a mark
//! 5. whole turns, oldest first, except for the current one
//! 6. more of these results, down to [`limits::RESULT_SUMMARY`] bytes
//! 7. earlier rounds of the current turn, oldest first
//!
//! Calls and their results use all steps. The final answer uses the first six, and is then cut. What the model says
//! beside its calls uses the first four, and is then dropped.
//!
//! A call and its result are one record, so that neither is ever without the other. Space for the result is reserved
//! with the call, and space for the final answer at the beginning of the turn. [`Omitted`] counts the calls of the turn
//! that were removed or not run, for the model and for the caller.

mod message;
mod record;

use core::fmt::{Display, Write as _};

use heapless::String;

use self::message::{CallId, FailureResult, QuotedArguments, ToolName, is_same_round};
pub use self::message::{CallResult, EarlierTurns, Message, Messages, ModelCall, NoResult, Round};
use self::record::{
    ARGUMENTS, BARE, DONE, Draft, FAILED, Header, HistoryRecord, ID, INVALID, RESULT, RecordKind, Records,
    SUMMARISED,
};
use super::reply::{ModelText, RequestedCall};
use crate::json::{Cut, Kind, Value};
use crate::limits;
use crate::log::warn;
use crate::text::{MARK, Measure, clip};
use crate::tool::{Shortened, Summary};

/// Replaces an empty answer: providers refuse empty messages.
const NOTHING_SAID: &str = "(nothing said)";

/// Not enough space, even after everything that can be given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryFull;

/// The calls of the current turn that the history does not hold.
#[derive(Clone, Copy, Debug)]
pub struct Omitted {
    /// Removed calls that succeeded.
    pub succeeded: u8,
    /// Removed calls that failed.
    pub failed: u8,
    /// Removed calls that may have been done.
    pub unknown: u8,
    /// Calls in the newest reply of the model that were not run.
    pub left_out: u8,
    /// Calls that were not run in the whole turn. Each later call counts as one of them that the model asks for again.
    pub not_run: u16,
}

impl Omitted {
    /// No calls.
    pub const NONE: Self = Self { succeeded: 0, failed: 0, unknown: 0, left_out: 0, not_run: 0 };

    /// Removed calls.
    pub fn removed(&self) -> usize {
        [self.succeeded, self.failed, self.unknown].map(usize::from).iter().sum()
    }

    fn count_removed(&mut self, call: &ModelCall<'_>) {
        let count = match call.result {
            Some(result) if !result.is_error => &mut self.succeeded,
            Some(result) if result.is_unknown() => &mut self.unknown,
            _ => &mut self.failed,
        };
        *count = count.saturating_add(1);
    }

    fn count_round(&mut self, added: usize, left_out: usize) {
        let before = usize::from(self.not_run).saturating_sub(added + left_out);
        self.not_run = u16::try_from(before + left_out).unwrap_or(u16::MAX);
        self.left_out = u8::try_from(left_out).unwrap_or(u8::MAX);
    }
}

/// The history of one conversation.
#[derive(Debug)]
pub struct History {
    bytes: [u8; limits::HISTORY],
    used: usize,
    /// Where the current turn begins, which is the last one.
    current: usize,
    /// Whether the current turn has no final answer yet.
    is_open: bool,
    /// The round of calls in the current turn. Results of earlier rounds may be summarised.
    round: u8,
    omitted: Omitted,
    /// The number in the last generated id.
    last_id: u32,
}

// Lengths are stored in two bytes; the marks fit into the reserved space.
const _: () = assert!(limits::HISTORY <= u16::MAX as usize);
const _: () = assert!(limits::RESULT_LEAST > MARK.len() && limits::ANSWER_LEAST > Header::SIZE + MARK.len());

impl History {
    /// An empty one.
    pub const fn new() -> Self {
        Self {
            bytes: [0; limits::HISTORY],
            used: 0,
            current: 0,
            is_open: false,
            round: 0,
            omitted: Omitted::NONE,
            last_id: 0,
        }
    }

    /// Forgets everything.
    pub const fn clear(&mut self) {
        self.used = 0;
        self.current = 0;
        self.is_open = false;
        self.omitted = Omitted::NONE;
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
        self.omitted = Omitted::NONE;
        self.current = self.used;
        self.is_open = true;
        self.round = 0;
        self.append(&draft)
    }

    /// Adds the calls that the model asks for, and the text beside them. Stops at the first call that does not fit or
    /// exceeds the number of calls per round, and returns how many are left out. If not even the first call fits,
    /// nothing is added.
    pub fn add_calls<'a>(
        &mut self,
        iteration: u8,
        beside: ModelText<'_>,
        calls: impl Iterator<Item = RequestedCall<'a>>,
    ) -> Result<usize, HistoryFull> {
        self.round = iteration;
        let mut has_remark = !beside.is_blank();
        if has_remark {
            let parts: [&dyn Display; 3] = [&beside, &"", &""];
            let remark = Draft::new(RecordKind::Assistant, parts, limits::RESULT);
            has_remark = remark.is_some_and(|remark| {
                let fits = self.make_room(remark.header.total(), Self::shorten).is_ok();
                if fits {
                    self.put(&remark);
                }
                fits
            });
        }
        let (mut added, mut left_out) = (0, 0);
        for call in calls {
            // After a call that is left out, no further one is run.
            let is_over = left_out > 0 || added == limits::CALLS_AT_ONCE;
            let mut fits = !is_over && self.add_call(iteration, &call).is_ok();
            if !fits && added == 0 && has_remark {
                // What the model says beside it matters less than the call.
                self.used = self.turn().last().map_or(self.used, |remark| remark.at);
                has_remark = false;
                fits = self.add_call(iteration, &call).is_ok();
            }
            if fits {
                added += 1;
            } else {
                left_out += 1;
            }
        }
        self.omitted.count_round(added, left_out);
        if added == 0 { Err(HistoryFull) } else { Ok(left_out) }
    }

    fn add_call(&mut self, iteration: u8, call: &RequestedCall<'_>) -> Result<(), HistoryFull> {
        let id = self.id(call);
        let name = ToolName(call.name);
        let draft = |arguments, flags| {
            let mut draft =
                Draft::new(RecordKind::Call, [&id, &name, arguments], usize::MAX).ok_or(HistoryFull)?;
            draft.header.iteration = iteration;
            draft.header.flags = flags;
            Ok(draft)
        };
        // No tool accepts such long arguments, so nothing is given up for them.
        if Measure::Plain.length(&call.arguments) > limits::RESULT {
            return self.append(&draft(&QuotedArguments(&call.arguments), INVALID)?);
        }
        self.append(&draft(&call.arguments, 0)?)?;
        // The arguments can be parsed only after they are decoded.
        let Some(record) = self.turn().last() else { return Err(HistoryFull) };
        let arguments = record.part(ARGUMENTS);
        let is_blank = matches!(arguments.trim(), "" | "null");
        let is_object = Value::parse(arguments.as_bytes()).is_ok_and(|value| value.kind() == Kind::Object);
        if is_object {
            return Ok(());
        }
        self.used = record.at;
        let quoted = QuotedArguments(&call.arguments);
        let draft = if is_blank { draft(&"{}", 0)? } else { draft(&quoted, INVALID)? };
        self.append(&draft)
    }

    /// The next call that has no result.
    pub fn pending(&self) -> Option<ModelCall<'_>> {
        self.turn().find(HistoryRecord::is_pending).map(ModelCall::whole)
    }

    /// Sets the result of the [pending](Self::pending) call, a JSON object. A result that is too long is cut and
    /// remains a JSON object.
    pub fn set_result(&mut self, result: &str, is_error: bool) {
        // Beside the space that was reserved for this result.
        let beside = |room: usize| room.saturating_sub(limits::RESULT_LEAST);
        let mut room = result.len().min(limits::RESULT);
        if self.make_room(beside(room), Self::shorten).is_err() {
            room = room.min(limits::RESULT_SHORT).max(self.free() + limits::RESULT_LEAST);
            if self.make_room(beside(room), Self::drop_rounds).is_err() {
                room = self.free() + limits::RESULT_LEAST;
            }
        }
        let Some(call) = self.turn().find(HistoryRecord::is_pending) else { return };
        let shortened = Shortened { result, room };
        let length = Measure::Plain.length(&shortened);
        let (at, start, mut header) = (call.at, call.end(), call.header);
        header.flags |= DONE;
        if is_error {
            header.flags |= FAILED;
        }
        if length < result.len() {
            warn!("chat: a result of {} bytes is cut to {}", result.len(), length);
        }
        // It is at most `limits::RESULT`.
        header.lengths[RESULT] = length as u16;
        self.bytes.copy_within(start..self.used, start + length);
        self.used += length;
        if let Some(room) = self.bytes.get_mut(start..start + length) {
            record::fill(room, &shortened);
        }
        self.rewrite(at, &header);
    }

    /// Ends the turn with its final answer. What does not fit is cut.
    pub fn set_answer(&mut self, answer: &dyn Display) {
        if !self.is_open {
            return;
        }
        let wanted = answer_size(answer).saturating_sub(limits::ANSWER_LEAST);
        let most = match self.make_room(wanted, Self::evict) {
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
        let mut result = String::<{ limits::FAILURE_RESULT }>::new();
        // The buffer has room for the longest name.
        let _ = write!(result, "{}", FailureResult { failure, name });
        self.set_result(&result, true);
    }

    /// Ends a turn without the model's answer. If it made no calls, it is removed. Otherwise each pending call gets an
    /// error as its result, `running` for the one that was being run, and `answer` is the final answer.
    pub fn abort(&mut self, running: Option<NoResult>, answer: &str) {
        if !self.is_open {
            return;
        }
        let was_called =
            running.is_some() || self.omitted.removed() > 0 || self.turn().any(|record| record.has(DONE));
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

    /// The messages after the `turns` oldest turns, oldest first. `earlier` says how much of the turns before the
    /// current one they include.
    pub fn messages_after(&self, turns: usize, earlier: EarlierTurns) -> Messages<'_> {
        let mut begins = self.records(0).filter(|record| record.header.kind == RecordKind::User);
        let begin = begins.nth(turns).map_or(self.used, |record| record.at);
        Messages::new(self.records(begin), self.current, earlier, self.omitted)
    }

    /// The number of turns, with the current one.
    pub fn turns(&self) -> usize {
        self.records(0).filter(|record| record.header.kind == RecordKind::User).count()
    }

    /// The calls of the current turn that have a result, in order.
    pub fn calls(&self) -> impl Iterator<Item = ModelCall<'_>> + Clone {
        self.turn().filter(|record| record.has(DONE)).map(ModelCall::whole)
    }

    /// The other calls of the current turn.
    pub const fn omitted(&self) -> &Omitted {
        &self.omitted
    }

    fn records(&self, from: usize) -> Records<'_> {
        Records::new(self.bytes.get(..self.used).unwrap_or_default(), from)
    }

    fn turn(&self) -> Records<'_> {
        self.records(self.current)
    }

    /// Free space that is not reserved for results and the final answer.
    fn free(&self) -> usize {
        let pending = self.turn().filter(HistoryRecord::is_pending).count();
        let reserved = pending * limits::RESULT_LEAST + limits::ANSWER_LEAST;
        limits::HISTORY.saturating_sub(self.used + reserved)
    }

    /// Calls `give_up` until there is room. It returns whether it has freed anything.
    fn make_room(&mut self, wanted: usize, give_up: fn(&mut Self) -> bool) -> Result<(), HistoryFull> {
        while self.free() < wanted {
            if !give_up(self) {
                return Err(HistoryFull);
            }
        }
        Ok(())
    }

    /// Shortens results and calls, but keeps earlier turns and the calls of the current one.
    fn shorten(&mut self) -> bool {
        self.summarise_next((self.current, 0))
            || self.forget_calls()
            || self.summarise_next((self.current, self.round))
            || self.strip_next()
            || self.drop_remark()
            || self.cut_longest(limits::RESULT_SHORT)
    }

    /// Also evicts earlier turns, but keeps the calls of the current one.
    fn evict(&mut self) -> bool {
        self.shorten() || self.evict_oldest() || self.cut_longest(limits::RESULT_SUMMARY)
    }

    /// Also removes rounds of the current turn.
    fn drop_rounds(&mut self) -> bool {
        self.evict() || self.remove_round()
    }

    /// Leaves only a summary of the oldest result before this turn and round that has none yet.
    fn summarise_next(&mut self, before: (usize, u8)) -> bool {
        let next = self
            .records(0)
            .find(|record| record.has(DONE) && !record.has(SUMMARISED) && record.is_before(before));
        let Some((at, mut header)) = next.map(|record| (record.at, record.header)) else { return false };
        header.flags |= SUMMARISED;
        self.rewrite(at, &header);
        self.summarise(at, limits::RESULT_SUMMARY);
        true
    }

    /// Reduces the oldest call of an earlier round of the current turn to its arguments and whether it succeeded.
    fn strip_next(&mut self) -> bool {
        let earlier = (self.current, self.round);
        let next =
            self.turn().find(|record| record.has(DONE) && !record.has(BARE) && record.is_before(earlier));
        let Some((at, mut header)) = next.map(|record| (record.at, record.header)) else { return false };
        header.flags |= BARE;
        self.rewrite(at, &header);
        self.summarise(at, 0);
        let mut id = String::<{ limits::CALL_ID }>::new();
        let generated = self.generate_id();
        if write!(id, "{generated}").is_ok() && id.len() < header.length(ID) {
            self.replace(at, ID, &id);
        }
        true
    }

    /// Replaces a result by a summary of at most `room` bytes, if that is shorter.
    fn summarise(&mut self, at: usize, room: usize) {
        let Some(record) = self.records(at).next() else { return };
        let summary = Summary { result: record.part(RESULT), room };
        let mut text = String::<{ limits::RESULT_SUMMARY }>::new();
        if write!(text, "{summary}").is_ok() && text.len() < record.header.length(RESULT) {
            self.replace(at, RESULT, &text);
        }
    }

    /// Removes all calls of the oldest turn that has any, except the current turn.
    fn forget_calls(&mut self) -> bool {
        let Some(call) = self.records(0).find(|record| record.header.kind == RecordKind::Call) else {
            return false;
        };
        if call.at >= self.current {
            return false;
        }
        let is_user = |record: &HistoryRecord<'_>| record.header.kind == RecordKind::User;
        let Some(message) = self.records(0).take_while(|record| record.at < call.at).filter(is_user).last()
        else {
            return false;
        };
        // The turn ends with the answer.
        let answer = self.records(call.at).take_while(|record| !is_user(record)).last();
        let (from, to) = (message.end(), answer.map_or(call.at, |answer| answer.at));
        self.remove(from, to);
        from < to
    }

    /// Removes what the model said beside the calls of the oldest round of the current turn.
    fn drop_remark(&mut self) -> bool {
        let mut turn = self.turn();
        let is_followed_by_an_earlier_round = |record: &HistoryRecord<'_>| {
            let next = self.records(record.end()).next();
            next.is_some_and(|next| {
                next.header.kind == RecordKind::Call && next.header.iteration < self.round
            })
        };
        let remark = turn.find(|record| {
            record.header.kind == RecordKind::Assistant && is_followed_by_an_earlier_round(record)
        });
        let Some((from, to)) = remark.map(|remark| (remark.at, remark.end())) else { return false };
        self.remove(from, to);
        true
    }

    /// Evicts the oldest turn, unless it is the current one.
    fn evict_oldest(&mut self) -> bool {
        let next = self.records(0).skip(1).find(|record| record.header.kind == RecordKind::User);
        let end = next.map_or(self.current, |record| record.at).min(self.current);
        self.remove(0, end);
        end > 0
    }

    /// Removes the oldest round of the current turn, except the newest, and counts its calls by outcome. Comes after
    /// [`drop_remark`](Self::drop_remark), so that the round has no remark.
    fn remove_round(&mut self) -> bool {
        let is_earlier = |record: &HistoryRecord<'_>| {
            record.header.kind == RecordKind::Call && record.header.iteration < self.round
        };
        let Some(first) = self.turn().find(is_earlier) else { return false };
        let (from, mut to, mut omitted) = (first.at, first.at, self.omitted);
        for record in self.records(from).take_while(|record| is_same_round(&first, record)) {
            omitted.count_removed(&ModelCall::whole(record));
            to = record.end();
        }
        self.omitted = omitted;
        self.remove(from, to);
        true
    }

    /// Cuts the longest result of the current turn in half, but not below `least` bytes.
    fn cut_longest(&mut self, least: usize) -> bool {
        let Some(record) = self.turn().max_by_key(|record| record.header.length(RESULT)) else {
            return false;
        };
        let (at, mut header, old) = (record.at, record.header, record.header.length(RESULT));
        if old <= least {
            return false;
        }
        let Some(cut) = Cut::new(record.part(RESULT), least.max(old / 2)) else {
            self.summarise(at, limits::RESULT_SUMMARY);
            return self.records(at).next().is_some_and(|record| record.header.length(RESULT) < old);
        };
        let (kept, after) = (cut.before.len(), cut.after.len());
        let mut ending = String::<{ limits::CUT_ENDING }>::new();
        // The buffer has room for the longest ending.
        let _ = write!(ending, "{}", cut.ending);
        let start = at + header.offset(RESULT);
        let (end, new) = (start + old, kept + ending.len() + after);
        self.bytes.copy_within(end - after..self.used, start + kept + ending.len());
        self.used -= old - new;
        if let Some(room) = self.bytes.get_mut(start + kept..start + kept + ending.len()) {
            room.copy_from_slice(ending.as_bytes());
        }
        header.lengths[RESULT] = new as u16;
        self.rewrite(at, &header);
        true
    }

    /// Replaces a part of a record by a shorter text.
    fn replace(&mut self, at: usize, part: usize, text: &str) {
        let Some(mut header) = self.records(at).next().map(|record| record.header) else { return };
        let (start, old) = (at + header.offset(part), header.length(part));
        if let Some(room) = self.bytes.get_mut(start..start + text.len()).filter(|_| text.len() <= old) {
            room.copy_from_slice(text.as_bytes());
            self.remove(start + text.len(), start + old);
            if let Some(length) = header.lengths.get_mut(part) {
                // The new text is shorter, so its length fits.
                *length = text.len() as u16;
            }
            self.rewrite(at, &header);
        }
    }

    /// Removes these bytes. The range must not contain the beginning of the current turn.
    fn remove(&mut self, from: usize, to: usize) {
        self.bytes.copy_within(to..self.used, from);
        self.used -= to - from;
        if self.current >= to {
            self.current -= to - from;
        }
    }

    fn append(&mut self, draft: &Draft<'_>) -> Result<(), HistoryFull> {
        // A call reserves space for its result.
        let result = if draft.header.kind == RecordKind::Call { limits::RESULT_LEAST } else { 0 };
        self.make_room(draft.header.total() + result, Self::drop_rounds)?;
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
        if let Some(id) = call.id.and_then(CallId::given).filter(|id| !self.is_taken(id)) {
            return id;
        }
        self.generate_id()
    }

    /// Generates an id that no other call has.
    fn generate_id<'a>(&mut self) -> CallId<'a> {
        loop {
            self.last_id = self.last_id.wrapping_add(1);
            let id = CallId::Generated(self.last_id);
            // There are fewer calls than numbers.
            if !self.is_taken(&id) {
                return id;
            }
        }
    }

    fn is_taken(&self, id: &CallId<'_>) -> bool {
        let mut calls = self.records(0).filter(|record| record.header.kind == RecordKind::Call);
        calls.any(|record| id.is(record.part(ID)))
    }
}

/// The size of a final answer's record.
fn answer_size(answer: &dyn Display) -> usize {
    Header::SIZE + Measure::Plain.length(answer).clamp(NOTHING_SAID.len(), limits::RESULT)
}

/// The failure of a call that was never run.
const NOT_RUN: NoResult =
    NoResult { error: "Not run: the turn ended before", error_type: "cancelled", milliseconds: 0 };
