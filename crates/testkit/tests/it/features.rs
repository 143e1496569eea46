//! The crates that a program compiles if it uses only a part of the library.

use std::process::Command;

/// What `cargo tree` must not list without default features: codecs, schema validation
/// and time zones.
const UNWANTED: &[&str] = &[
    "gif",
    "image-webp",
    "jiff",
    "jsonschema",
    "majordomo-agent",
    "majordomo-codecs",
    "majordomo-media",
    "moxcms",
    "png",
    "schemars",
    "zune-jpeg",
];

/// The names of all crates that a build of `majordomo` compiles.
fn compiled(arguments: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", "majordomo", "--edges", "normal,build"])
        .args(["--prefix", "none", "--offline", "--locked"])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let tree = String::from_utf8_lossy(&output.stdout);
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn a_chat_only_build_compiles_no_codec_no_schema_validation_and_no_time_zones() {
    let all = compiled(&[]);
    let few = compiled(&["--no-default-features"]);
    for name in UNWANTED {
        assert!(all.iter().any(|known| known == name), "{name} is outdated");
        assert!(!few.iter().any(|known| known == name), "{name} is compiled");
    }
}

#[test]
fn each_feature_brings_only_its_own_crates() {
    let agent = compiled(&["--no-default-features", "--features", "agent"]);
    assert!(agent.iter().any(|name| name == "jsonschema"));
    assert!(!agent.iter().any(|name| name == "majordomo-codecs"));
    let images = compiled(&["--no-default-features", "--features", "images"]);
    assert!(images.iter().any(|name| name == "majordomo-codecs"));
    assert!(!images.iter().any(|name| name == "jsonschema"));
}
