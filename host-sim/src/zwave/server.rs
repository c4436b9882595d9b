//! The MCP server in front of the home.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    Implementation, JsonObject, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, Tool, UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use super::gateway::Gateway;
use super::plans::Plans;
use super::record::Fate;
use super::updates::{self, Watched};
use super::{arguments, resource, tools};

/// Serves one MCP session, from its `initialize` on, until the stream ends. Dropping the future ends it with all
/// that it is working on.
pub(super) async fn serve(gateway: Gateway, stream: impl AsyncRead + AsyncWrite + Send + 'static) {
    // From before the handshake, so that no change is missed.
    let changes = gateway.controller.changes();
    let tools = tools::all(gateway.controller.bounds());
    let watched = Watched::default();
    match ServiceExt::serve(Server { gateway, tools, watched: watched.clone() }, stream).await {
        Ok(running) => {
            let peer = running.peer().clone();
            tokio::select! {
                over = running.waiting() => match over {
                    Ok(why) => log::debug!("zwave: the session is over: {why:?}"),
                    Err(error) => log::error!("zwave: the session broke: {error}"),
                },
                () = updates::forward(changes, peer, watched) => {}
            }
        }
        Err(error) => log::debug!("zwave: no handshake: {error}"),
    }
}

struct Server {
    gateway: Gateway,
    tools: Vec<Tool>,
    watched: Watched,
}

impl Server {
    /// Checks the arguments of a call, and runs it.
    async fn run(&self, tool: &Tool, arguments: &JsonObject) -> Result<CallToolResult, ErrorData> {
        arguments::check(&tool.name, &tool.input_schema, arguments)
            .map_err(|words| ErrorData::invalid_params(words, None))?;
        match self.gateway.toolbox().run(&tool.name, arguments).await {
            Some(Ok(answer)) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(answer.words)]);
                result.structured_content = answer.data;
                Ok(result)
            }
            Some(Err(words)) => Ok(CallToolResult::error(vec![ContentBlock::text(words)])),
            None => Err(ErrorData::internal_error(format!("{} is not implemented", tool.name), None)),
        }
    }

    /// The id and name of each resource: devices, then groups, then scenes.
    fn resources(&self) -> Vec<(String, String)> {
        let Plans { groups, scenes } = &*self.gateway.plans;
        let devices = self.gateway.controller.devices().into_iter().map(|device| (device.id, device.name));
        let names = groups.iter().map(|group| group.name.clone());
        let groups = resource::group_ids(groups).into_iter().zip(names);
        let names = scenes.iter().map(|scene| scene.name.clone());
        let scenes = resource::scene_ids(scenes).into_iter().zip(names);
        devices.chain(groups).chain(scenes).collect()
    }

    /// The resource with this URI as JSON.
    fn resource(&self, uri: &str) -> Option<String> {
        let id = uri.strip_prefix(resource::PREFIX)?;
        let Plans { groups, scenes } = &*self.gateway.plans;
        let devices = self.gateway.controller.devices();
        if let Some(device) = devices.iter().find(|device| device.id == id) {
            return Some(resource::device(device, &devices, groups));
        }
        let is_it = |other: &String| other == id;
        if let Some(index) = resource::group_ids(groups).iter().position(is_it) {
            return Some(resource::group(&groups[index], id, &devices, groups));
        }
        let index = resource::scene_ids(scenes).iter().position(is_it)?;
        Some(resource::scene(&scenes[index], id))
    }
}

fn no_resource(uri: &str) -> ErrorData {
    let uri: String = uri.chars().take(128).collect();
    ErrorData::resource_not_found(format!("There is no resource '{uri}'; resources/list has all"), None)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources();
        let capabilities = capabilities.enable_resources_subscribe().enable_resources_list_changed();
        let mut info = ServerConfig::new(capabilities.build());
        info.server_info = Implementation::new(self.gateway.controller.name(), env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        log::debug!("zwave: tools/list");
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    /// A page of [`PAGE`](resource::PAGE); the cursor is the id of the last one before it.
    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let all = self.resources();
        let start = match request.and_then(|request| request.cursor) {
            None => 0,
            Some(last) => {
                let index = all.iter().position(|(id, _)| *id == *last);
                let unknown = "The list has changed since this cursor; begin without one";
                1 + index.ok_or_else(|| ErrorData::invalid_params(unknown, None))?
            }
        };
        let rest = &all[start..];
        let page = &rest[..rest.len().min(resource::PAGE)];
        let entry = |(id, name): &(String, String)| {
            Resource::new(format!("{}{id}", resource::PREFIX), name).with_mime_type(resource::MIME)
        };
        let mut result = ListResourcesResult::with_all_items(page.iter().map(entry).collect());
        if page.len() < rest.len() {
            result.next_cursor = page.last().map(|(id, _)| id.clone());
        }
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let about = self.resource(&request.uri).ok_or_else(|| no_resource(&request.uri))?;
        let contents = ResourceContents::text(about, request.uri).with_mime_type(resource::MIME);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.resource(&request.uri).ok_or_else(|| no_resource(&request.uri))?;
        if self.watched.add(request.uri) {
            Ok(())
        } else {
            Err(ErrorData::invalid_params("This session watches too many resources", None))
        }
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watched.remove(&request.uri);
        Ok(())
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
        let entry = self.gateway.record.enter(id.clone(), &request.name, request.arguments.clone());
        let Some(tool) = self.tools.iter().find(|tool| tool.name == request.name) else {
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
