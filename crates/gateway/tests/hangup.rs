//! SIGHUP reloads the file.
//!
//! A separate binary because the signal reaches every watcher in the process.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::time::Duration;

use majordomo_gateway::config::ConfigWatch;

#[tokio::test]
async fn sighup_reloads_an_unchanged_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.toml");
    std::fs::write(&path, "[aliases]\na = \"demo/text\"\n").unwrap();
    let (first, mut watch) = ConfigWatch::open(&path, BTreeMap::new());
    assert!(first.is_ok());
    let id = std::process::id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-HUP", &id])
        .status();
    assert!(sent.unwrap().success());
    // Far longer than it takes; reached only when something is broken.
    let read = tokio::time::timeout(Duration::from_secs(60), watch.next()).await;
    assert_eq!(read.unwrap().unwrap().aliases[0].name, "a");
}
