//! The faults of the line between the controller and the hub, on demand and repeatable.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use host_desktop::random::Random;
use tokio::sync::watch;
use tokio::time::Instant;

use super::fault::Fault;
use super::noise;

/// Decides which faults happen on the lines to one home. Cloning it gives another handle to the same. Everything can be
/// switched while the home is served. At first no fault happens.
#[derive(Clone, Debug)]
pub struct Faults(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    switches: Mutex<Switches>,
    /// How often the controller was told to restart.
    restarts: watch::Sender<u64>,
}

#[derive(Debug)]
struct Switches {
    faults: [Switch; Fault::ALL.len()],
    /// When the loose contact closes again.
    loose_until: Option<Instant>,
    /// The controller restarts in the middle of its next answer.
    restarts_answering: bool,
}

/// How often one fault happens.
#[derive(Debug)]
struct Switch {
    /// Its own, so that the order in which lines of both directions pass does not matter.
    random: Random,
    rate: f64,
    /// How often it happens next, whatever the rate is.
    due: u32,
    /// How often it has happened.
    count: u64,
}

/// One step of what is sent in place of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Write(Vec<u8>),
    Wait(Duration),
    Restart,
    Close,
}

/// What happens to a line from the hub.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    Arrives,
    Lost,
    /// The controller restarts before it arrives.
    RestartBefore,
    /// It arrives, and the controller restarts after this time.
    RestartAfter(Duration),
}

impl Faults {
    /// No faults; the seed decides the details of those that are switched on.
    pub fn new(seed: u64) -> Self {
        let switch = |fault: Fault| {
            let random = Random::new(seed.wrapping_add((fault as u64) << 32));
            Switch { random, rate: 0.0, due: 0, count: 0 }
        };
        let switches =
            Switches { faults: Fault::ALL.map(switch), loose_until: None, restarts_answering: false };
        Self(Arc::new(Shared { switches: Mutex::new(switches), restarts: watch::Sender::new(0) }))
    }

    fn switches(&self) -> MutexGuard<'_, Switches> {
        self.0.switches.lock().expect("no holder panics")
    }

    /// Lets a fault happen with this probability, for each line anew: 0 is never, 1 is always.
    pub fn set(&self, fault: Fault, rate: f64) {
        self.switches().of(fault).rate = rate;
        self.0.restarts.send_modify(|_| {});
    }

    /// Lets a fault happen always.
    pub fn on(&self, fault: Fault) {
        self.set(fault, 1.0);
    }

    /// Ends a fault, also what is left of [`once`](Self::once).
    pub fn off(&self, fault: Fault) {
        self.switches().of(fault).due = 0;
        self.set(fault, 0.0);
    }

    /// Ends all of them.
    pub fn clear(&self) {
        for fault in Fault::ALL {
            self.off(fault);
        }
        let mut switches = self.switches();
        (switches.loose_until, switches.restarts_answering) = (None, false);
    }

    /// Lets a fault happen to the next line that it can happen to, and then as often as before. A line that is to be
    /// [`Closed`](Fault::Closed) is closed at once.
    pub fn once(&self, fault: Fault) {
        self.switches().of(fault).due += 1;
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
        self.switches().of(Fault::Reset).count += 1;
        self.0.restarts.send_modify(|count| *count += 1);
    }

    /// How often this fault has happened.
    pub fn count(&self, fault: Fault) -> u64 {
        self.switches().of(fault).count
    }

    /// Whether lines are closed always, so that none can be opened.
    pub fn is_closed(&self) -> bool {
        self.switches().of(Fault::Closed).rate >= 1.0
    }

    /// Watches for closes and restarts from now on.
    pub(super) fn watch(&self) -> Watch {
        let restarts = self.0.restarts.subscribe();
        let known = *restarts.borrow();
        Watch { faults: self.clone(), restarts, known }
    }

    /// What happens to the next line from the hub.
    pub(super) fn arrival(&self) -> Arrival {
        let mut switches = self.switches();
        if switches.is_unplugged() || switches.happens(Fault::Deafness) {
            return Arrival::Lost;
        }
        if !switches.happens(Fault::Reset) {
            return Arrival::Arrives;
        }
        let random = &mut switches.of(Fault::Reset).random;
        match random.below(3) {
            0 => Arrival::RestartBefore,
            1 => Arrival::RestartAfter(Duration::from_millis(random.below(200))),
            _ => {
                switches.restarts_answering = true;
                Arrival::Arrives
            }
        }
    }

    /// What is sent in place of a line from the controller, which ends with `\n`.
    pub(super) fn outgoing(&self, line: Vec<u8>) -> Vec<Step> {
        let mut switches = self.switches();
        if switches.is_unplugged() {
            return Vec::new();
        }
        if std::mem::take(&mut switches.restarts_answering) {
            let (head, _) = halves(&line, &mut switches.of(Fault::Reset).random);
            return vec![Step::Write(head.into()), Step::Restart];
        }
        if switches.happens(Fault::Closed) {
            return vec![Step::Close];
        }
        if switches.happens(Fault::Silence) {
            return Vec::new();
        }
        let mut steps = Vec::new();
        if switches.happens(Fault::Garbage) {
            steps.push(Step::Write(noise::garbage(&mut switches.of(Fault::Garbage).random)));
        }
        if switches.happens(Fault::WrongId) {
            steps.push(Step::Write(noise::stray_answer(&mut switches.of(Fault::WrongId).random)));
        }
        if switches.happens(Fault::LongLine) {
            steps.push(Step::Write(noise::long_line(&mut switches.of(Fault::LongLine).random)));
        }
        if switches.happens(Fault::HalfLine) {
            let random = &mut switches.of(Fault::HalfLine).random;
            let mut half = halves(&line, random).0.to_vec();
            if random.happens(0.5) {
                half.push(b'\n');
            }
            steps.push(Step::Write(half));
            return steps;
        }
        if switches.happens(Fault::Slowness) {
            let random = &mut switches.of(Fault::Slowness).random;
            let (head, tail) = halves(&line, random);
            let mut pause = || Step::Wait(Duration::from_millis(100 + random.below(900)));
            steps.extend([pause(), Step::Write(head.into()), pause(), Step::Write(tail.into())]);
        } else {
            steps.push(Step::Write(line.clone()));
        }
        if switches.happens(Fault::Duplicate) {
            steps.push(Step::Write(line));
        }
        steps
    }

    /// How long the controller takes to restart, and its boot log.
    pub(super) fn boot(&self) -> (Duration, Vec<u8>) {
        let mut switches = self.switches();
        switches.restarts_answering = false;
        let random = &mut switches.of(Fault::Reset).random;
        (Duration::from_millis(200 + random.below(800)), noise::boot_log(random))
    }
}

/// Watches for the faults that do not wait for a line.
#[derive(Debug)]
pub(super) struct Watch {
    faults: Faults,
    restarts: watch::Receiver<u64>,
    /// The restarts that have been seen.
    known: u64,
}

impl Watch {
    /// Waits until the line closes or the controller restarts. Dropping the future misses nothing.
    pub(super) async fn close_or_restart(&mut self) -> Step {
        loop {
            if self.catch_up() {
                return Step::Restart;
            }
            if self.faults.switches().closes_now() {
                return Step::Close;
            }
            if self.restarts.changed().await.is_err() {
                // Cannot be: the sender lives as long as `faults`.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Sees the restarts so far. Returns whether there were new ones.
    pub(super) fn catch_up(&mut self) -> bool {
        let count = *self.restarts.borrow_and_update();
        std::mem::replace(&mut self.known, count) != count
    }
}

impl Switches {
    /// Whether the line closes at once, without waiting for a line of text.
    fn closes_now(&mut self) -> bool {
        let switch = self.of(Fault::Closed);
        (switch.due > 0 || switch.rate >= 1.0) && self.happens(Fault::Closed)
    }

    fn of(&mut self, fault: Fault) -> &mut Switch {
        &mut self.faults[fault as usize]
    }

    /// Whether a fault happens now.
    fn happens(&mut self, fault: Fault) -> bool {
        let switch = self.of(fault);
        let happens = switch.due > 0 || (switch.rate > 0.0 && switch.random.happens(switch.rate));
        if happens {
            switch.due = switch.due.saturating_sub(1);
            switch.count += 1;
            log::debug!("zwave: fault: {fault}");
        }
        happens
    }

    fn is_unplugged(&mut self) -> bool {
        if self.of(Fault::Unplugged).rate >= 1.0 {
            self.of(Fault::Unplugged).count += 1;
            return true;
        }
        let now = Instant::now();
        if self.loose_until.is_some_and(|until| now < until) {
            return true;
        }
        if !self.happens(Fault::Unplugged) {
            return false;
        }
        let time = Duration::from_millis(500 + self.of(Fault::Unplugged).random.below(9500));
        self.loose_until = Some(now + time);
        true
    }
}

/// A line in two, neither of which is empty or the end of the line alone.
fn halves<'l>(line: &'l [u8], random: &mut Random) -> (&'l [u8], &'l [u8]) {
    let cut = 1 + random.index(line.len().saturating_sub(2));
    line.split_at(cut.min(line.len()))
}
