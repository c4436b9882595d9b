//! Calls of tools with handlers that do what a test needs.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use embassy_sync::mutex::Mutex;
use hub_core::Config;
use hub_core::approval::{Approvals, Approver};
use hub_core::home::Home;
use hub_core::json::{Value as Text, Writer};
use hub_core::link::Port;
use hub_core::store::{self, Store};
use hub_core::tool::{
    Caller, ErrorType, Execution, Failure, Implementation, Name, Registry, Success, Tool, ToolResult,
};
use hub_core::tools::{Handlers, execute};
use serde_json::Value;
use support::log::log_text;
use support::result::assert_reply;
use test_flash::Flash;

/// The largest reply.
const REPLY: usize = hub_core::limits::REPLY;

pub static SWITCH: Tool<'static> = Tool {
    name: "switch",
    description: "Switches a device.",
    schema: r#"{"type":"object","properties":{
        "device_name":{"type":"string","description":"Which device"},
        "action":{"enum":["on","off","toggle"],"description":"What to do"},
        "level":{"type":"integer","minimum":0,"maximum":99,"description":"How bright"}},
        "required":["device_name","action"]}"#,
    implementation: Implementation::Builtin("record"),
    ..Tool::PLAIN
};

pub static STRICT: Tool<'static> = Tool { name: "strict", strict: true, ..SWITCH_LIKE };

const SWITCH_LIKE: Tool<'static> = Tool {
    schema: r#"{"type":"object","properties":{"a":{"type":"string","description":"A"}}}"#,
    implementation: Implementation::Builtin("record"),
    ..Tool::PLAIN
};

macro_rules! tools {
    ($($name:ident $tool:literal $implementation:expr;)*) => {
        $(pub static $name: Tool<'static> = Tool {
            name: $tool,
            description: "For tests.",
            implementation: $implementation,
            ..Tool::PLAIN
        };)*
    };
}

tools! {
    MOCK "mock" Implementation::Mock(r#"{"temperature":21.5}"#);
    SLOW "slow" Implementation::Builtin("slow");
    QUICK "quick" Implementation::Internal("quick");
    FOREVER "forever" Implementation::Internal("forever");
    PATIENT "patient" Implementation::LongRunning("quick");
    PATIENT_FOREVER "patient_forever" Implementation::LongRunning("forever");
    FAILING "failing" Implementation::Builtin("failing");
    DOWN "down" Implementation::Internal("down");
    LARGE "large" Implementation::Builtin("large");
    GUIDING "guiding" Implementation::Builtin("guiding");
    HEADLESS "headless" Implementation::Builtin("nobody");
    HEADLESS_INTERNAL "headless_internal" Implementation::Internal("nobody");
    CONTROLLERS "controllers" Implementation::Mcp;
}

/// Handlers, and a record of what they were called with.
#[derive(Default)]
pub struct Bench {
    pub calls: RefCell<Vec<Value>>,
    /// What had been logged when each call began.
    pub logs: RefCell<Vec<String>>,
    /// The number of calls that were dropped before they ended.
    pub cancelled: Cell<usize>,
}

/// Increments the count when it is dropped.
struct Cancelled<'a>(&'a Cell<usize>);

impl Drop for Cancelled<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

impl Handlers for Bench {
    async fn run(&self, name: &str, arguments: Text<'_>, result: &mut Writer<'_>) -> Option<ToolResult> {
        self.calls.borrow_mut().push(serde_json::from_str(arguments.text()).expect("JSON"));
        self.logs.borrow_mut().push(log_text());
        let waits = |milliseconds| tokio::time::sleep(Duration::from_millis(milliseconds));
        Some(match name {
            "record" | "quick" => {
                result.value("done");
                Ok(Success::PLAIN)
            }
            "slow" => {
                waits(1500).await;
                result.value("late");
                Ok(Success::PLAIN)
            }
            "forever" => {
                let _cancelled = Cancelled(&self.cancelled);
                std::future::pending().await
            }
            "failing" => {
                result.value("half a resu");
                waits(250).await;
                Err(Failure::failed(format_args!("the fuse is blown"))
                    .caused_by("FuseError", format_args!("fuse 7"))
                    .instructing("Do not try again."))
            }
            "down" => Err(Failure::new(ErrorType::Unavailable, format_args!("search: connection refused"))),
            "large" => {
                result.value("x".repeat(REPLY).as_str());
                Ok(Success::PLAIN)
            }
            "guiding" => {
                result.value(4u32);
                let mut success = Success::saying(format_args!("It is four."));
                success.instruction = Some("Say only the number.");
                Ok(success)
            }
            _ => return None,
        })
    }
}

impl Bench {
    /// Calls a tool of `tools`, and returns the result object and the event.
    pub async fn call(
        &self,
        tools: &[&'static Tool<'static>],
        name: &str,
        arguments: Value,
    ) -> (Value, Execution) {
        let registry = Registry::new();
        for tool in tools {
            registry.register(tool).expect("room");
        }
        let arguments = arguments.to_string();
        let arguments = Text::parse(arguments.as_bytes()).expect("JSON");
        let name = Name::try_from(name).expect("short");
        let mut buffer = vec![0; REPLY];
        let mut writer = Writer::new(&mut buffer);
        let open = writer.open();
        let mut memory = Box::new(store::StoreBuffers::new());
        let approver = Approver {
            config: &Config::DEFAULT,
            // Never opened: all settings are the defaults.
            store: &Mutex::new(Store::new(Flash::<4096>::new(1), &mut memory)),
            port: &Port::new(),
            registry: &registry,
            home: &Home::new(),
            approvals: &Approvals::new(),
            caller: Caller::Person,
            decision_time: None,
        };
        let event = execute(self, &approver, &name, arguments, &mut writer).await;
        writer.close(open);
        let length = writer.finish().expect("it fits");
        let reply = serde_json::from_slice(&buffer[..length]).expect("JSON");
        assert_reply(&reply);
        (reply, event)
    }
}
