//! The hub's own tools, one file each, and the list of them. `README.md` in this folder is the template for a new one.

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;

use crate::json::{Value, Writer};
use crate::seam::Platform;
use crate::tool::{Failure, Handlers, Success, Tool};

/// What the handlers work with.
pub struct Toolbox<'a, P> {
    /// The machine.
    pub platform: &'a P,
    /// Rung to have the hub restart, once the answer has left.
    pub restart: &'a Signal<NoopRawMutex, ()>,
}

/// Collects the tools: each name is a module in this folder with a `TOOL` and a `run`. Those after `examples` are only
/// registered when examples are wanted.
macro_rules! declare {
    ($($tool:ident)* ; examples $($example:ident)*) => {
        $(mod $tool;)*
        $(mod $example;)*

        /// Every tool the hub brings, in the order in which they are listed.
        pub static TOOLS: &[&Tool] = &[$(&$tool::TOOL),*];

        /// Tools that show how tools are made.
        pub static EXAMPLE_TOOLS: &[&Tool] = &[$(&$example::TOOL),*];

        impl<P: Platform> Handlers for Toolbox<'_, P> {
            async fn run(
                &self,
                name: &str,
                arguments: Value<'_>,
                result: &mut Writer<'_>,
            ) -> Option<Result<Success, Failure>> {
                $(if name == stringify!($tool) {
                    return Some($tool::run(self, arguments, result).await);
                })*
                $(if name == stringify!($example) {
                    return Some($example::run(self, arguments, result).await);
                })*
                None
            }
        }
    };
}

// To add a tool, write its file and name it here.
declare! {
    datetime
    volume
    math_eval
    echo
    restart_hub
    ; examples
    example_greeting
}
