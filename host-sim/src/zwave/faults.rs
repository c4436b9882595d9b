//! What goes wrong on the line between the controller and the hub, on demand and repeatably.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::fault::Fault;
use super::noise;
use crate::random::Random;

/// Decides what goes wrong on the lines to one home. Cloning it gives another handle to the same, and everything can be
/// switched while the home is served. At first nothing goes wrong.
#[derive(Clone, Debug)]
pub struct Faults(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// How often the controller was told to restart.
    restarts: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    faults: [Rule; Fault::ALL.len()],
    /// The loose contact is loose until then.
    loose_until: Option<Instant>,
    /// The next answer ends in a restart.
    dies_answering: bool,
}

/// How one fault happens.
#[derive(Debug)]
struct Rule {
    /// Its own, so that the order in which lines of both directions pass does not matter.
    random: Random,
    rate: f64,
    /// How often it is to happen whatever the rate is.
    due: u32,
    count: u64,
}

/// One step of what really goes out instead of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Write(Vec<u8>),
    Wait(Duration),
    Restart,
    Close,
}

/// What becomes of a line of the hub's.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Arrives,
    Lost,
    /// The controller restarts before it arrives.
    RestartBefore,
    /// It arrives, and the controller restarts after this time.
    RestartAfter(Duration),
}

impl Faults {
    /// No faults; the seed decides the details of those to come.
    pub fn new(seed: u64) -> Self {
        let rule = |fault: Fault| {
            let random = Random::new(seed.wrapping_add((fault as u64) << 32));
            Rule { random, rate: 0.0, due: 0, count: 0 }
        };
        let state = State { faults: Fault::ALL.map(rule), loose_until: None, dies_answering: false };
        Self(Arc::new(Shared { state: Mutex::new(state), restarts: watch::Sender::new(0) }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().expect("no holder panics")
    }

    /// Lets a fault happen with this probability, for each line anew: 0 is never, 1 is always.
    pub fn set(&self, fault: Fault, rate: f64) {
        self.state().rule(fault).rate = rate;
        self.0.restarts.send_modify(|_| {});
    }

    /// Lets a fault happen always.
    pub fn on(&self, fault: Fault) {
        self.set(fault, 1.0);
    }

    /// Ends a fault, also what is left of [`once`](Self::once).
    pub fn off(&self, fault: Fault) {
        self.state().rule(fault).due = 0;
        self.set(fault, 0.0);
    }

    /// Ends all of them.
    pub fn clear(&self) {
        for fault in Fault::ALL {
            self.off(fault);
        }
        let mut state = self.state();
        (state.loose_until, state.dies_answering) = (None, false);
    }

    /// Lets a fault happen to the next line that it can happen to, and then as often as before. A line that is to be
    /// [`Closed`](Fault::Closed) is closed at once.
    pub fn once(&self, fault: Fault) {
        self.state().rule(fault).due += 1;
        self.0.restarts.send_modify(|_| {});
    }

    /// Pulls the plug: nothing passes either way.
    pub fn unplug(&self) {
        self.on(Fault::Unplugged);
    }

    /// Puts it in again. The controller had its power all along, and its session.
    pub fn plug(&self) {
        self.off(Fault::Unplugged);
    }

    /// Restarts the controller now, on every line to it.
    pub fn restart(&self) {
        self.state().rule(Fault::Reset).count += 1;
        self.0.restarts.send_modify(|count| *count += 1);
    }

    /// How often this fault has happened.
    pub fn count(&self, fault: Fault) -> u64 {
        self.state().rule(fault).count
    }

    /// Whether lines are closed always, so that none can be opened.
    pub fn is_closed(&self) -> bool {
        self.state().rule(Fault::Closed).rate >= 1.0
    }

    /// A place to wait for upheavals, which misses none from here on.
    pub(super) fn watch(&self) -> Watch {
        let restarts = self.0.restarts.subscribe();
        let known = *restarts.borrow();
        Watch { faults: self.clone(), restarts, known }
    }

    /// What becomes of a line of the hub's.
    pub(super) fn delivery(&self) -> Delivery {
        let mut state = self.state();
        if state.is_unplugged() || state.strikes(Fault::Deafness) {
            return Delivery::Lost;
        }
        if !state.strikes(Fault::Reset) {
            return Delivery::Arrives;
        }
        let random = &mut state.rule(Fault::Reset).random;
        match random.below(3) {
            0 => Delivery::RestartBefore,
            1 => Delivery::RestartAfter(Duration::from_millis(random.below(200))),
            _ => {
                state.dies_answering = true;
                Delivery::Arrives
            }
        }
    }

    /// What goes out instead of a line of the controller's, which has its end of line.
    pub(super) fn outgoing(&self, line: Vec<u8>) -> Vec<Step> {
        let mut state = self.state();
        if state.is_unplugged() {
            return Vec::new();
        }
        if std::mem::take(&mut state.dies_answering) {
            let (head, _) = halves(&line, &mut state.rule(Fault::Reset).random);
            return vec![Step::Write(head.into()), Step::Restart];
        }
        if state.strikes(Fault::Closed) {
            return vec![Step::Close];
        }
        if state.strikes(Fault::Silence) {
            return Vec::new();
        }
        let mut steps = Vec::new();
        if state.strikes(Fault::Garbage) {
            steps.push(Step::Write(noise::garbage(&mut state.rule(Fault::Garbage).random)));
        }
        if state.strikes(Fault::WrongId) {
            steps.push(Step::Write(noise::stray_answer(&mut state.rule(Fault::WrongId).random)));
        }
        if state.strikes(Fault::LongLine) {
            steps.push(Step::Write(noise::long_line(&mut state.rule(Fault::LongLine).random)));
        }
        if state.strikes(Fault::HalfLine) {
            let random = &mut state.rule(Fault::HalfLine).random;
            let mut half = halves(&line, random).0.to_vec();
            if random.happens(0.5) {
                half.push(b'\n');
            }
            steps.push(Step::Write(half));
            return steps;
        }
        if state.strikes(Fault::Slowness) {
            let random = &mut state.rule(Fault::Slowness).random;
            let (head, tail) = halves(&line, random);
            let mut pause = || Step::Wait(Duration::from_millis(100 + random.below(900)));
            steps.extend([pause(), Step::Write(head.into()), pause(), Step::Write(tail.into())]);
        } else {
            steps.push(Step::Write(line.clone()));
        }
        if state.strikes(Fault::Duplicate) {
            steps.push(Step::Write(line));
        }
        steps
    }

    /// How long the controller takes to start again, and what it says then.
    pub(super) fn boot(&self) -> (Duration, Vec<u8>) {
        let mut state = self.state();
        state.dies_answering = false;
        let random = &mut state.rule(Fault::Reset).random;
        (Duration::from_millis(200 + random.below(800)), noise::boot_log(random))
    }
}

/// Waits for what does not wait for a line.
#[derive(Debug)]
pub(super) struct Watch {
    faults: Faults,
    restarts: watch::Receiver<u64>,
    /// The restarts that have been noticed.
    known: u64,
}

impl Watch {
    /// Waits until the line is to end or the controller to restart. Dropping the future misses nothing.
    pub(super) async fn upheaval(&mut self) -> Step {
        loop {
            if self.catch_up() {
                return Step::Restart;
            }
            if self.faults.state().closes_now() {
                return Step::Close;
            }
            if self.restarts.changed().await.is_err() {
                // Not while the faults are here.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Notices the restarts so far; whether there were any.
    pub(super) fn catch_up(&mut self) -> bool {
        let count = *self.restarts.borrow_and_update();
        std::mem::replace(&mut self.known, count) != count
    }
}

impl State {
    /// Whether the line ends whatever passes on it.
    fn closes_now(&mut self) -> bool {
        let rule = self.rule(Fault::Closed);
        (rule.due > 0 || rule.rate >= 1.0) && self.strikes(Fault::Closed)
    }

    fn rule(&mut self, fault: Fault) -> &mut Rule {
        &mut self.faults[fault as usize]
    }

    /// Whether a fault happens now.
    fn strikes(&mut self, fault: Fault) -> bool {
        let rule = self.rule(fault);
        let strikes = rule.due > 0 || (rule.rate > 0.0 && rule.random.happens(rule.rate));
        if strikes {
            rule.due = rule.due.saturating_sub(1);
            rule.count += 1;
            log::debug!("zwave: fault: {fault}");
        }
        strikes
    }

    fn is_unplugged(&mut self) -> bool {
        if self.rule(Fault::Unplugged).rate >= 1.0 {
            self.rule(Fault::Unplugged).count += 1;
            return true;
        }
        let now = Instant::now();
        if self.loose_until.is_some_and(|until| now < until) {
            return true;
        }
        if !self.strikes(Fault::Unplugged) {
            return false;
        }
        let time = Duration::from_millis(500 + self.rule(Fault::Unplugged).random.below(9500));
        self.loose_until = Some(now + time);
        true
    }
}

/// A line in two, neither of which is empty or the end of the line alone.
fn halves<'l>(line: &'l [u8], random: &mut Random) -> (&'l [u8], &'l [u8]) {
    let cut = 1 + random.index(line.len().saturating_sub(2));
    line.split_at(cut.min(line.len()))
}
