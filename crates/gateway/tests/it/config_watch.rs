//! The file is reloaded when it changes, however it changes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use majordomo_gateway::config::{Config, ConfigWatch, Diagnostics};
use tempfile::TempDir;

/// Far longer than any change takes; reached only when something is broken.
const LONG: Duration = Duration::from_secs(60);

fn alias(name: &str) -> String {
    format!("[aliases]\n{name} = \"demo/text\"\n")
}

fn folder(text: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("m.toml"), text).expect("a writable folder");
    folder
}

fn open(path: &Path) -> ConfigWatch {
    let (config, watch) = ConfigWatch::open(path, BTreeMap::new());
    config.expect("the first reading is fine");
    watch
}

async fn next(watch: &mut ConfigWatch) -> Result<Config, Diagnostics> {
    let read = tokio::time::timeout(LONG, watch.next()).await;
    read.expect("the change is noticed")
}

/// The aliases of the next valid, non-empty reload. A file written in place may be
/// seen half-written first.
async fn aliases(watch: &mut ConfigWatch) -> Vec<String> {
    loop {
        if let Ok(config) = next(watch).await {
            let names: Vec<String> = config.aliases.into_iter().map(|a| a.name).collect();
            if !names.is_empty() {
                return names;
            }
        }
    }
}

#[tokio::test]
async fn a_file_written_in_place_is_reloaded() {
    let folder = folder(&alias("a"));
    let path = folder.path().join("m.toml");
    let mut watch = open(&path);
    std::fs::write(&path, alias("b")).unwrap();
    assert_eq!(aliases(&mut watch).await, ["b"]);
    std::fs::write(&path, alias("c")).unwrap();
    assert_eq!(aliases(&mut watch).await, ["c"]);
}

#[tokio::test]
async fn a_file_renamed_over_the_old_one_is_reloaded() {
    let folder = folder(&alias("a"));
    let path = folder.path().join("m.toml");
    let mut watch = open(&path);
    for name in ["b", "c"] {
        let new = folder.path().join("new");
        std::fs::write(&new, alias(name)).unwrap();
        std::fs::rename(&new, &path).unwrap();
        assert_eq!(aliases(&mut watch).await, [name]);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_swapped_symlink_is_followed() {
    use std::os::unix::fs::symlink;

    // As Kubernetes mounts volumes: m.toml → ..data/m.toml, ..data → ..1
    let mounted = tempfile::tempdir().unwrap();
    let at = |name: &str| mounted.path().join(name);
    for (version, name) in [("..1", "a"), ("..2", "b"), ("..3", "c")] {
        std::fs::create_dir(at(version)).unwrap();
        std::fs::write(at(version).join("m.toml"), alias(name)).unwrap();
    }
    symlink("..1", at("..data")).unwrap();
    symlink("..data/m.toml", at("m.toml")).unwrap();
    let mut watch = open(&at("m.toml"));
    for (version, name) in [("..2", "b"), ("..3", "c")] {
        symlink(version, at("..new")).unwrap();
        std::fs::rename(at("..new"), at("..data")).unwrap();
        assert_eq!(aliases(&mut watch).await, [name]);
    }
}

#[tokio::test]
async fn a_bad_file_is_reported_with_its_line_and_the_next_good_one_is_loaded() {
    let folder = folder(&alias("a"));
    let path = folder.path().join("m.toml");
    let mut watch = open(&path);
    let replace = |text: &str| {
        let new = folder.path().join("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(&new, &path).unwrap();
    };
    replace("[aliases]\nb = \"demo/\"\n");
    let problems = next(&mut watch).await.unwrap_err();
    assert_eq!(problems.place(&problems.list()[0]), (2, 5));
    replace(&alias("c"));
    assert_eq!(aliases(&mut watch).await, ["c"]);
}

#[tokio::test]
async fn a_deleted_file_is_reported_and_reloaded_when_it_returns() {
    let folder = folder(&alias("a"));
    let path = folder.path().join("m.toml");
    let mut watch = open(&path);
    std::fs::remove_file(&path).unwrap();
    let problems = next(&mut watch).await.unwrap_err();
    assert!(
        problems.to_string().contains("cannot be read"),
        "{problems}"
    );
    std::fs::write(&path, alias("b")).unwrap();
    assert_eq!(aliases(&mut watch).await, ["b"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_fifo_directory_or_huge_file_is_reported_without_blocking() {
    let folder = folder(&alias("a"));
    let path = folder.path().join("m.toml");
    let mut watch = open(&path);
    let at = |name: &str| folder.path().join(name);
    let put: [(&str, &dyn Fn()); 3] = [
        ("it is not a regular file", &|| {
            let made = std::process::Command::new("mkfifo").arg(at("new")).status();
            assert!(made.unwrap().success());
        }),
        ("it is not a regular file", &|| {
            std::fs::create_dir(at("folder")).unwrap();
            std::os::unix::fs::symlink("folder", at("new")).unwrap();
        }),
        ("bytes, and the limit is", &|| {
            // A sparse gigabyte.
            let file = std::fs::File::create(at("new")).unwrap();
            file.set_len(1 << 30).unwrap();
        }),
    ];
    for (reported, make) in put {
        make();
        std::fs::rename(at("new"), &path).unwrap();
        let problems = next(&mut watch).await.unwrap_err().to_string();
        assert!(problems.contains(reported), "{problems}");
        std::fs::write(at("new"), alias("b")).unwrap();
        std::fs::rename(at("new"), &path).unwrap();
        assert_eq!(aliases(&mut watch).await, ["b"]);
    }
}
