//! Tools: definition, registry, executor and outcome.
//!
//! A tool is declared as a `static` next to its handler ([`Tool`]), kept under its final name in the [`Registry`],
//! shown to people and models as text ([`describe`]) or as a provider's JSON ([`Format`]), and called through
//! [`execute`], which looks it up, checks the arguments, runs it in bounded time and writes the result object.

mod answer;
mod caller;
mod counts;
mod definition;
mod describe;
mod execute;
mod format;
mod input_required;
mod learn;
mod names;
mod outcome;
mod preference;
mod registry;
mod set;
mod shortened;
mod texts;

pub use answer::Answer;
pub use caller::Caller;
pub use counts::Counts;
pub use definition::{DeclaredTools, Example, Hints, Implementation, Tool};
pub use describe::describe;
pub(crate) use execute::EPILOGUE;
pub use execute::{Addressed, ControllerCall, Execution, Failed, Handlers, Withdrawn, execute};
pub use format::{Format, is_listed};
pub use names::{TooMany, normalise};
pub use outcome::{ErrorType, Failure, Success};
pub use registry::{Discovered, Full, LeftOut, Listed, Name, Registry, model_name};
pub use set::{ToolNames, ToolSet};
pub use shortened::{Shortened, Summary};
