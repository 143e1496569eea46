//! No test silently decides not to run.

use std::path::Path;

use majordomo_testkit::files;

/// What tests may read from the environment, by crate and module: a setting with a default,
/// or something that a part of `./test` sets for this test alone.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("agent", "mcp_stdio", "SERVE"),
    ("agent", "mcp_stdio", "REFERENCE"),
    ("cli", "gateway", "\"PATH\""),
    ("cli", "gateway", "\"MAJORDOMO_LOAD\""),
    ("cli", "node", "\"PATH\""),
    ("cli", "snippets", "\"PATH\""),
    ("cluster", "simulation", "name"),
    ("gateway", "mistakes", "\"MAJORDOMO_UPDATE_SNAPSHOTS\""),
    ("gateway", "truncation", "\"MAJORDOMO_CUTS\""),
    ("import", "samples", "\"MAJORDOMO_UPDATE_SNAPSHOTS\""),
    ("limits", "simulation", "name"),
    ("majordomo", "live", "name"),
    ("majordomo", "simulation", "name"),
    ("media", "ocr", "\"MAJORDOMO_OCR_PYTHON\""),
    ("media", "ocr", "\"MAJORDOMO_OCR_PAGES\""),
    ("providers", "wire", "\"UPDATE_SNAPSHOTS\""),
    ("testkit", "environment_variables", "\"CARGO_MANIFEST_DIR\""),
    ("testkit", "public_surface", "UPDATE"),
    ("wire", "matrix", "\"MAJORDOMO_UPDATE_DOCS\""),
];

/// Whether a test file of a crate is this module, or one inside it.
fn is_module(file: &Path, name: &str) -> bool {
    let mut parts = file.iter().map(Path::new);
    parts.any(|part| part.file_stem().is_some_and(|stem| stem == name))
}

#[test]
fn tests_read_variables_that_may_be_unset_through_the_testkit() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    let mut checked = 0;
    for folder in std::fs::read_dir(&crates).expect("the crates") {
        let folder = folder.expect("a crate").path();
        let tests = folder.join("tests");
        if !tests.is_dir() {
            continue;
        }
        for file in files(&tests) {
            if file.extension().is_none_or(|end| end != "rs") {
                continue;
            }
            checked += 1;
            let text = std::fs::read_to_string(&file).expect("a source");
            let allowed = |line: &str| {
                ALLOWED.iter().any(|(name, module, word)| {
                    folder.ends_with(name)
                        && file
                            .strip_prefix(&tests)
                            .is_ok_and(|file| is_module(file, module))
                        && line.contains(word)
                })
            };
            let reads = |line: &&str| line.contains(concat!("env::", "var"));
            for line in text.lines().filter(reads).filter(|line| !allowed(line)) {
                wrong.push(format!("{}: {}", file.display(), line.trim()));
            }
        }
    }
    assert!(checked > 100, "only {checked} files were found");
    assert!(
        wrong.is_empty(),
        "these may skip silently; use majordomo_testkit::data:\n{}",
        wrong.join("\n")
    );
}
