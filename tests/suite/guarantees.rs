//! `docs/guarantees.md` names tests that exist.

use std::collections::BTreeSet;
use std::path::Path;

/// The names of all test functions below a folder.
fn tests_below(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() && entry.file_name().is_some_and(|name| name != "target") {
            tests_below(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&entry).expect("readable");
            // What follows a test's attribute, up to the name of the function that it is on.
            let attributes = text.split("#[test]").skip(1).chain(text.split("#[tokio::test").skip(1));
            let names = attributes.filter_map(|rest| rest.split("fn ").nth(1)?.split(['(', '<']).next());
            found.extend(names.map(str::to_owned));
        }
    }
}

#[test]
fn every_promise_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut known = BTreeSet::new();
    for folder in ["functions", "shared", "ops", "tests"] {
        tests_below(&root.join(folder), &mut known);
    }
    let page = std::fs::read_to_string(root.join("docs/guarantees.md")).expect("readable");
    let (promises, faults): (Vec<_>, Vec<_>) = rows(&page).partition(|row| row.starts_with("| G"));
    assert_eq!((promises.len(), faults.len()), (9, 11));
    for row in promises.into_iter().chain(faults) {
        let pins = row.rsplit('|').nth(1).expect("a last column");
        let named: Vec<&str> = pins.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "{row}");
        for name in named {
            assert!(known.contains(name), "{name} does not exist");
        }
    }
}

/// The rows of the tables whose last column names tests.
fn rows(page: &str) -> impl Iterator<Item = &str> {
    let mut names_tests = false;
    page.lines().filter(move |line| {
        let header = line.starts_with("| ") && (line.ends_with("| pinned by |") || line.ends_with("| test |"));
        names_tests = header || names_tests && line.starts_with('|');
        names_tests && line.starts_with("| ") && !header && !line.starts_with("| ---")
    })
}
