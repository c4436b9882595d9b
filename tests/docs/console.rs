//! `docs/console.md` has a row for each command of the console.

use hub_core::console::command::COMMANDS;

use crate::{page, rows};

#[test]
fn the_table_of_commands_is_that_of_the_code() {
    let text = page("console.md");
    let declared: Vec<_> = COMMANDS
        .iter()
        .map(|row| [format!("`{}`", [row.name, row.arguments].join(" ").trim_end()), row.purpose.into()])
        .collect();
    assert_eq!(
        rows(&text, &["command", "does"]),
        declared,
        "docs/console.md has other lines than the console"
    );
}
