//! `get_project_flag`: a flag as the project sees it. (A tool's parts are explained in this folder's README.md.)

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::Toolbox;
use super::flag::{self, Owner};
use crate::json::{Value, Writer};
use crate::store::Store;
use crate::tool::{Example, Failure, Implementation, Success, Tool};

pub(super) static TOOL: Tool<'static> = Tool {
    name: "get_project_flag",
    description: "Tells a flag as the current project sees it.\n\nThat is the flag of the project, or else the one for everybody. The \
                  value is null if neither is set.",
    schema: r#"{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":64,"description":"The name of the flag"}},"required":["name"]}"#,
    usage: "get_project_flag({\"name\": \"...\"})",
    examples: &[
        Example {
            code: "get_project_flag({\"name\": \"guests\"})  ->  {\"name\": \"guests\", \"value\": true, \"set_for\": \"project\"}",
            explanation: "Guests are there, and it is the project that says so.",
        },
    ],
    implementation: Implementation::Builtin("get_project_flag"),
    ..Tool::PLAIN
};

pub(super) async fn run<P, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> Result<Success, Failure> {
    flag::get(Owner::Project, toolbox, arguments, result).await
}
