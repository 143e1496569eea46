//! Every crate can be published, in some order.
//!
//! `cargo publish` needs all dependencies with a version to be published before, including
//! those of tests: a test that uses a crate above its own names it only by path.
//! `tests/release/crates` packs the crates for real.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The manifests of the published crates, by the crates' names.
fn manifests() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("the crates") {
        let path = entry.expect("a crate").path().join("Cargo.toml");
        let text = std::fs::read_to_string(path).expect("a manifest");
        let name = value(&text, "name").expect("a name").to_owned();
        if !text.contains("\npublish = false\n") {
            found.insert(name, text);
        }
    }
    found
}

/// A quoted value of `[package]`.
fn value<'a>(manifest: &'a str, key: &str) -> Option<&'a str> {
    let package = manifest.split("\n[").next()?;
    let line = package
        .lines()
        .find(|line| line.split(' ').next() == Some(key))?;
    line.split('"').nth(1)
}

/// Our crates that a manifest depends on with a version.
fn versioned(manifest: &str) -> BTreeSet<String> {
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        }
        let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
        let is_ours = name == "majordomo" || name.starts_with("majordomo-");
        if section.ends_with("dependencies]") && is_ours && line.contains("workspace = true") {
            found.insert(name.to_owned());
        }
    }
    found
}

/// The crates that remain when those without dependencies are published repeatedly.
fn unpublishable(mut graph: BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    loop {
        let next = graph.iter().find(|(_, needs)| needs.is_empty());
        let Some(next) = next.map(|(name, _)| name.clone()) else {
            return graph.into_keys().collect();
        };
        graph.remove(&next);
        for needs in graph.values_mut() {
            needs.remove(&next);
        }
    }
}

#[test]
fn the_crates_can_be_published_in_some_order() {
    let manifests = manifests();
    assert!(manifests.len() > 10, "{}", manifests.len());
    let graph = manifests.iter().map(|(name, text)| {
        let mut needs = versioned(text);
        // It has no version, so a package omits it.
        needs.remove("majordomo-testkit");
        (name.clone(), needs)
    });
    assert_eq!(unpublishable(graph.collect()), Vec::<String>::new());
}

#[test]
fn every_published_crate_says_what_it_is() {
    for (name, text) in manifests() {
        let about = value(&text, "description").unwrap_or_default();
        assert!(about.len() > 20 && about.ends_with('.'), "{name}: {about}");
        for inherited in [
            "version",
            "edition",
            "rust-version",
            "license",
            "repository",
        ] {
            let line = format!("\n{inherited}.workspace = true\n");
            assert!(text.contains(&line), "{name} has its own {inherited}");
        }
    }
}

#[test]
fn a_circle_of_crates_is_found() {
    let manifest = "[package]\nname = \"majordomo-a\"\n\n[dependencies]\nmajordomo-b.workspace = true\n\
                    [dev-dependencies]\nmajordomo = { path = \"../majordomo\" }\nserde.workspace = true\n";
    assert_eq!(versioned(manifest), BTreeSet::from(["majordomo-b".into()]));
    let of = |name: &str, needs: &str| (name.to_owned(), BTreeSet::from([needs.to_owned()]));
    let graph = BTreeMap::from([of("a", "b"), of("b", "a")]);
    assert_eq!(unpublishable(graph), ["a", "b"]);
}
