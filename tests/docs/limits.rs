//! `docs/limits.md` has a row for each limit that the hub announces, with its value.

use hub_core::hub::LIMITS;

use crate::{page, rows};

#[test]
fn the_table_of_limits_is_that_of_the_code() {
    let text = page("limits.md");
    let shown = rows(&text, &["limit", "value", "what it is", "beyond it"]);
    let names: Vec<_> = shown.iter().map(|row| (row[0].to_owned(), row[1].to_owned())).collect();
    let declared = LIMITS.map(|(name, value)| (format!("`{name}`"), value.to_string()));
    assert_eq!(names, declared, "docs/limits.md has other lines than firmware/core/src/hub/info.rs");
    assert!(shown.iter().all(|row| row[2].len() > 10 && row[3].len() > 4), "a limit without words");
}
