//! Every example runs without keys and prints what its text promises.

use std::process::Command;

/// The examples and a line that each prints.
const EXAMPLES: &[(&str, &str)] = &[
    ("agent", "I ordered 20 pears."),
    ("custom_provider", "HELLO (served by shouting/loud)"),
    ("embeddings", "nearest: a green pear"),
    ("env_providers", "served by box/any-model"),
    ("explain", "4. small/tiny"),
    ("failover", "Hello from the tail of the chain."),
    ("image_generation", "box/painter: served"),
    ("image_question", "image:1 resized"),
    ("key_in_code", "work/claude-opus-5-5"),
    ("mcp", "There are 12 pears."),
    ("middleware", "ok (system replaced)"),
    (GATEWAY_EXAMPLE, "x-majordomo-changes: secret masked"),
    ("observer", "scripted/first benched for 5s"),
    ("skills", "[→ 31622400]"),
    ("streaming", "One, two, three."),
    ("testing", "ok"),
    ("tiers", "cheap: home/small"),
    ("tool_loop", "there is no report for Atlantis"),
    ("typed", "done: Soup"),
];

/// The example of the gateway: a whole server and its client, so longer than the others.
const GATEWAY_EXAMPLE: &str = "processor";

fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The example as `cargo test` has built it next to this test, or through cargo if only
/// this test was built. Cargo alone would compile everything again with other features.
fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("the test's own path");
    let profile = test
        .ancestors()
        .nth(2)
        .expect("target/<profile>/deps/<test>");
    let built = profile.join("examples").join(name);
    if built.exists() {
        return Command::new(built);
    }
    let package = match name {
        GATEWAY_EXAMPLE => "majordomo-gateway",
        _ => "majordomo",
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["run", "--quiet", "--offline", "--locked"])
        .args(["--package", package, "--example", name]);
    if name == "mcp" {
        cargo.args(["--features", "mcp"]);
    }
    cargo
}

#[test]
fn every_example_runs_without_keys() {
    for (name, expected) in EXAMPLES {
        let output = example(name)
            .env_remove("SPEC")
            .env_remove("KEY")
            .output()
            .expect("the example runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {stderr}");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains(expected), "{name}: {stdout}");
    }
}

#[test]
fn every_example_is_short_and_is_run() {
    for entry in std::fs::read_dir(folder()).expect("the examples") {
        let path = entry.expect("an example").path();
        if path.extension().is_none_or(|end| end != "rs") {
            continue;
        }
        let name = path.file_stem().expect("a name").to_string_lossy();
        assert!(EXAMPLES.iter().any(|(known, _)| *known == name), "{name}");
        let lines = std::fs::read_to_string(&path)
            .expect("a source")
            .lines()
            .count();
        assert!(
            lines < 60 || name == GATEWAY_EXAMPLE,
            "{name} has {lines} lines"
        );
    }
}
