//! The time driver of `embassy-time`, standing on tokio's clock.
//!
//! With an ordinary runtime that is the wall clock. With a paused one (`start_paused`), time jumps to the
//! next timer whenever nothing else can run: an hour of keepalives passes in milliseconds, the same way in
//! every run.
//!
//! Timers belong to the thread that sets them, and are woken by a task of the runtime on that thread: use
//! it inside a current-thread runtime. Two runtimes on two threads do not disturb each other.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use tokio::runtime::{Handle, Id};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

struct TokioClock;

embassy_time_driver::time_driver_impl!(static DRIVER: TokioClock = TokioClock);

impl embassy_time_driver::Driver for TokioClock {
    fn now(&self) -> u64 {
        ticks(Instant::now() - epoch())
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        TIMERS.with_borrow_mut(|timers| timers.schedule(at, waker));
    }
}

thread_local! {
    static TIMERS: RefCell<Timers> = RefCell::default();
}

/// When this thread's runtime began: each runtime counts from its own zero.
fn epoch() -> Instant {
    TIMERS.with_borrow_mut(|timers| timers.pump().epoch)
}

fn ticks(since: Duration) -> u64 {
    since.as_micros().try_into().unwrap_or(u64::MAX)
}

#[derive(Default)]
struct Timers {
    /// Several wakers can wait for one moment; the order of setting decides among them.
    waiting: BTreeMap<u64, Vec<Waker>>,
    pump: Option<Pump>,
}

/// The task that wakes what is due. It lives and dies with one runtime.
#[derive(Clone)]
struct Pump {
    runtime: Id,
    epoch: Instant,
    earlier: Arc<Notify>,
}

impl Timers {
    fn pump(&mut self) -> Pump {
        let runtime = Handle::current().id();
        match &self.pump {
            Some(pump) if pump.runtime == runtime => pump.clone(),
            _ => {
                self.waiting.clear();
                let pump = Pump { runtime, epoch: Instant::now(), earlier: Arc::new(Notify::new()) };
                tokio::spawn(wake_what_is_due(pump.clone()));
                self.pump.insert(pump).clone()
            }
        }
    }

    fn schedule(&mut self, at: u64, waker: &Waker) {
        let pump = self.pump();
        let earliest = self.waiting.first_key_value().is_none_or(|(first, _)| at < *first);
        let wakers = self.waiting.entry(at).or_default();
        // A future sets its timer again each time it is polled.
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
        if earliest {
            pump.earlier.notify_one();
        }
    }

    fn take_due(&mut self, now: u64) -> Vec<Waker> {
        let later = self.waiting.split_off(&now.saturating_add(1));
        std::mem::replace(&mut self.waiting, later).into_values().flatten().collect()
    }
}

async fn wake_what_is_due(pump: Pump) {
    loop {
        let next = TIMERS.with_borrow(|timers| timers.waiting.first_key_value().map(|(at, _)| *at));
        let due = async {
            match next.and_then(|at| pump.epoch.checked_add(Duration::from_micros(at))) {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // In order, not by chance: a run in virtual time goes the same way every time.
            biased;
            () = due => {
                let now = ticks(Instant::now() - pump.epoch);
                // Woken outside the borrow: a waker may set a timer at once.
                let wakers = TIMERS.with_borrow_mut(|timers| timers.take_due(now));
                wakers.into_iter().for_each(Waker::wake);
            }
            () = pump.earlier.notified() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use embassy_time::{Duration, Instant, Timer, with_timeout};

    #[tokio::test(start_paused = true)]
    async fn an_hour_passes_at_once_and_to_the_millisecond() {
        let real = std::time::Instant::now();
        let start = Instant::now();
        Timer::after(Duration::from_secs(3600)).await;
        assert_eq!(start.elapsed().as_millis(), 3_600_000);
        assert!(real.elapsed().as_secs() < 60, "virtual time took real time");
    }

    #[tokio::test(start_paused = true)]
    async fn timers_fire_in_order_whatever_the_order_of_setting() {
        let fired = std::cell::RefCell::new(Vec::new());
        let after = async |ms| {
            Timer::after_millis(ms).await;
            fired.borrow_mut().push(ms);
        };
        tokio::join!(after(30), after(10), after(20), after(0));
        assert_eq!(*fired.borrow(), [0, 10, 20, 30]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_timer_does_not_disturb_later_ones() {
        assert!(with_timeout(Duration::from_millis(5), std::future::pending::<()>()).await.is_err());
        let start = Instant::now();
        Timer::after_millis(7).await;
        assert_eq!(start.elapsed().as_millis(), 7);
    }

    #[test]
    fn each_runtime_on_a_thread_starts_at_zero() {
        for _ in 0..2 {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
            runtime.unwrap().block_on(async {
                assert_eq!(Instant::now().as_millis(), 0);
                Timer::after_millis(250).await;
                assert_eq!(Instant::now().as_millis(), 250);
            });
        }
    }
}
