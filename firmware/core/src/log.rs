//! Five macros over `defmt` (boards) and `log` (desktop): the only file that knows the backend.
//!
//! Format strings use plain `{}`; arguments are strings and numbers, which both backends can show. The
//! texts are for a person who looks at them because something does not work.

// `$d` is a dollar sign: the macros that this one defines need their own. They are defined under a second
// name because `warn` alone would be ambiguous with the attribute.
macro_rules! define {
    ($d:tt $($level:ident $name:ident)*) => { $(
        #[allow(unused_macros, reason = "the five levels are one set")]
        macro_rules! $name {
            ($d($d arg:tt)*) => {{
                #[cfg(feature = "defmt")]
                ::defmt::$level!($d($d arg)*);
                #[cfg(all(feature = "log", not(feature = "defmt")))]
                ::log::$level!($d($d arg)*);
                #[cfg(not(any(feature = "defmt", feature = "log")))]
                { let _ = ::core::format_args!($d($d arg)*); }
            }};
        }
        #[allow(unused_imports, reason = "the five levels are one set")]
        pub(crate) use $name as $level;
    )* };
}

define!($ trace log_trace debug log_debug info log_info warn log_warn error log_error);
