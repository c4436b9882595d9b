//! The executor ([`execute`]), and the hub's own tools, one file each, with the list of them. `README.md` in this folder is the template for a new one.

mod execute;
mod flag_tools;

use core::cell::Cell;
use core::pin::{Pin, pin};

use embassy_time::Duration;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use crate::approval::Approver;
use crate::context::HubContext;
use crate::json::{Value, Writer};
use crate::store::{Builtin, Store};
use crate::tool::{Caller, Execution, Implementation, Name, Tool, ToolResult};

pub(crate) use self::datetime::write_now;
pub use self::execute::{Handlers, execute};

/// The documents that come with the firmware. A stored one of the same category and name replaces one of these.
pub const DOCUMENTS: &[Builtin<'static>] = &[
    Builtin { category: "hub", name: "about", text: include_str!("documents/about.md") },
    Builtin { category: "guidelines", name: "voice", text: include_str!("documents/voice.md") },
    Builtin { category: "guidelines", name: "safety", text: include_str!("documents/safety.md") },
];

/// A call of a tool on somebody's behalf. `S` is a [`Store`].
pub(crate) struct ToolCall<'a, S> {
    /// The hub.
    pub(crate) hub: &'a HubContext<'a, S>,
    /// The caller.
    pub(crate) caller: Caller<'a>,
    /// How long people have taken to decide about this call.
    pub(crate) decision_time: &'a Cell<Duration>,
}

impl<'a, S> ToolCall<'a, S> {
    /// Decides about calls to the controller on behalf of the caller.
    const fn approver(&self) -> Approver<'a, S> {
        let Self { hub, caller, decision_time } = *self;
        let HubContext { config, store, port, registry, home, approvals, .. } = *hub;
        Approver {
            config,
            store,
            port,
            registry,
            home,
            approvals,
            caller,
            decision_time: Some(decision_time),
        }
    }
}

/// Whether this is the handler of a tool that declares that it changes nothing.
pub(crate) fn is_read_only(handler: &str) -> bool {
    let is_it = |tool: &&Tool<'_>| {
        matches!(tool.implementation, Implementation::Builtin(name) if name == handler)
            && tool.hints.read_only == Some(true)
    };
    TOOLS.iter().copied().any(|tool| is_it(&tool))
}

impl<F: MultiwriteNorFlash> ToolCall<'_, Store<'_, F>> {
    /// Runs the handler of a read-only tool without a call: no approval, log or result object. `None` if no read-only
    /// tool has this handler.
    pub(crate) async fn run_read_only(
        &self,
        handler: &str,
        arguments: Value<'_>,
        result: &mut Writer<'_>,
    ) -> Option<ToolResult> {
        if is_read_only(handler) { self.run(handler, arguments, result).await } else { None }
    }

    /// Makes the call, as [`execute`] describes it.
    pub(crate) async fn execute(
        &self,
        name: &Name,
        arguments: Value<'_>,
        reply: &mut Writer<'_>,
    ) -> Execution {
        execute(self, &self.approver(), name, arguments, reply).await
    }
}

/// Collects the tools: each name is a module with a `TOOL` and a `run`, in a file of that name or `in` another. Those after
/// `examples` are only registered when examples are wanted.
macro_rules! declare {
    (module $tool:ident) => {
        mod $tool;
    };
    (module $tool:ident $file:ident) => {
        use $file::$tool;
    };
    ($($tool:ident $((in $file:ident))?)* ; examples $($example:ident)*) => {
        $(declare!(module $tool $($file)?);)*
        $(mod $example;)*

        /// Every tool the hub brings, in the order in which they are listed.
        pub static TOOLS: &[&Tool<'static>] = &[$(&$tool::TOOL),*];

        /// Tools that show how tools are made.
        pub static EXAMPLE_TOOLS: &[&Tool<'static>] = &[$(&$example::TOOL),*];

        impl<F: MultiwriteNorFlash> Handlers for ToolCall<'_, Store<'_, F>> {
            async fn run(&self, name: &str, arguments: Value<'_>, result: &mut Writer<'_>) -> Option<ToolResult> {
                // Each behind a pointer: otherwise one stack frame would hold all of them.
                $(if name == stringify!($tool) {
                    let run: Pin<&mut dyn Future<Output = _>> = pin!($tool::run(self, arguments, result));
                    return Some(run.await);
                })*
                $(if name == stringify!($example) {
                    let run: Pin<&mut dyn Future<Output = _>> = pin!($example::run(self, arguments, result));
                    return Some(run.await);
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
    search
    math_eval
    echo
    set_project_flag (in flag_tools)
    get_project_flag (in flag_tools)
    list_project_flags (in flag_tools)
    set_feature_flag (in flag_tools)
    get_feature_flag (in flag_tools)
    list_feature_flags (in flag_tools)
    get_content
    home_status
    undo
    restart_hub
    factory_reset
    ; examples
    example_greeting
}
