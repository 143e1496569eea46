//! No test decides by itself that it need not run.

use std::path::Path;

use majordomo_testkit::files;

/// Who may look at the environment in tests, and for what: a setting with a default,
/// or something that a part of `./test` sets for this test alone.
const ALLOWED: [(&str, &str); 11] = [
    ("agent/tests/mcp_stdio.rs", "SERVE"),
    ("agent/tests/mcp_stdio.rs", "REFERENCE"),
    ("cli/tests/process/served.rs", "\"PATH\""),
    ("cli/tests/process/served.rs", "\"MAJORDOMO_LOAD\""),
    (
        "gateway/tests/configuration.rs",
        "\"MAJORDOMO_UPDATE_SNAPSHOTS\"",
    ),
    ("gateway/tests/serve/cuts.rs", "\"MAJORDOMO_CUTS\""),
    ("majordomo/tests/simulation/main.rs", "name"),
    ("media/tests/ocr.rs", "\"MAJORDOMO_OCR_PYTHON\""),
    ("providers/tests/wire/main.rs", "\"UPDATE_SNAPSHOTS\""),
    ("testkit/tests/data.rs", "\"CARGO_MANIFEST_DIR\""),
    ("wire/tests/it/matrix/mod.rs", "\"MAJORDOMO_UPDATE_DOCS\""),
];

#[test]
fn tests_ask_the_testkit_for_what_may_be_missing() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    let mut looked = 0;
    for folder in std::fs::read_dir(&crates).expect("the crates") {
        let tests = folder.expect("a crate").path().join("tests");
        if !tests.is_dir() {
            continue;
        }
        for file in files(&tests) {
            if file.extension().is_none_or(|end| end != "rs") {
                continue;
            }
            looked += 1;
            let text = std::fs::read_to_string(&file).expect("a source");
            let allowed = |line: &str| {
                ALLOWED
                    .iter()
                    .any(|(name, word)| file.ends_with(name) && line.contains(word))
            };
            let asks = |line: &&str| line.contains(concat!("env::", "var"));
            for line in text.lines().filter(asks).filter(|line| !allowed(line)) {
                wrong.push(format!("{}: {}", file.display(), line.trim()));
            }
        }
    }
    assert!(looked > 100, "{looked} files are not all");
    assert!(
        wrong.is_empty(),
        "these may skip in silence; use majordomo_testkit::data:\n{}",
        wrong.join("\n")
    );
}
