//! Recognises congestion: the broker has queued more for the hub than the hub can take.
//!
//! A broker queues messages for a slow client, mosquitto up to 1000 of any size, and its acknowledgements and the requests of
//! other callers wait behind them. One client that sends large messages can fill the queue within a second; to drain it takes
//! a board minutes. The broker reports nothing of this, so two signs have to do: acknowledgements are late although messages
//! keep arriving, or the hub has refused requests at a high rate for some time without a pause.

use embassy_time::{Duration, Instant};
use minimq::Op;

/// Acknowledgements that take longer are late. Most take milliseconds.
const LATE: Duration = Duration::from_secs(2);

/// How long acknowledgements may be late, or refusals follow each other, before the connection counts as congested.
const TOLERATED: Duration = Duration::from_secs(5);

/// Messages that have to arrive before a missing acknowledgement. A radio that is out of reach brings neither.
const ARRIVALS: u8 = 8;

/// A pause between two refusals that ends a row of them.
const PAUSE: Duration = Duration::from_secs(1);

/// What a row of refusals costs at least, in bytes, within [`TOLERATED`]. A program that keeps sending wrong requests stays below
/// it, even if they are large: the hub keeps up with them.
const ROW: usize = 512 * 1024;

/// What a refusal costs besides the bytes of the request.
const REFUSAL: usize = 1024;

/// The signs of congestion on one connection.
pub(super) struct Congestion {
    /// A publication that waits for its acknowledgement, and since when.
    unacknowledged: Option<(Op, Instant)>,
    /// Messages that have arrived since then.
    arrived: u8,
    row: Row,
}

/// Refusals without a pause between them. A row that has lasted for [`TOLERATED`] is either costly enough, or over.
struct Row {
    first: Instant,
    last: Instant,
    bytes: usize,
}

impl Congestion {
    pub(super) const fn new() -> Self {
        let row = Row { first: Instant::MIN, last: Instant::MIN, bytes: 0 };
        Self { unacknowledged: None, arrived: 0, row }
    }

    /// Something was published that the broker acknowledges.
    pub(super) fn on_published(&mut self, op: Op) {
        if self.unacknowledged.is_none() {
            self.unacknowledged = Some((op, Instant::now()));
            self.arrived = 0;
        }
    }

    /// A message has arrived.
    pub(super) fn on_message(&mut self) {
        self.arrived = self.arrived.saturating_add(1);
    }

    /// Takes note of acknowledgements: `is_pending` tells which are missing.
    pub(super) fn update(&mut self, is_pending: impl Fn(&Op) -> bool) {
        if self.unacknowledged.is_some_and(|(op, _)| !is_pending(&op)) {
            self.unacknowledged = None;
        }
    }

    /// A request of so many bytes was refused.
    pub(super) fn on_refused(&mut self, bytes: usize) {
        let now = Instant::now();
        let is_over = now - self.row.last > PAUSE || self.row.is_long() && !self.row.is_costly();
        if self.row.bytes == 0 || is_over {
            self.row = Row { first: now, last: now, bytes: 0 };
        }
        self.row.last = now;
        self.row.bytes = self.row.bytes.saturating_add(bytes).saturating_add(REFUSAL);
    }

    /// Whether acknowledgements are late. Whatever can do without should.
    pub(super) fn is_late(&self) -> bool {
        self.unacknowledged.is_some_and(|(_, since)| since.elapsed() > LATE)
    }

    /// Whether so much waits at the broker that it is better dropped.
    pub(super) fn is_hopeless(&self) -> bool {
        let is_silent = self.unacknowledged.is_some_and(|(_, since)| since.elapsed() > TOLERATED);
        is_silent && self.arrived >= ARRIVALS || self.row.is_long() && self.row.is_costly()
    }
}

impl Row {
    fn is_long(&self) -> bool {
        self.last - self.first > TOLERATED
    }

    fn is_costly(&self) -> bool {
        self.bytes >= ROW
    }
}
