//! The index of recordings, and the list of exceptions.

use std::path::PathBuf;

pub(crate) struct Index {
    pub(crate) folder: PathBuf,
    pub(crate) rows: Vec<RecordingRow>,
}

pub(crate) struct RecordingRow {
    pub(crate) path: String,
    pub(crate) protocol: String,
    pub(crate) status: Option<u16>,
    pub(crate) features: Vec<String>,
}

impl RecordingRow {
    pub(crate) fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|f| f == feature)
    }

    /// The status; responses without a request record it as a feature.
    pub(crate) fn status(&self) -> u16 {
        let feature = |f: &String| f.strip_prefix("error")?.parse().ok();
        let from_features = || self.features.iter().find_map(feature);
        self.status.or_else(from_features).unwrap_or(200)
    }
}

/// Reads the index; `None` if no directory is configured.
pub(crate) fn load() -> Option<Index> {
    let folder = majordomo_testkit::data("MAJORDOMO_RECORDINGS")?;
    let file = folder.join("INDEX.tsv");
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header line").split('\t').collect();
    let column = |name: &str| {
        let at = header.iter().position(|column| *column == name);
        at.unwrap_or_else(|| panic!("the index has no column {name}"))
    };
    let (path, protocol) = (column("path"), column("protocol"));
    let (status, features) = (column("status"), column("features"));
    let rows = lines.filter(|line| !line.is_empty()).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        RecordingRow {
            path: cells[path].to_owned(),
            protocol: cells[protocol].to_owned(),
            status: cells[status].parse().ok(),
            features: cells[features].split(',').map(str::to_owned).collect(),
        }
    });
    Some(Index {
        rows: rows.collect(),
        folder,
    })
}

/// Path patterns of recordings that cannot pass, each with its reason.
pub(crate) struct Exceptions(Vec<(&'static str, &'static str)>);

pub(crate) fn exceptions() -> Exceptions {
    let lines = include_str!("exceptions.tsv").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    Exceptions(
        lines
            .map(|line| line.split_once('\t').expect("a pattern, a tab, a reason"))
            .collect(),
    )
}

impl Exceptions {
    pub(crate) fn reason(&self, path: &str) -> Option<&str> {
        let found = self.0.iter().find(|(pattern, _)| matches(pattern, path));
        found.map(|(_, reason)| *reason)
    }
}

/// `*` matches any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            (0..=tail.len())
                .filter(|at| tail.is_char_boundary(*at))
                .any(|at| matches(rest, &tail[at..]))
        }),
    }
}
