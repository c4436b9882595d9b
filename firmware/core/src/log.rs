//! Five macros over [`hub_mqtt::log_at`], which knows the backend and says what can be shown.

// `$d` is a dollar sign: the macros that this one defines need their own. They are defined under a second
// name because `warn` alone would be ambiguous with the attribute.
macro_rules! define {
    ($d:tt $($level:ident $name:ident)*) => { $(
        #[allow(unused_macros, reason = "the five levels are one set")]
        macro_rules! $name {
            ($d($d arg:tt)*) => { ::hub_mqtt::log_at!($level, $d($d arg)*) };
        }
        #[allow(unused_imports, reason = "the five levels are one set")]
        pub(crate) use $name as $level;
    )* };
}

define!($ trace log_trace debug log_debug info log_info warn log_warn error log_error);
