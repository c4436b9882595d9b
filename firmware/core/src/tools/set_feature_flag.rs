//! `set_feature_flag`: a flag for everybody. (A tool's parts are explained in this folder's README.md.)

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::Toolbox;
use super::flag::{self, Owner};
use crate::json::{Value, Writer};
use crate::store::Store;
use crate::tool::{Example, Failure, Implementation, Success, Tool};

pub(super) static TOOL: Tool<'static> = Tool {
    name: "set_feature_flag",
    description: "Sets a flag for everybody.\n\nIt counts in every project that does not set the same flag itself. The flag is kept \
                  when the hub restarts.",
    schema: r#"{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":64,"description":"The name of the flag"},"value":{"description":"The new value: true, false, a number, a text or any other JSON; null removes the flag"}},"required":["name","value"]}"#,
    usage: "set_feature_flag({\"name\": \"...\", \"value\": any JSON})",
    examples: &[
        Example {
            code: "set_feature_flag({\"name\": \"holiday\", \"value\": \"until Sunday\"})  ->  {\"name\": \"holiday\", \"value\": \"until Sunday\"}",
            explanation: "A flag whose value is a text.",
        },
    ],
    implementation: Implementation::Builtin("set_feature_flag"),
    ..Tool::PLAIN
};

pub(super) async fn run<P, F: MultiwriteNorFlash>(
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> Result<Success, Failure> {
    flag::set(Owner::Everybody, toolbox, arguments, result).await
}
