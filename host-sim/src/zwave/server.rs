//! The MCP server in front of the home.

use std::sync::LazyLock;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use super::record::Fate;
use super::{Home, arguments, tools};

static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(tools::all);

/// Serves one MCP session, from its `initialize` on, until the stream ends. Dropping the future ends it with all
/// that it is working on.
pub(super) async fn serve(home: Home, stream: impl AsyncRead + AsyncWrite + Send + 'static) {
    match ServiceExt::serve(Server(home), stream).await {
        Ok(running) => match running.waiting().await {
            Ok(why) => log::debug!("zwave: the session is over: {why:?}"),
            Err(error) => log::error!("zwave: the session broke: {error}"),
        },
        Err(error) => log::debug!("zwave: no handshake: {error}"),
    }
}

struct Server(Home);

impl Server {
    /// Checks the arguments of a call, and runs it.
    async fn run(&self, tool: &Tool, arguments: &JsonObject) -> Result<CallToolResult, ErrorData> {
        arguments::check(&tool.name, &tool.input_schema, arguments)
            .map_err(|words| ErrorData::invalid_params(words, None))?;
        match self.0.controller().run(&tool.name, arguments).await {
            Some(Ok(answer)) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(answer.words)]);
                result.structured_content = answer.data;
                Ok(result)
            }
            Some(Err(words)) => Ok(CallToolResult::error(vec![ContentBlock::text(words)])),
            None => Err(ErrorData::internal_error(format!("{} is not implemented", tool.name), None)),
        }
    }
}

impl ServerHandler for Server {
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
        log::debug!("zwave: tools/list");
        Ok(ListToolsResult::with_all_items(TOOLS.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let id = context.id.clone().into_json_value();
        let shown = request
            .arguments
            .as_ref()
            .map_or_else(|| "nothing".into(), |a| Value::from(a.clone()).to_string());
        log::debug!("zwave: call {id}: {} with {shown}", request.name);
        let entry = self.0.record().enter(id.clone(), &request.name, request.arguments.clone());
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            entry.finish(Fate::Failed);
            let name: String = request.name.chars().take(64).collect();
            return Err(ErrorData::invalid_params(format!("Unknown tool '{name}'"), None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let outcome = tokio::select! {
            biased;
            () = context.ct.cancelled() => {
                log::debug!("zwave: call {id} was cancelled");
                drop(entry);
                // It is not sent: a cancelled request gets no answer.
                return Err(ErrorData::internal_error("Cancelled", None));
            }
            outcome = self.run(tool, &arguments) => outcome,
        };
        match &outcome {
            Ok(result) if result.is_error != Some(true) => {
                log::debug!("zwave: call {id} is done");
                entry.finish(Fate::Done);
            }
            failed => {
                log::debug!("zwave: call {id} failed: {failed:?}");
                entry.finish(Fate::Failed);
            }
        }
        outcome.map(Into::into)
    }

    /// Requests that the SDK cannot read end up here, too.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(match request.method.as_str() {
            "tools/call" => {
                let wrong = "tools/call needs params with a string 'name' and, if any, an object 'arguments'";
                ErrorData::invalid_params(wrong, None)
            }
            method => {
                let method: String = method.chars().take(64).collect();
                ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, method, None)
            }
        })
    }
}
