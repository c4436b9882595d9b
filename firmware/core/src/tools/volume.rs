//! `volume`: how loud the speaker is. (A tool's parts are explained in this folder's README.md.)

use super::ToolCall;
use crate::json::{Value, Writer};
use crate::tool::{Example, Success, Tool, ToolResult};

pub(super) static TOOL: Tool<'static> = Tool {
    description: "Tells or changes the speaker's volume.\n\nUse it when somebody wants the hub to speak louder, more \
                  quietly, or not at all. Without arguments it tells the volume and changes nothing.",
    schema: r#"{"type":"object","properties":{"level":{"type":"integer","minimum":0,"maximum":100,"description":"The new volume in percent, 0 (silent) to 100"},"change":{"type":"integer","minimum":-100,"maximum":100,"description":"How much louder in percent points, -100 to 100 (below 0: more quiet); ignored with level"}}}"#,
    usage: "volume({}), volume({\"level\": 0 to 100}) or volume({\"change\": -100 to 100})",
    examples: &[
        Example { code: "volume({\"level\": 30})  ->  {\"level\": 30}", explanation: "Sets the volume to 30 percent." },
        Example {
            code: "volume({\"change\": -10})  ->  {\"level\": 20}",
            explanation: "Ten points more quiet than before, which was 30.",
        },
    ],
    ..Tool::builtin("volume")
};

pub(super) async fn run<S>(
    call: &ToolCall<'_, S>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> ToolResult {
    let number = |name| arguments.get(name).and_then(|value| value.as_integer());
    let platform = call.hub.platform;
    let wanted = match (number("level"), number("change")) {
        (Some(level), _) => Some(level),
        (None, Some(change)) => Some(i64::from(platform.volume()).saturating_add(change)),
        (None, None) => None,
    };
    if let Some(level) = wanted {
        platform.set_volume(level.clamp(0, 100) as u8);
    }
    let level = platform.volume();
    call.hub.speaker.set(level);
    result.object(|object| object.field("level", u32::from(level)));
    Ok(Success::saying(format_args!("The volume is {level} percent.")))
}
