//! The hub's own tools, one file each, and the list of them.

mod echo;

use crate::tool::Tool;

/// Every tool the hub brings. To add one, write its file and name it here.
pub static TOOLS: [&Tool; 1] = [&echo::TOOL];
