//! `[ledger]`: where requests and their cost are recorded.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use majordomo_ledger::{PostgresUrl, PostgresUrlError, StorePlace};

use super::reader::{ConfigField, Section};

/// The record of requests and their cost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LedgerSettings {
    /// Where rows are stored.
    pub store: LedgerPlace,
    /// How long rows are kept; `None` means forever. Rollups are never removed.
    pub retention: Option<Duration>,
    /// How long the audit log of keys and teams is kept; `None` means forever.
    pub audit_retention: Option<Duration>,
    /// Whether keyed hashes replace the names of end users.
    pub hash_end_users: bool,
}

/// The location of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerPlace {
    /// SQLite in the user's state folder.
    StateFolder,
    /// SQLite in this folder.
    Folder(PathBuf),
    /// A PostgreSQL database.
    Postgres(PostgresUrl),
    /// Nothing is recorded.
    Off,
}

impl Default for LedgerSettings {
    fn default() -> Self {
        Self {
            store: LedgerPlace::StateFolder,
            retention: Some(Duration::from_secs(90 * 86_400)),
            audit_retention: Some(Duration::from_secs(365 * 86_400)),
            hash_end_users: false,
        }
    }
}

impl LedgerSettings {
    /// Where the rows are, or `None` if the ledger is off or the user has no state folder.
    pub fn place(&self, environment: &BTreeMap<String, String>) -> Option<StorePlace> {
        match &self.store {
            LedgerPlace::Postgres(url) => Some(StorePlace::Postgres(url.clone())),
            _ => self.folder(environment).map(StorePlace::Folder),
        }
    }

    /// The ledger's folder on this machine: for its files, or for rows that wait for a
    /// database. `None` if the ledger is off or the user has no state folder.
    pub fn folder(&self, environment: &BTreeMap<String, String>) -> Option<PathBuf> {
        match &self.store {
            LedgerPlace::StateFolder | LedgerPlace::Postgres(_) => {
                state_folder(environment).map(|path| path.join("ledger"))
            }
            LedgerPlace::Folder(folder) => Some(folder.clone()),
            LedgerPlace::Off => None,
        }
    }
}

/// majordomo's folder for state: from systemd's unit, or in the user's state folder.
fn state_folder(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let set = |name: &str| {
        let path = environment.get(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let user = set("XDG_STATE_HOME")
        .or_else(|| set("LOCALAPPDATA").filter(|_| cfg!(windows)))
        .or_else(|| set("HOME").map(|home| home.join(".local").join("state")));
    // systemd lists several folders with colons.
    let unit = environment.get("STATE_DIRECTORY");
    let unit = unit.and_then(|list| list.split(':').next());
    let unit = unit.map(PathBuf::from).filter(|path| path.is_absolute());
    unit.or_else(|| user.map(|folder| folder.join("majordomo")))
}

pub(super) fn read_ledger(mut section: Section<'_>) -> LedgerSettings {
    let mut ledger = LedgerSettings::default();
    if let Some(field) = section.take("store")
        && let Some(text) = field.non_empty()
    {
        let folder = text.value.strip_prefix("sqlite://");
        match (text.value.as_str(), folder) {
            ("sqlite", _) => {}
            ("off", _) => ledger.store = LedgerPlace::Off,
            (_, Some(folder)) if folder.starts_with('/') => {
                ledger.store = LedgerPlace::Folder(folder.into());
            }
            (url, None) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                read_postgres(&field, url, &mut ledger);
            }
            (_, Some(_)) => field.report(
                "the folder of `store` must be absolute",
                "write `store = \"sqlite:///var/lib/majordomo/ledger\"`, with three slashes",
            ),
            _ => field.report(
                "`store` is not a known store",
                "write `\"sqlite\"`, `\"sqlite:///folder\"`, `\"postgres://…\"` or `\"off\"`",
            ),
        }
    }
    if let Some(retention) = section.take("retention").and_then(|f| f.duration_or_off()) {
        ledger.retention = retention;
    }
    let audit = section.take("audit_retention");
    if let Some(retention) = audit.and_then(|f| f.duration_or_off()) {
        ledger.audit_retention = retention;
    }
    let choices = [("plain", false), ("hash", true)];
    if let Some(hash) = section.take("end_users").and_then(|f| f.choice(&choices)) {
        ledger.hash_end_users = hash;
    }
    section.finish();
    ledger
}

fn read_postgres(field: &ConfigField<'_>, url: &str, ledger: &mut LedgerSettings) {
    if field.is_literal() {
        // The URL may contain a password.
        field.reader.hide(field.span.clone());
        if url
            .split_once("://")
            .is_some_and(|(_, rest)| rest.contains('@'))
        {
            field.reader.note_secret();
        }
    }
    match url.parse() {
        Ok(url) => ledger.store = LedgerPlace::Postgres(url),
        Err(error) => {
            let hint = "write `store = \"postgres://user:${PGPASSWORD}@host/database\"`";
            field.report(PostgresUrlError::to_string(&error), hint);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_folder_follows_the_environment() {
        let folder = |variables: &[(&str, &str)]| {
            let variables = variables.iter();
            let variables = variables.map(|(name, value)| ((*name).into(), (*value).into()));
            LedgerSettings::default().folder(&variables.collect())
        };
        let home = ("HOME", "/home/ada");
        let expected = |path: &str| Some(PathBuf::from(path));
        assert_eq!(folder(&[]), None);
        assert_eq!(
            folder(&[home]),
            expected("/home/ada/.local/state/majordomo/ledger")
        );
        assert_eq!(
            folder(&[home, ("XDG_STATE_HOME", "/state")]),
            expected("/state/majordomo/ledger")
        );
        assert_eq!(
            folder(&[home, ("XDG_STATE_HOME", "relative")]),
            expected("/home/ada/.local/state/majordomo/ledger")
        );
        assert_eq!(
            folder(&[home, ("STATE_DIRECTORY", "/var/lib/majordomo:/var/lib/x")]),
            expected("/var/lib/majordomo/ledger")
        );
    }
}
