//! The ids in `docs/scenarios.md` and those in the tags of tests are the same.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{page, root, rows};

/// How a tag begins; ids follow, with commas.
const TAG: &str = "/// spec:";

/// Calls `visit` with every source file in a folder and below; what was built or is hidden is left out.
fn visit_sources(folder: &Path, visit: &mut dyn FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                visit_sources(&path, visit);
            }
        } else if name.ends_with(".rs") {
            visit(&path, &std::fs::read_to_string(&path).expect("text"));
        }
    }
}

/// Whether the item that these lines begin with, its comments and attributes first, is a test.
fn begins_a_test<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    lines
        .map(str::trim_start)
        .take_while(|line| line.starts_with("///") || line.starts_with("#["))
        .any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
}

fn ids(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim)
}

#[test]
fn every_tag_has_a_row_and_every_row_a_test() {
    let page = page("scenarios.md");
    // Two ids in a row are two names for one scenario.
    let rows: Vec<Vec<&str>> =
        rows(&page, &["id", "the hub …"]).iter().map(|row| ids(row[0]).collect()).collect();
    let mut wrong = Vec::new();
    let mut listed = BTreeSet::new();
    for id in rows.iter().flatten() {
        if !listed.insert(*id) {
            wrong.push(format!("docs/scenarios.md: {id} has two rows"));
        }
    }
    let mut tagged = BTreeSet::new();
    visit_sources(root(), &mut |path, text| {
        let path = path.strip_prefix(root()).expect("below the root").display();
        for (index, line) in text.lines().enumerate() {
            let Some(list) = line.trim_start().strip_prefix(TAG) else { continue };
            let place = format!("{path}:{}", index + 1);
            if !begins_a_test(text.lines().skip(index)) {
                wrong.push(format!("{place}: the tag is not on a test"));
            }
            for id in ids(list) {
                if !listed.contains(id) {
                    wrong.push(format!("{place}: '{id}' is not in docs/scenarios.md"));
                }
                tagged.insert(id.to_owned());
            }
        }
    });
    for row in rows {
        if !row.iter().any(|id| tagged.contains(*id)) {
            wrong.push(format!("docs/scenarios.md: no test has the tag {}", row.join(" or ")));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
