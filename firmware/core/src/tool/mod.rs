//! Tools: definition, registry and outcome.
//!
//! A tool is declared as a `static` next to its handler ([`Tool`]), kept under its final name in the [`Registry`],
//! shown to people and models as text ([`describe`]) or as a provider's JSON ([`Format`]), and called through
//! [`execute`](crate::tools::execute).

mod arguments;
mod call;
mod controller_answer;
mod definition;
mod format;
mod learn;
mod outcome;
mod registry;
mod set;
mod texts;

pub(crate) use arguments::distinct;
pub use arguments::{TooMany, normalise};
pub(crate) use call::EPILOGUE;
pub use call::{Addressed, ControllerCall, Execution, Failed, Withdrawn};
pub use controller_answer::Answer;
pub(crate) use controller_answer::CUT;
pub use definition::{Caller, DeclaredTools, Example, Hints, Implementation, Tool};
pub use format::{Format, describe, is_listed};
pub use outcome::{CallCounts, ErrorType, Failure, Shortened, Success, Summary, ToolResult};
pub(crate) use registry::LEFT_OUT;
pub use registry::{Discovered, Full, LeftOut, Listed, Name, Registry, model_name};
pub use set::{ToolNames, ToolSet};
