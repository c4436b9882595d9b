//! Why the hub started: a record that outlives a restart, and what it says.
//!
//! A board keeps one [`BootRecord`] in memory that a restart leaves alone. After power-on that memory holds anything, so
//! nothing in a record is trusted before its check sum is. The order of a start is:
//!
//! 1. [`BootRecord::begin`], with what the chip says about the reset. The [`BootReport`] goes into the hub's configuration.
//! 2. [`BootRecord::settled`], once the hub has run long enough to call the start good.
//! 3. At the end [`BootRecord::restarting`], [`BootRecord::panicked`] or [`BootRecord::excepted`], then the reset. A watchdog or a
//!    power loss calls nothing.

use core::fmt::{self, Arguments, Display};

use crate::hash::Fnv32;
use crate::limits;
use crate::text::one_line;

#[cfg(test)]
mod tests;

/// What the chip says about the last reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Reset {
    /// The power came on. Whatever a record holds is left over.
    PowerOn,
    /// The firmware reset the chip.
    Software,
    /// A watchdog reset it.
    Watchdog,
    /// The supply voltage fell.
    Brownout,
    /// The reset button or the USB port.
    External,
    /// The chip does not say.
    Other,
}

/// Why the hub started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum StartReason {
    /// The power came on.
    PowerOn,
    /// A person or the hub itself asked for a restart.
    Restart,
    /// The firmware found an error in itself.
    Panic,
    /// The processor met an instruction or an address that is not there.
    Exception,
    /// The firmware hung.
    Watchdog,
    /// The supply voltage fell.
    Brownout,
    /// The reset button or the USB port.
    External,
    /// Nobody knows.
    Unknown,
}

impl StartReason {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::PowerOn,
        Self::Restart,
        Self::Panic,
        Self::Exception,
        Self::Watchdog,
        Self::Brownout,
        Self::External,
        Self::Unknown,
    ];

    /// The word in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::PowerOn => "power_on",
            Self::Restart => "restart",
            Self::Panic => "panic",
            Self::Exception => "exception",
            Self::Watchdog => "watchdog",
            Self::Brownout => "brownout",
            Self::External => "external",
            Self::Unknown => "unknown",
        }
    }

    /// The words for people, with what to check.
    pub const fn text(self) -> &'static str {
        match self {
            Self::PowerOn => "the power came on",
            Self::Restart => "it was told to restart",
            Self::Panic => "the firmware failed",
            Self::Exception => "the processor met an error",
            Self::Watchdog => "the firmware hung, and the watchdog restarted it",
            Self::Brownout => "the supply voltage fell; check power supply and cable",
            Self::External => "the USB port restarted it",
            Self::Unknown => "the chip does not say why",
        }
    }

    /// Whether the run before ended badly.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Panic | Self::Exception | Self::Watchdog | Self::Brownout)
    }
}

/// How a run ended, as far as it could say so itself.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum End {
    /// Not at all.
    Silent,
    Restarting,
    Panicked,
    Excepted,
}

impl End {
    const ALL: [Self; 4] = [Self::Silent, Self::Restarting, Self::Panicked, Self::Excepted];
}

/// What is known of the current start and of how the run before ended. Every bit pattern is a valid `BootRecord`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BootRecord {
    magic: u32,
    check_sum: u32,
    /// Starts since power-on.
    count: u32,
    /// Starts in a row that failed before they settled.
    failures: u32,
    is_settled: u32,
    /// An [`End`].
    end: u32,
    /// The last failure since a start settled, as its place in [`StartReason::ALL`]. It and what it said are kept until then: a
    /// start in safe mode, and one that somebody interrupts, tell nobody.
    failure: u32,
    /// Where it failed; 0 if that is not known.
    address: u32,
    /// Of the message.
    length: u32,
    message: [u8; limits::BOOT_MESSAGE],
}

/// `hwb2`: changes with the layout, so that a new firmware does not misread the record of an old one.
const MAGIC: u32 = 0x6877_6232;

impl BootRecord {
    /// All zeros, which is no record yet.
    pub const fn new() -> Self {
        Self {
            magic: 0,
            check_sum: 0,
            count: 0,
            failures: 0,
            is_settled: 0,
            end: 0,
            failure: 0,
            address: 0,
            length: 0,
            message: [0; _],
        }
    }

    /// A start begins. Reports why, and makes the record that of this start; garbage becomes a new record. Call once in
    /// every start, first of all.
    pub fn begin(&mut self, reset: Reset) -> BootReport {
        if reset == Reset::PowerOn {
            *self = Self::new();
        }
        self.clean();
        let reason = match (self.end(), reset) {
            (_, Reset::PowerOn) => StartReason::PowerOn,
            (End::Panicked, _) => StartReason::Panic,
            (End::Excepted, _) => StartReason::Exception,
            (_, Reset::Watchdog) => StartReason::Watchdog,
            (_, Reset::Brownout) => StartReason::Brownout,
            (_, Reset::External) => StartReason::External,
            (_, Reset::Software) | (End::Restarting, _) => StartReason::Restart,
            (End::Silent, Reset::Other) => StartReason::Unknown,
        };
        if reason.is_failure() {
            self.failure = reason as u32;
            if !matches!(self.end(), End::Panicked | End::Excepted) {
                // What is there was said by an earlier one.
                (self.address, self.length) = (0, 0);
            }
        }
        let is_failed = reason.is_failure() && self.is_settled == 0;
        self.failures = self.failures.saturating_add(u32::from(is_failed && self.count > 0));
        self.count = self.count.saturating_add(1);
        let report = BootReport {
            reason,
            count: self.count,
            failures: self.failures,
            last_failure: StartReason::ALL
                .into_iter()
                .find(|reason| *reason as u32 == self.failure && reason.is_failure()),
            address: self.address,
            length: self.length,
            message: self.message,
        };
        (self.is_settled, self.end) = (0, End::Silent as u32);
        self.seal();
        report
    }

    /// The start was good: no failure counts any more.
    pub fn settled(&mut self) {
        self.clean();
        *self = Self { count: self.count, is_settled: 1, ..Self::new() };
        self.seal();
    }

    /// The hub is about to restart because it was told to. That is no failure, and those before are forgotten: whoever
    /// restarts the hub has done something about them.
    pub fn restarting(&mut self) {
        self.clean();
        self.end = End::Restarting as u32;
        self.failures = 0;
        self.seal();
    }

    /// The firmware panicked; `address` is where, 0 if that is not known. What follows a first failure, such as an
    /// exception in the panic handler, changes nothing.
    pub fn panicked(&mut self, message: Arguments<'_>, address: u32) {
        self.failed(End::Panicked, message, address);
    }

    /// The processor raised an exception at `address`. Like [`panicked`](Self::panicked).
    pub fn excepted(&mut self, message: Arguments<'_>, address: u32) {
        self.failed(End::Excepted, message, address);
    }

    fn failed(&mut self, end: End, message: Arguments<'_>, address: u32) {
        self.clean();
        if matches!(self.end(), End::Panicked | End::Excepted) {
            return;
        }
        self.end = end as u32;
        self.address = address;
        let text = one_line::<{ limits::BOOT_MESSAGE }>(&message);
        self.length = 0;
        for (to, from) in self.message.iter_mut().zip(text.bytes()) {
            *to = from;
            self.length = self.length.saturating_add(1);
        }
        self.seal();
    }

    fn end(&self) -> End {
        let known = End::ALL.iter().find(|end| **end as u32 == self.end);
        known.copied().unwrap_or(End::Silent)
    }

    /// Makes garbage a new record.
    fn clean(&mut self) {
        if self.magic != MAGIC || self.check_sum != self.sum() {
            *self = Self::new();
        }
    }

    fn seal(&mut self) {
        self.magic = MAGIC;
        self.check_sum = self.sum();
    }

    /// A hash of all but the check sum. It finds what a voltage drop leaves; nobody forges it.
    fn sum(&self) -> u32 {
        let fields = [
            self.magic,
            self.count,
            self.failures,
            self.is_settled,
            self.end,
            self.failure,
            self.address,
            self.length,
        ];
        let bytes = fields.iter().flat_map(|field| field.to_le_bytes()).chain(self.message);
        Fnv32::of(bytes)
    }
}

/// Why this start happened, and after how many others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootReport {
    /// Why.
    pub reason: StartReason,
    /// Starts since power-on, this one included.
    pub count: u32,
    /// Starts in a row that failed before they settled, without this one.
    pub failures: u32,
    /// How the last run that failed did, if no start has settled since. The reason itself, if that is a failure.
    pub last_failure: Option<StartReason>,
    address: u32,
    length: u32,
    message: [u8; limits::BOOT_MESSAGE],
}

impl BootReport {
    /// The first start after power-on, and what a board without a record reports.
    pub const POWER_ON: Self = Self {
        reason: StartReason::PowerOn,
        count: 1,
        failures: 0,
        last_failure: None,
        address: 0,
        length: 0,
        message: [0; limits::BOOT_MESSAGE],
    };

    /// What the last failure, a panic or an exception, said, on one line. Empty if there was none.
    pub fn message(&self) -> &str {
        let message = self.message.get(..self.length as usize).unwrap_or_default();
        core::str::from_utf8(message).unwrap_or_default()
    }

    /// Where it was, for `addr2line`.
    pub const fn address(&self) -> Option<u32> {
        if self.address == 0 { None } else { Some(self.address) }
    }

    /// Too many starts failed: this one brings up only what is needed to find out why.
    pub const fn is_safe_mode(&self) -> bool {
        self.failures >= limits::FAILED_STARTS
    }
}

/// One sentence for the log.
impl Display for BootReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.count, self.reason) {
            (1, StartReason::PowerOn) => f.write_str("first start after power-on")?,
            (count, reason) => write!(f, "start {count} since power-on: {}", reason.text())?,
        }
        if let Some(failure) = self.last_failure.filter(|failure| *failure != self.reason) {
            write!(f, "; before that, {}", failure.text())?;
        }
        if let Some(address) = self.address() {
            write!(f, " at {address:#010x}")?;
        }
        let message = self.message();
        if message.is_empty() { Ok(()) } else { write!(f, ": {message}") }
    }
}
