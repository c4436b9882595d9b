//! The MCP server in front of the home.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    Implementation, JsonObject, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, Tool, UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep};

use super::controller::sentences;
use super::gateway::Gateway;
use super::plans::Plans;
use super::record::Fate;
use super::snapshot::Snapshot;
use super::updates::{self, Watched};
use super::{arguments, resource, tools};

/// How long `resources/list` waits for a complete list, and how often it looks. A hub waits longer for an answer.
const LIST_WAIT: Duration = Duration::from_secs(5);
const LIST_POLL: Duration = Duration::from_millis(50);

/// Serves one MCP session, from its `initialize` on, until the stream ends. Dropping the future ends it with all
/// that it is working on.
pub(super) async fn serve(gateway: Gateway, stream: impl AsyncRead + AsyncWrite + Send + 'static) {
    // From before the handshake, so that no change is missed.
    let changes = gateway.controller.changes();
    let tools = tools::all(gateway.controller.bounds());
    let watched = Watched::default();
    let server = Server { gateway: gateway.clone(), tools, watched: watched.clone() };
    match ServiceExt::serve(server, stream).await {
        Ok(running) => {
            let peer = running.peer().clone();
            tokio::select! {
                over = running.waiting() => match over {
                    Ok(why) => log::debug!("zwave: the session is over: {why:?}"),
                    Err(error) => log::error!("zwave: the session broke: {error}"),
                },
                () = updates::forward(changes, peer, watched, gateway) => {}
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
            Some(Err(error)) => {
                let mut result = CallToolResult::error(vec![ContentBlock::text(error.words)]);
                result.structured_content = error.is_unknown.then(|| json!({ "outcome": "unknown" }));
                Ok(result)
            }
            None => Err(ErrorData::internal_error(format!("{} is not implemented", tool.name), None)),
        }
    }

    /// Waits a little until all devices are known. A list that is not complete is never told: a hub would take it for the
    /// whole home, and what is missing in it for harmless.
    async fn complete(&self) -> Result<(), ErrorData> {
        let until = Instant::now() + LIST_WAIT;
        loop {
            match self.gateway.controller.complete() {
                Ok(()) => return Ok(()),
                Err(why) if Instant::now() >= until => {
                    return Err(ErrorData::internal_error(
                        sentences(&why, "Ask for the list again later"),
                        None,
                    ));
                }
                Err(_) => sleep(LIST_POLL).await,
            }
        }
    }

    /// The resource with this URI as JSON.
    fn resource(&self, uri: &str) -> Result<String, ErrorData> {
        let devices = self.gateway.controller.devices();
        self.gateway.resource(uri, &devices).ok_or_else(|| self.no_resource(uri))
    }

    fn no_resource(&self, uri: &str) -> ErrorData {
        let uri: String = uri.chars().take(128).collect();
        match self.gateway.controller.complete() {
            Ok(()) => {
                let words = format!("There is no resource '{uri}'; resources/list has all");
                ErrorData::resource_not_found(words, None)
            }
            Err(why) => {
                ErrorData::internal_error(sentences(&why, &format!("Ask for '{uri}' again later")), None)
            }
        }
    }

    /// The id and name of each resource. Guarded devices come first, then groups and scenes, then all other devices: a hub
    /// that has room for the beginning of the list only must not miss a lock.
    fn resources(&self) -> Vec<(String, String)> {
        let Plans { groups, scenes } = &*self.gateway.plans;
        let devices = self.gateway.controller.devices();
        let (guarded, others): (Vec<_>, Vec<_>) =
            devices.into_iter().partition(|device| device.status.is_guarded());
        let named = |device: Snapshot| (device.id, device.name);
        let names = groups.iter().map(|group| group.name.clone());
        let groups = resource::group_ids(groups).into_iter().zip(names);
        let names = scenes.iter().map(|scene| scene.name.clone());
        let scenes = resource::scene_ids(scenes).into_iter().zip(names);
        let guarded = guarded.into_iter().map(named);
        guarded.chain(groups).chain(scenes).chain(others.into_iter().map(named)).collect()
    }
}

/// A number that is another one when the order or the ids of the list are others. A cursor carries it: the pages of two
/// different lists do not make one.
fn version(all: &[(String, String)]) -> u32 {
    let mut hasher = DefaultHasher::new();
    all.iter().for_each(|(id, _)| id.hash(&mut hasher));
    hasher.finish() as u32
}

/// Where the page of a cursor begins; None if it is no cursor of this version of the list.
fn parse_cursor(cursor: &str, version: u32) -> Option<usize> {
    let (of, start) = cursor.split_once('-')?;
    (u32::from_str_radix(of, 16) == Ok(version)).then(|| start.parse().ok())?
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

    /// A page of [`PAGE`](resource::PAGE).
    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.complete().await?;
        let all = self.resources();
        let version = version(&all);
        let start = match request.and_then(|request| request.cursor) {
            None => 0,
            Some(cursor) => {
                parse_cursor(&cursor, version).filter(|start| *start < all.len()).ok_or_else(|| {
                    let unknown = "The list has changed since this cursor; begin without one";
                    ErrorData::invalid_params(unknown, None)
                })?
            }
        };
        let rest = &all[start..];
        let page = &rest[..rest.len().min(resource::PAGE)];
        let entry = |(id, name): &(String, String)| {
            Resource::new(format!("{}{id}", resource::PREFIX), name).with_mime_type(resource::MIME)
        };
        let mut result = ListResourcesResult::with_all_items(page.iter().map(entry).collect());
        if page.len() < rest.len() {
            result.next_cursor = Some(format!("{version:x}-{}", start + page.len()));
        }
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if let Some(id) = request.uri.strip_prefix(resource::PREFIX) {
            self.gateway.controller.confirm(id).await;
        }
        let about = self.resource(&request.uri)?;
        self.watched.has_read(&request.uri, &about);
        let contents = ResourceContents::text(about, request.uri).with_mime_type(resource::MIME);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.resource(&request.uri)?;
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
