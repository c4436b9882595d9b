//! The calls that reached the controller.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use rmcp::model::JsonObject;
use serde_json::Value;

/// How many calls are kept; older ones are evicted. A simulator may run for months.
const CAPACITY: usize = 100_000;

/// One call that reached the controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The JSON-RPC id of the request: a number or a string.
    pub id: Value,
    /// The tool, known or not.
    pub tool: String,
    /// The arguments as they came.
    pub arguments: Option<JsonObject>,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is running.
    Running,
    /// It was done.
    Done,
    /// It was rejected, or it failed.
    Failed,
    /// The caller cancelled it, or the controller restarted. What it had done by then stays done.
    Cancelled,
}

/// The calls that reached a controller, in their order. Cloning it gives another handle to the same.
#[derive(Clone, Debug, Default)]
pub struct Record(Arc<Mutex<Calls>>);

#[derive(Debug, Default)]
struct Calls {
    calls: VecDeque<Call>,
    /// How many have been evicted.
    evicted: usize,
}

impl Record {
    /// All calls so far, the oldest first.
    pub fn calls(&self) -> Vec<Call> {
        self.lock().calls.iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().expect("no holder panics")
    }

    /// Evicts all calls so far.
    pub fn clear(&self) {
        let mut inner = self.lock();
        inner.evicted += inner.calls.len();
        inner.calls.clear();
    }

    /// A call has come. It counts as cancelled when the entry is dropped before it ends.
    pub(super) fn enter(&self, id: Value, tool: &str, arguments: Option<JsonObject>) -> Entry {
        let mut inner = self.lock();
        if inner.calls.len() == CAPACITY {
            inner.calls.pop_front();
            inner.evicted += 1;
        }
        inner.calls.push_back(Call { id, tool: tool.into(), arguments, fate: Fate::Running });
        Entry { record: self.clone(), number: inner.evicted + inner.calls.len() - 1 }
    }
}

/// One running call in the record.
#[derive(Debug)]
pub(super) struct Entry {
    record: Record,
    number: usize,
}

impl Entry {
    /// The call has ended.
    pub(super) fn finish(self, fate: Fate) {
        self.set(fate);
    }

    fn set(&self, fate: Fate) {
        let mut inner = self.record.lock();
        let Some(index) = self.number.checked_sub(inner.evicted) else { return };
        if let Some(call) = inner.calls.get_mut(index)
            && call.fate == Fate::Running
        {
            call.fate = fate;
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.set(Fate::Cancelled);
    }
}

#[cfg(test)]
mod tests {
    use super::{CAPACITY, Fate, Record};

    #[test]
    fn a_call_that_does_not_end_was_cancelled() {
        let record = Record::default();
        let (first, second) = (record.enter(1.into(), "one", None), record.enter(2.into(), "two", None));
        assert_eq!(record.calls()[0].fate, Fate::Running);
        drop(first);
        second.finish(Fate::Done);
        let fates: Vec<_> = record.calls().iter().map(|call| call.fate).collect();
        assert_eq!(fates, [Fate::Cancelled, Fate::Done]);
    }

    #[test]
    fn eviction_does_not_move_the_rest() {
        let record = Record::default();
        let early = record.enter(0.into(), "early", None);
        for _ in 0..CAPACITY {
            record.enter(1.into(), "many", None).finish(Fate::Done);
        }
        early.finish(Fate::Failed);
        assert!(record.calls().iter().all(|call| call.fate == Fate::Done));
        let late = record.enter(2.into(), "late", None);
        record.clear();
        late.finish(Fate::Failed);
        assert_eq!(record.calls(), []);
    }
}
