//! `docs/topics.md` has a row for each kind of device, with its actions.

use hub_core::home::Kind;

use crate::{page, rows};

#[test]
fn the_table_of_kinds_is_that_of_the_code() {
    let text = page("topics.md");
    let shown = rows(&text, &["kind", "actions"]);
    let shown: Vec<_> = shown.iter().map(|row| [words(row[0]), words(row[1])]).collect();
    // A device of no known kind has no row.
    let known = Kind::ALL.iter().map(|kind| kind.row()).filter(|row| !row.name.is_empty());
    let declared: Vec<_> = known
        .map(|row| {
            let names: Vec<_> = [row.name].into_iter().chain(row.class).collect();
            [names, row.actions.iter().map(|(name, _)| *name).collect()]
        })
        .collect();
    assert_eq!(shown, declared, "docs/topics.md has other lines than firmware/core/src/home/kinds.rs");
}

/// The words in a cell that are marked as code, without examples of values.
fn words(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).filter(|word| !word.starts_with('"')).collect()
}
