//! The shell and TOML snippets of README and guide, executed.
//!
//! A TOML snippet is passed to `majordomo check`. A shell snippet runs in a folder with the
//! quick start's `majordomo.toml` and a few sample files, next to a gateway that serves the
//! same file; its addresses are replaced by that gateway's, and an HTTP error fails it.
//!
//! Comments that a rendered page does not show make exceptions:
//!
//! - `<!-- snippet needs aider -->` above a snippet: it is not executed.
//! - `<!-- shell snippets need aider -->`: none of the page's shell snippets is.
//! - `<!-- snippet continues -->`: it is appended to the page's previous TOML snippet.
//! - `<!-- snippet streams -->`: it is stopped after its first line.
//!
//! `the_exceptions_are_known` lists them.

mod page;
mod runner;

use std::path::{Path, PathBuf};

use page::{Language, Page, Snippet};
use runner::Runner;

/// What exceptions need, page by page. A snippet that can run has no row.
const EXCEPTIONS: [(&str, &str, usize); 18] = [
    ("README.md", "a network", 1),
    ("README.md", "a clone of the repository", 1),
    ("docs/guide/README.md", "a clone of the repository", 1),
    ("docs/guide/aider.md", "aider", 2),
    ("docs/guide/claude-code.md", "Claude Code", 3),
    ("docs/guide/provider-keys.md", "Claude Code", 1),
    ("docs/guide/codex.md", "Codex", 3),
    ("docs/guide/command-line.md", "Ollama", 1),
    ("docs/guide/gemini-cli.md", "Gemini CLI", 2),
    ("docs/guide/open-webui.md", "Open WebUI", 2),
    ("docs/guide/llm.md", "llm", 2),
    ("docs/guide/opencode.md", "opencode", 1),
    ("docs/guide/pi.md", "pi", 1),
    ("docs/guide/qwen-code.md", "Qwen Code", 1),
    ("docs/guide/operations.md", "a clone of the repository", 1),
    ("docs/guide/operations.md", "systemd", 2),
    ("docs/guide/platforms.md", "macOS", 1),
    ("docs/guide/vision-proxy.md", "Claude Code", 1),
];

/// README and the guide.
fn pages() -> Vec<Page> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths: Vec<PathBuf> = majordomo_testkit::files(&root.join("docs/guide"));
    paths.retain(|path| path.extension().is_some_and(|end| end == "md"));
    paths.push(root.join("README.md"));
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a page");
        let name = path.strip_prefix(&root).expect("a page of the repository");
        Page::parse(name.to_str().expect("a path of text"), &text)
    };
    let mut pages: Vec<Page> = paths.iter().map(read).collect();
    pages.sort_by(|a, b| a.name.cmp(&b.name));
    pages
}

fn snippets(pages: &[Page], language: Language) -> Vec<&Snippet> {
    let all = pages.iter().flat_map(|page| &page.snippets);
    all.filter(|snippet| snippet.language == language).collect()
}

/// The configuration of the quick start.
fn quick_start(pages: &[Page]) -> String {
    let guide = pages
        .iter()
        .find(|page| page.name == "docs/guide/README.md");
    let snippets = &guide.expect("the quick start").snippets;
    let config = snippets
        .iter()
        .find(|snippet| snippet.language == Language::Toml);
    config.expect("its configuration").text.clone()
}

#[tokio::test]
async fn every_toml_snippet_is_a_valid_configuration() {
    let pages = pages();
    let runner = Runner::start(&quick_start(&pages)).await;
    let snippets = snippets(&pages, Language::Toml);
    assert!(snippets.len() > 25, "{}", snippets.len());
    let mut failures = Vec::new();
    for snippet in snippets.iter().filter(|snippet| snippet.needs.is_none()) {
        failures.extend(runner.check(snippet).await.err());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn every_toml_snippet_is_valid_by_the_schema() {
    let schema = majordomo_gateway::config::json_schema();
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let pages = pages();
    let snippets = snippets(&pages, Language::Toml);
    for snippet in snippets.iter().filter(|snippet| snippet.needs.is_none()) {
        let table: toml::Table = snippet.text.parse().expect("TOML");
        let document = serde_json::to_value(&table).expect("a value");
        let mistakes: Vec<String> = validator
            .iter_errors(&document)
            .map(|it| it.to_string())
            .collect();
        assert!(mistakes.is_empty(), "{}: {mistakes:?}", snippet.place());
    }
}

#[tokio::test]
async fn every_shell_snippet_that_needs_no_key_runs() {
    if !majordomo_testkit::installed("curl") {
        return;
    }
    let pages = pages();
    let runner = Runner::start(&quick_start(&pages)).await;
    let snippets = snippets(&pages, Language::Shell);
    assert!(snippets.len() > 20, "{}", snippets.len());
    let mut failures = Vec::new();
    for snippet in snippets.iter().filter(|snippet| snippet.needs.is_none()) {
        failures.extend(runner.run(snippet).await.err());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn the_exceptions_are_known() {
    let mut found: Vec<(String, String, usize)> = Vec::new();
    for page in pages() {
        for snippet in &page.snippets {
            let Some(needs) = &snippet.needs else {
                continue;
            };
            println!("not executed: {}: needs {needs}", snippet.place());
            match found
                .iter_mut()
                .find(|row| row.0 == page.name && row.1 == *needs)
            {
                Some(row) => row.2 += 1,
                None => found.push((page.name.clone(), needs.clone(), 1)),
            }
        }
    }
    let expected =
        EXCEPTIONS.map(|(page, needs, count)| (page.to_owned(), needs.to_owned(), count));
    found.sort();
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_broken_snippet_fails() {
    if !majordomo_testkit::installed("curl") {
        return;
    }
    let page = Page::parse("broken.md", include_str!("broken.md"));
    let runner = Runner::start("").await;
    assert_eq!(page.snippets.len(), 7);
    for snippet in &page.snippets {
        let done = match snippet.language {
            Language::Toml => runner.check(snippet).await,
            Language::Shell => runner.run(snippet).await,
        };
        let failure = done.expect_err(&snippet.text);
        assert!(failure.starts_with("broken.md:"), "{failure}");
    }
}
