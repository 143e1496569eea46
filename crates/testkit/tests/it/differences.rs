//! The list of differences covers every case in which we deviate from the source documents.

use std::path::Path;

/// Words of a row of the first table, and the tests of its statements.
const ROWS: &[(&[&str], &str, &str)] = &[
    (
        &["images", "bytes and MIME type only", "`Part::RemoteImage`"],
        "crates/majordomo/tests/it/providers_over_http.rs",
        "RemoteImage",
    ),
    (
        &["JPEG (q85)", "PNG first for flat pictures"],
        "crates/media/tests/it/fidelity.rs",
        "a_screenshot_becomes_png_rather_than_jpeg_if_both_are_accepted",
    ),
];

#[test]
fn the_source_documents_stand_highest_in_the_list_of_differences() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let list = std::fs::read_to_string(root.join("docs/differences.md")).expect("the list");
    let first = list.split("\n## ").nth(1).expect("a table");
    assert!(first.starts_with("From majordomo (Go)"), "{first}");
    for (words, file, test) in ROWS {
        let row = first
            .lines()
            .find(|line| words.iter().all(|word| line.contains(word)));
        assert!(row.is_some(), "no row has {words:?}");
        let tests = std::fs::read_to_string(root.join(file)).expect("tests");
        assert!(tests.contains(test), "{file} has no {test}");
    }
}
