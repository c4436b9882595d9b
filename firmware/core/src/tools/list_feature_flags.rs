//! `list_feature_flags`: all flags for everybody. (A tool's parts are explained in this folder's README.md.)

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::Toolbox;
use super::flag::{self, Owner};
use crate::json::{Value, Writer};
use crate::store::Store;
use crate::tool::{Example, Failure, Implementation, Success, Tool};

pub(super) static TOOL: Tool<'static> = Tool {
    name: "list_feature_flags",
    description: "Lists all flags that are set for everybody.\n\nFlags of projects are not among them; list_project_flags shows both.",
    schema: r#"{"type":"object","properties":{"after":{"type":"string","description":"Where to go on: what next was in the last answer; left out, the list begins at its start"}}}"#,
    usage: "list_feature_flags({}) or list_feature_flags({\"after\": \"...\"})",
    examples: &[
        Example {
            code: "list_feature_flags({})  ->  {\"flags\": {\"holiday\": \"until Sunday\"}}",
            explanation: "One flag is set for everybody.",
        },
    ],
    implementation: Implementation::Builtin("list_feature_flags"),
    ..Tool::PLAIN
};

pub(super) async fn run<P, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> Result<Success, Failure> {
    flag::list(Owner::Everybody, toolbox, arguments, result).await
}
