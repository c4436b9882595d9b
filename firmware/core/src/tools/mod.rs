//! The hub's own tools, one file each, and the list of them. `README.md` in this folder is the template for a new one.

mod flags;

use core::cell::Cell;
use core::pin::{Pin, pin};

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Instant};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use crate::approval::{Admitted, Approvals, Approver, Assessment, Denial, GateSettings, Unanswered};
use crate::clock::{Clock, Reading};
use crate::config::Config;
use crate::home::Home;
use crate::json::{Value, Writer};
use crate::link::Port;
use crate::platform::Platform;
use crate::questions::Questions;
use crate::speaker::Speaker;
use crate::store::{Builtin, Store};
use crate::tool::{
    Addressed, Answer, Caller, ControllerCall, Failed, Failure, Handlers, Registry, Success, Tool, Withdrawn,
};

pub(crate) use self::datetime::write_now;

/// The documents that come with the firmware. A stored one of the same category and name replaces one of these.
pub const DOCUMENTS: &[Builtin<'static>] = &[
    Builtin { category: "hub", name: "about", text: include_str!("documents/about.md") },
    Builtin { category: "guidelines", name: "voice", text: include_str!("documents/voice.md") },
    Builtin { category: "guidelines", name: "safety", text: include_str!("documents/safety.md") },
];

/// What the handlers use of the hub. `S` is a [`Store`].
pub struct Toolbox<'a, P, S> {
    /// What the hub was started with.
    pub config: &'a Config<'a>,
    /// The machine.
    pub platform: &'a P,
    /// The time of day, on machines that do not know it themselves.
    pub clock: &'a Clock,
    /// Flags and documents.
    pub store: &'a Mutex<NoopRawMutex, S>,
    /// The controller.
    pub port: &'a Port,
    /// Questions to services, through the broker.
    pub questions: &'a Questions,
    /// The volume.
    pub speaker: &'a Speaker,
    /// The tools.
    pub registry: &'a Registry,
    /// The devices.
    pub home: &'a Home,
    /// The approvals that are pending.
    pub approvals: &'a Approvals,
    /// Signalled to restart the hub once the answer is sent.
    pub restart: &'a Signal<NoopRawMutex, ()>,
    /// Who wants what is done with it.
    pub caller: Caller<'a>,
    /// How long people have taken to decide about the current call. `None` for the hub as a whole, since each call
    /// counts its own time.
    pub decision_time: Option<&'a Cell<Duration>>,
}

impl<'a, P, S> Toolbox<'a, P, S> {
    /// The same toolbox for a single call.
    pub const fn on_behalf_of<'b>(
        &self,
        caller: Caller<'b>,
        decision_time: &'b Cell<Duration>,
    ) -> Toolbox<'b, P, S>
    where
        'a: 'b,
    {
        let Self {
            config,
            platform,
            clock,
            store,
            port,
            questions,
            speaker,
            registry,
            home,
            approvals,
            restart,
            ..
        } = *self;
        Toolbox {
            config,
            platform,
            clock,
            store,
            port,
            questions,
            speaker,
            registry,
            home,
            approvals,
            restart,
            caller,
            decision_time: Some(decision_time),
        }
    }
}

impl<'a, P, S> Toolbox<'a, P, S> {
    /// Decides about calls on behalf of the caller.
    const fn approver(&self) -> Approver<'a, S> {
        let Self { config, store, port, registry, home, approvals, caller, decision_time, .. } = *self;
        Approver { config, store, port, registry, home, approvals, caller, decision_time }
    }
}

impl<P: Platform, S> Toolbox<'_, P, S> {
    /// What time it is, and who said so.
    pub fn now(&self) -> Option<Reading> {
        self.clock.read(self.platform.wall_clock(), Instant::now())
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

        impl<'a, P: Platform, F: MultiwriteNorFlash> Handlers for Toolbox<'a, P, Store<'_, F>> {
            async fn run(
                &self,
                name: &str,
                arguments: Value<'_>,
                result: &mut Writer<'_>,
            ) -> Option<Result<Success, Failure>> {
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

            type GateSettings = GateSettings;
            type Assessment = Assessment;
            type Admitted = Admitted<'a>;
            type Denial = Denial;
            type Unanswered = Unanswered;

            async fn gate_settings(&self) -> GateSettings {
                self.approver().settings().await
            }

            async fn assess(
                &self,
                settings: &GateSettings,
                call: &ControllerCall<'_>,
            ) -> Result<(Assessment, Option<Addressed>), Denial> {
                self.approver().assess(settings, call).await
            }

            async fn admit(
                &self,
                settings: &GateSettings,
                call: &ControllerCall<'_>,
                assessment: &Assessment,
            ) -> Result<Admitted<'a>, Denial> {
                self.approver().admit(settings, call, assessment).await
            }

            async fn admit_builtin(&self, settings: &GateSettings, call: &ControllerCall<'_>) -> Result<(), Denial> {
                self.approver().admit_builtin(settings, call).await
            }

            fn denied(&self, call: &ControllerCall<'_>, why: Denial) -> Failure {
                why.explain(self.home, call)
            }

            async fn call(
                &self,
                admitted: Admitted<'a>,
                compose: impl FnOnce(&mut Writer<'_>) -> Result<(), Withdrawn>,
                read: impl FnOnce(Answer<'_>) -> Result<Success, Failed>,
            ) -> Result<Result<Success, Failed>, Unanswered> {
                admitted.call(self.port, compose, read).await
            }

            fn unanswered(&self, name: &str, why: Unanswered) -> Failure {
                why.failure(self.home, name)
            }

            fn decision_time(&self) -> Duration {
                self.decision_time.map_or(Duration::MIN, Cell::get)
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
    set_project_flag (in flags)
    get_project_flag (in flags)
    list_project_flags (in flags)
    set_feature_flag (in flags)
    get_feature_flag (in flags)
    list_feature_flags (in flags)
    get_content
    home_status
    undo
    restart_hub
    factory_reset
    ; examples
    example_greeting
}
