//! Tests that documents cite as evidence exist.

use std::collections::BTreeSet;
use std::path::Path;

use majordomo_testkit::files;

/// Shorter words with underscores are settings and fields.
const SHORTEST_NAME: usize = 26;

#[test]
fn every_test_that_a_document_cites_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = files(&root.join("crates")).into_iter();
    let sources = sources.filter(|file| file.extension().is_some_and(|end| end == "rs"));
    let known: BTreeSet<String> = sources
        .flat_map(|file| {
            let text = std::fs::read_to_string(file).expect("a source");
            let named = text.split("fn ").skip(1);
            let name = |rest: &str| rest.split('(').next().unwrap_or_default().to_owned();
            named.map(name).collect::<Vec<_>>()
        })
        .collect();
    let mut named = 0;
    for document in ["SECURITY.md", "docs/faults.md", "docs/threat-model.md"] {
        let text = std::fs::read_to_string(root.join(document)).expect("a document");
        let quoted = text.split('`').skip(1).step_by(2);
        for name in quoted.filter(|name| is_test_name(name)) {
            named += 1;
            assert!(known.contains(name), "{document} cites no test: `{name}`");
        }
    }
    assert!(named > 440, "only {named} names were found");
}

#[test]
fn the_list_of_fault_cases_links_each_test_to_its_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let list = std::fs::read_to_string(root.join("docs/faults.md")).expect("the list");
    let rows = list
        .lines()
        .filter_map(|line| line.split_once("[`")?.1.split_once("`](../"));
    let mut checked = 0;
    for (name, rest) in rows {
        let file = rest.split(')').next().unwrap_or_default();
        let text = std::fs::read_to_string(root.join(file));
        let text = text.unwrap_or_else(|error| panic!("`{file}`: {error}"));
        assert!(
            text.contains(&format!("fn {name}(")),
            "`{name}` is not in `{file}`"
        );
        checked += 1;
    }
    assert!(checked > 400, "only {checked} rows were found");
}

fn is_test_name(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.len() >= SHORTEST_NAME && text.contains('_') && text.chars().all(is_word)
}
