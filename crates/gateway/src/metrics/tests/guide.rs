//! `docs/guide/metrics.md` lists every metric, and no other.

use super::super::families::ALL;
use super::query::{all_names, metrics_in};

const PAGE: &str = include_str!("../../../../../docs/guide/metrics.md");

#[test]
fn the_guide_lists_every_metric_with_its_kind_and_labels() {
    for family in ALL {
        let labels = family.labels.iter().map(|label| format!("`{label}`"));
        let labels: Vec<String> = labels.collect();
        let row = format!(
            "| `{}` | {} | {} |",
            family.name,
            family.kind.word(),
            labels.join(", ")
        );
        let row = row.replace("|  |", "| |");
        let found = PAGE.lines().any(|line| line.starts_with(&row));
        assert!(found, "docs/guide/metrics.md has no row `{row} …`");
    }
}

#[test]
fn no_page_of_the_guide_names_a_metric_that_does_not_exist() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide");
    let known = all_names();
    for file in majordomo_testkit::files(folder.as_ref()) {
        if file.extension().is_none_or(|end| end != "md") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a page");
        for name in metrics_in(&text) {
            // Names of crates look alike.
            let is_crate = ["majordomo_gateway", "majordomo_llm", "majordomo_agent"];
            let known = known.contains(&name) || is_crate.contains(&&*name);
            assert!(known, "{name} in {}", file.display());
        }
    }
}
