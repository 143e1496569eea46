//! Snapshots of configuration diagnostics.
//!
//! `tests/mistakes/<name>.toml` contains a mistake and `<name>.txt` its diagnostics.
//! `MAJORDOMO_UPDATE_SNAPSHOTS=1` rewrites the snapshots; review the diff.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use majordomo::transport::{Transport, TransportConfig};
use majordomo_gateway::GatewayState;
use majordomo_gateway::config::{Config, Diagnostics};

fn environment() -> BTreeMap<String, String> {
    let variables = [
        ("GROQ_KEY", "CANARY-groq"),
        ("NO_PORT", "CANARY-port"),
        ("BAD_SPEC", "CANARY-provider/x"),
        ("EMPTY", ""),
        ("SECRET", "CANARY-name"),
        ("LLM_M5", "foreman://CANARY@m5.example.com"),
    ];
    variables
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes");
    let mut files = majordomo_testkit::files(&folder);
    files.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    files
}

fn name(path: &Path) -> String {
    let name = path.file_name().expect("a file");
    name.to_str().expect("a name of text").to_owned()
}

/// The errors of a file or of the gateway built from it, or else their warnings.
fn diagnostics(path: &Path) -> Diagnostics {
    let text = std::fs::read_to_string(path).expect("a sample");
    let environment = environment();
    let built = Config::parse(name(path), text, &environment).and_then(|config| {
        let transport = Transport::new(TransportConfig::default());
        GatewayState::new(&config, &environment, &transport, None)
    });
    match built {
        Ok(state) if state.warnings().list().is_empty() => panic!("{} has no mistake", name(path)),
        Ok(state) => state.warnings(),
        Err(diagnostics) => diagnostics,
    }
}

#[test]
fn every_mistake_is_reported_with_its_line_and_a_hint() {
    let update = std::env::var_os("MAJORDOMO_UPDATE_SNAPSHOTS").is_some();
    let mut different = Vec::new();
    for path in files() {
        let shown = diagnostics(&path).to_string();
        assert!(
            !shown.contains("CANARY"),
            "{} shows a secret:\n{shown}",
            name(&path)
        );
        let snapshot = path.with_extension("txt");
        if update {
            std::fs::write(&snapshot, &shown).unwrap();
        }
        let expected = std::fs::read_to_string(&snapshot).unwrap_or_default();
        if shown != expected {
            different.push(format!("{}\n{shown}", name(&path)));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn there_are_at_least_forty_mistakes_and_each_has_a_hint() {
    let files = files();
    assert!(files.len() >= 40, "{}", files.len());
    for path in files {
        for problem in diagnostics(&path).list() {
            assert!(
                problem.hint.is_some(),
                "{}: {}",
                name(&path),
                problem.message
            );
        }
    }
}
