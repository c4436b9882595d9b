//! The pages in `docs/`, held to the code.

mod console;
mod kinds;
mod limits;
mod scenarios;
mod settings;
mod topics;
mod units;

use std::path::Path;

/// The root of the project.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a page in `docs/`.
fn page(name: &str) -> String {
    let path = root().join("docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of all Markdown tables in a text that have this header, cell by cell.
fn rows<'a>(text: &'a str, header: &[&str]) -> Vec<Vec<&'a str>> {
    let mut rows = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if cells(line).is_some_and(|cells| cells == header) {
            // The rule below the header is not a row.
            rows.extend(lines.by_ref().skip(1).map_while(cells));
        }
    }
    rows
}

/// The cells of a line of a table; of another line, none.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

#[test]
fn tables_are_read_by_their_header() {
    let text = "| a | b |\n| --- | --- |\n| 1 | 2 |\n|3|4|\n\n| a | c |\n| --- | --- |\n| 5 | 6 |\n\n\
                | a | b |\n| --- | --- |\n| 7 | 8 |";
    assert_eq!(rows(text, &["a", "b"]), [["1", "2"], ["3", "4"], ["7", "8"]]);
    assert!(rows(text, &["a"]).is_empty());
}
