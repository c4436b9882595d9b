//! `get_feature_flag`: a flag for everybody. (A tool's parts are explained in this folder's README.md.)

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::Toolbox;
use super::flag::{self, Owner};
use crate::json::{Value, Writer};
use crate::store::Store;
use crate::tool::{Example, Failure, Implementation, Success, Tool};

pub(super) static TOOL: Tool<'static> = Tool {
    name: "get_feature_flag",
    description: "Tells a flag that is set for everybody.\n\nFlags of projects are not looked at; get_project_flag does that. The \
                  value is null if the flag is not set.",
    schema: r#"{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":64,"description":"The name of the flag"}},"required":["name"]}"#,
    usage: "get_feature_flag({\"name\": \"...\"})",
    examples: &[
        Example {
            code: "get_feature_flag({\"name\": \"holiday\"})  ->  {\"name\": \"holiday\", \"value\": \"until Sunday\", \"set_for\": \"everybody\"}",
            explanation: "The flag is set.",
        },
    ],
    implementation: Implementation::Builtin("get_feature_flag"),
    ..Tool::PLAIN
};

pub(super) async fn run<P, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> Result<Success, Failure> {
    flag::get(Owner::Everybody, toolbox, arguments, result).await
}
