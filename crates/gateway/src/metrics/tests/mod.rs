//! The metrics, and everything that refers to them.
//!
//! `deploy/grafana/majordomo.json` and `deploy/prometheus/majordomo.rules.yml` are written
//! from the list of metrics. `MAJORDOMO_UPDATE_DEPLOY=1` rewrites them; review the diff.
//! `tests/prometheus` checks them with Prometheus' own tools.

mod alerts;
mod counting;
mod dashboard;
mod guide;
mod query;

use std::path::Path;

/// Compares a file of the repository with its expected contents, or rewrites it.
fn assert_written(path: &str, expected: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    if std::env::var_os("MAJORDOMO_UPDATE_DEPLOY").is_some() {
        std::fs::write(&file, expected).expect("the file can be written");
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == expected,
        "{path} is out of date; run this test with MAJORDOMO_UPDATE_DEPLOY=1"
    );
}
