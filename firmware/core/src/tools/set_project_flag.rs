//! `set_project_flag`: a flag of the project. (A tool's parts are explained in this folder's README.md.)

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::Toolbox;
use super::flag::{self, Owner};
use crate::json::{Value, Writer};
use crate::store::Store;
use crate::tool::{Example, Failure, Implementation, Success, Tool};

pub(super) static TOOL: Tool<'static> = Tool {
    name: "set_project_flag",
    description: "Sets a flag of the current project.\n\nThe project is the profile that the hub is set to, home at first. Its flags go \
                  before those for everybody. The flag is kept when the hub restarts.",
    schema: r#"{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":64,"description":"The name of the flag"},"value":{"description":"The new value: true, false, a number, a text or any other JSON; null removes the flag"}},"required":["name","value"]}"#,
    usage: "set_project_flag({\"name\": \"...\", \"value\": any JSON})",
    examples: &[
        Example {
            code: "set_project_flag({\"name\": \"guests\", \"value\": true})  ->  {\"project\": \"home\", \"name\": \"guests\", \"value\": true}",
            explanation: "Guests are there, in the project home.",
        },
        Example {
            code: "set_project_flag({\"name\": \"guests\", \"value\": null})  ->  {\"project\": \"home\", \"name\": \"guests\", \"value\": null}",
            explanation: "The project has no such flag any more; what is set for everybody counts again.",
        },
    ],
    implementation: Implementation::Builtin("set_project_flag"),
    ..Tool::PLAIN
};

pub(super) async fn run<P, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> Result<Success, Failure> {
    flag::set(Owner::Project, toolbox, arguments, result).await
}
