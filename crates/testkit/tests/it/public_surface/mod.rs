//! The public surface of each published crate, compared with its snapshot.
//!
//! `crates/<crate>/public-api.txt` lists what users can name, one item per line, so that
//! every change of the surface is part of a review. The listing is made from the source
//! with `syn`: rustdoc's JSON needs a nightly toolchain. It resolves modules and
//! re-exports within a crate; macros that define items are not expanded.

mod listing;
mod modules;
mod tokens;

use std::path::{Path, PathBuf};

/// Set to write the snapshots instead of comparing them.
const UPDATE: &str = "MAJORDOMO_UPDATE_PUBLIC_API";

/// The folders of the published libraries.
fn libraries() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = std::fs::read_dir(crates).expect("the crates");
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a crate").path())
        .collect();
    folders.retain(|folder| {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        folder.join("src/lib.rs").exists() && !manifest.contains("publish = false")
    });
    folders.sort();
    folders
}

/// The lines that only one of two sorted listings has.
fn difference(old: &str, new: &str) -> String {
    let only = |sign: char, these: &str, others: &str| {
        let others: std::collections::BTreeSet<&str> = others.lines().collect();
        let lines = these.lines().filter(|line| !others.contains(line));
        lines
            .map(|line| format!("{sign} {line}\n"))
            .collect::<String>()
    };
    only('-', old, new) + &only('+', new, old)
}

#[test]
fn the_public_surface_is_the_one_that_was_reviewed() {
    let update = std::env::var_os(UPDATE).is_some();
    let mut changes = String::new();
    let libraries = libraries();
    assert!(libraries.len() > 10, "{libraries:?}");
    for folder in libraries {
        let listed = listing::list(&folder);
        let snapshot = folder.join("public-api.txt");
        if update {
            std::fs::write(&snapshot, listed).expect("a writable snapshot");
            continue;
        }
        let reviewed = std::fs::read_to_string(&snapshot).unwrap_or_default();
        let differs = difference(&reviewed, &listed);
        if !differs.is_empty() {
            let name = folder.file_name().expect("a name").to_string_lossy();
            changes += &format!("{name}:\n{differs}");
        }
    }
    assert!(
        changes.is_empty(),
        "the public surface has changed:\n{changes}\nIf this is intended, run\n  \
         {UPDATE}=1 cargo test -p majordomo-testkit --test it public_surface\n\
         commit the snapshots, and mention in CHANGELOG.md what users notice."
    );
}
