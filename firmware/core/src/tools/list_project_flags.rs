//! `list_project_flags`: all flags as the project sees them. (A tool's parts are explained in this folder's README.md.)

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::Toolbox;
use super::flag::{self, Owner};
use crate::json::{Value, Writer};
use crate::store::Store;
use crate::tool::{Example, Failure, Implementation, Success, Tool};

pub(super) static TOOL: Tool<'static> = Tool {
    name: "list_project_flags",
    description: "Lists all flags as the current project sees them.\n\nThose of the project, and of those for everybody the ones that \
                  the project does not set itself.",
    schema: r#"{"type":"object","properties":{"after":{"type":"string","description":"Where to go on: what next was in the last answer; left out, the list begins at its start"}}}"#,
    usage: "list_project_flags({}) or list_project_flags({\"after\": \"...\"})",
    examples: &[
        Example {
            code: "list_project_flags({})  ->  {\"project\": \"home\", \"flags\": {\"guests\": true, \"holiday\": false}}",
            explanation: "Two flags, wherever they are set.",
        },
    ],
    implementation: Implementation::Builtin("list_project_flags"),
    ..Tool::PLAIN
};

pub(super) async fn run<P, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> Result<Success, Failure> {
    flag::list(Owner::Project, toolbox, arguments, result).await
}
