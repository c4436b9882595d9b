//! A simulated Z-Wave controller: a small home behind an MCP server, one JSON-RPC message a line.

use std::collections::BTreeMap;
use std::sync::Mutex;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

/// The home: switches by name, on or off.
#[derive(Debug)]
pub struct Home {
    switches: Mutex<BTreeMap<&'static str, bool>>,
}

impl Default for Home {
    fn default() -> Self {
        Self {
            switches: Mutex::new(
                ["Switch One", "Kitchen Light", "Porch Light"].map(|name| (name, false)).into(),
            ),
        }
    }
}

impl Home {
    /// Serves MCP on a stream until it ends.
    pub async fn serve(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        match ServiceExt::serve(self, tokio::io::split(stream)).await {
            Ok(running) => {
                let _ = running.waiting().await;
            }
            Err(error) => log::debug!("simulated controller: no handshake: {error}"),
        }
    }

    /// Starts one in the background, and returns the hub's end of the line to it.
    pub fn start() -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        tokio::spawn(Self::default().serve(theirs));
        ours
    }

    fn tools() -> Vec<Tool> {
        vec![
            Tool::new("list_devices", "Lists the devices of the home.", schema(json!({}), &[])),
            Tool::new(
                "control_zwave_device",
                "Switches a device on or off.",
                schema(
                    json!({
                        "deviceName": { "type": "string", "description": "The name of the device" },
                        "action": { "type": "string", "enum": ["on", "off", "toggle"], "description": "What to do" },
                    }),
                    &["deviceName", "action"],
                ),
            ),
        ]
    }

    fn list(&self) -> String {
        let switches = self.switches.lock().expect("no holder panics");
        let lines: Vec<_> = switches.iter().map(|(name, on)| format!("{name}: {}", word(*on))).collect();
        lines.join("\n")
    }

    fn control(&self, arguments: &JsonObject) -> Result<String, String> {
        let text = |name: &str| {
            arguments.get(name).and_then(Value::as_str).ok_or(format!("Missing required parameter: {name}"))
        };
        let (name, action) = (text("deviceName")?, text("action")?);
        let mut switches = self.switches.lock().expect("no holder panics");
        let switch = switches.get_mut(name).ok_or(format!("Device '{name}' not found"))?;
        *switch = match action {
            "on" => true,
            "off" => false,
            "toggle" => !*switch,
            other => return Err(format!("Unknown action '{other}'")),
        };
        Ok(format!("{name} is now {}", word(*switch)))
    }
}

fn word(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn schema(properties: Value, required: &[&str]) -> JsonObject {
    let mut schema = JsonObject::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties);
    schema.insert("required".into(), required.into());
    schema
}

impl ServerHandler for Home {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("simulated-zwave", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(Self::tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let outcome = match request.name.as_ref() {
            "list_devices" => Ok(self.list()),
            "control_zwave_device" => self.control(&arguments),
            other => return Err(ErrorData::invalid_params(format!("Unknown tool '{other}'"), None)),
        };
        Ok(match outcome {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
        }
        .into())
    }
}
