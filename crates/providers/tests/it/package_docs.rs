//! The wire shapes in the documentation of every provider.

use std::fs;
use std::path::Path;

#[test]
fn wire_shapes_are_recorded_in_each_providers_package_doc_with_their_date() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in [
        "openai.rs",
        "anthropic/mod.rs",
        "google.rs",
        "ollama.rs",
        "llama_swap.rs",
        "compatible.rs",
    ] {
        let text = fs::read_to_string(source.join(file)).expect(file);
        let doc: String = text
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .collect::<Vec<_>>()
            .join("\n");
        assert!(doc.contains("# Wire shapes"), "{file}");
        let checked = doc.split_whitespace().filter(|word| is_date(word));
        assert!(checked.count() > 0, "{file}: no date");
        assert!(
            doc.contains("checked on") || doc.contains("Checked on"),
            "{file}"
        );
        assert!(
            doc.lines().filter(|line| line.contains(" | ")).count() >= 5,
            "{file}"
        );
    }
}

/// Whether a word is a date like 2026-11-15.
fn is_date(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_digit());
    let parts: Vec<&str> = word.split('-').collect();
    let digits = |part: &&str| part.chars().all(|c| c.is_ascii_digit());
    parts.len() == 3 && parts[0].len() == 4 && parts.iter().all(digits)
}
