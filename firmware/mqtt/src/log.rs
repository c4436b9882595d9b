//! The log macros over `defmt` (boards) and `log` (desktop): the only file that knows the backend.
//!
//! Format strings use plain `{}`; arguments are strings and numbers, which both backends can show. The
//! texts are for a person who looks at them because something does not work.

/// Logs at a level. Which backend that is, is decided by the features `defmt` and `log` of the package that calls it.
#[macro_export]
macro_rules! log_at {
    ($level:ident, $($arg:tt)*) => {{
        #[cfg(feature = "defmt")]
        ::defmt::$level!($($arg)*);
        #[cfg(all(feature = "log", not(feature = "defmt")))]
        ::log::$level!($($arg)*);
        #[cfg(not(any(feature = "defmt", feature = "log")))]
        { let _ = ::core::format_args!($($arg)*); }
    }};
}

macro_rules! log_debug {
    ($($arg:tt)*) => { $crate::log_at!(debug, $($arg)*) };
}

macro_rules! log_warn {
    ($($arg:tt)*) => { $crate::log_at!(warn, $($arg)*) };
}

pub(crate) use {log_debug as debug, log_warn as warn};
