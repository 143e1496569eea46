//! The crate and module graphs: what may depend on what.
//!
//! The table is the one of ADR 0039. Modules are a crate's top-level files and folders; a
//! module depends on another one by a `crate::` path. Tests are not part of the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use majordomo_testkit::files;

/// The crates of this workspace that each crate may use.
const ALLOWED: &[(&str, &[&str])] = &[
    ("agent", &["agent-macros", "llm"]),
    ("agent-macros", &[]),
    ("balance", &["majordomo"]),
    ("cli", &["gateway", "import", "majordomo"]),
    ("cluster", &["ledger", "limits"]),
    ("codecs", &["image-header"]),
    (
        "gateway",
        &[
            "balance",
            "cluster",
            "ledger",
            "limits",
            "majordomo",
            "page",
            "rules",
            "vision",
            "wire",
        ],
    ),
    ("image-header", &[]),
    ("import", &[]),
    ("ledger", &["llm"]),
    ("limits", &[]),
    ("llm", &["image-header"]),
    ("majordomo", &["agent", "llm", "media", "providers"]),
    ("media", &["codecs", "image-header", "limits", "llm"]),
    ("page", &[]),
    ("providers", &["image-header", "limits", "llm", "wire"]),
    ("rules", &["majordomo", "wire"]),
    ("testkit", &[]),
    ("vision", &["limits", "majordomo", "wire"]),
    ("wire", &["image-header", "llm"]),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The workspace's crates in `[dependencies]` of a manifest.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let lines = manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]");
    let lines = lines.skip(1).take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.split(['.', ' ', '=']).next());
    let ours = names.filter_map(|name| match name {
        "majordomo" => Some("majordomo"),
        name => name.strip_prefix("majordomo-"),
    });
    ours.map(str::to_owned).collect()
}

#[test]
fn crates_depend_only_on_what_the_layout_allows() {
    let mut known = BTreeSet::new();
    for entry in std::fs::read_dir(crates()).expect("the crates") {
        let folder = entry.expect("a crate").path();
        let name = folder
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let allowed = ALLOWED.iter().find(|(crate_name, _)| *crate_name == name);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("`{name}` is not in the layout"));
        for used in dependencies(&manifest) {
            assert!(
                allowed.contains(&used.as_str()),
                "`{name}` may not use `{used}`"
            );
        }
        known.insert(name);
    }
    assert_eq!(
        known.len(),
        ALLOWED.len(),
        "the layout lists a crate that is gone"
    );
}

/// The modules that each module of a crate uses.
fn module_graph(folder: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let source = folder.join("src");
    let module_of = |file: &Path| {
        let first = file.strip_prefix(&source).ok()?.iter().next()?;
        let name = first.to_string_lossy();
        Some(name.trim_end_matches(".rs").to_owned())
    };
    let sources = files(&source).into_iter().filter(|file| {
        let is_test = file
            .iter()
            .any(|part| part == "tests" || part == "tests.rs");
        file.extension().is_some_and(|end| end == "rs") && !is_test
    });
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in sources {
        let Some(module) = module_of(&file).filter(|m| m != "lib" && m != "main") else {
            continue;
        };
        let text = std::fs::read_to_string(&file).expect("a source");
        let text = text
            .split("\n#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        let used = graph.entry(module).or_default();
        for path in text.split("crate::").skip(1) {
            let listed = path
                .strip_prefix('{')
                .and_then(|list| list.split('}').next());
            let names =
                listed.unwrap_or_else(|| path.split(|c: char| !is_name(c)).next().unwrap_or(""));
            used.extend(names.split(|c: char| !is_name(c)).map(str::to_owned));
        }
    }
    let modules: BTreeSet<String> = graph.keys().cloned().collect();
    for (module, used) in &mut graph {
        used.retain(|name| modules.contains(name) && name != module);
    }
    graph
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The modules that remain when those without dependencies are removed repeatedly: all modules
/// on a cycle or above one.
fn cyclic(mut graph: BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    loop {
        let free = graph.iter().find(|(_, used)| used.is_empty());
        let Some(free) = free.map(|(module, _)| module.clone()) else {
            return graph.into_keys().collect();
        };
        graph.remove(&free);
        for used in graph.values_mut() {
            used.remove(&free);
        }
    }
}

#[test]
fn the_modules_of_no_crate_form_a_cycle() {
    let mut modules = 0;
    for (name, _) in ALLOWED {
        let graph = module_graph(&crates().join(name));
        modules += graph.len();
        let cyclic = cyclic(graph);
        assert!(
            cyclic.is_empty(),
            "a cycle below these modules of `{name}`: {cyclic:?}"
        );
    }
    assert!(modules > 100, "only {modules} modules were found");
}

#[test]
fn a_cycle_is_found() {
    let used = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let graph = [
        ("a", used(&["b"])),
        ("b", used(&["c"])),
        ("c", used(&["b"])),
        ("d", used(&[])),
    ];
    let graph = graph.map(|(name, used)| (name.to_owned(), used));
    assert_eq!(cyclic(graph.into_iter().collect()), ["a", "b", "c"]);
}
