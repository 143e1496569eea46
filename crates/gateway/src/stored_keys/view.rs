//! Keys and teams as JSON, without secrets and hashes.

use std::time::{Duration, UNIX_EPOCH};

use majordomo_ledger::{StoredKey, StoredTeam};
use serde_json::{Map, Value, json};

use super::policy_view::add_policy;
use super::settings::{parse_settings, read_key, read_team};
use crate::config::{KeyEntry, TeamEntry};

/// A key of the configuration file.
pub(super) fn file_key(key: &KeyEntry, now_millis: i64) -> Value {
    let mut view = key_settings(key);
    let state = state(false, key.expires_millis, now_millis);
    view.insert("state".to_owned(), json!(state));
    view.insert("origin".to_owned(), json!("file"));
    view.into()
}

/// A stored key.
pub(super) fn stored_key(key: &StoredKey, now_millis: i64) -> Value {
    let read = parse_settings(&key.settings).and_then(|settings| read_key(&key.name, &settings));
    let mut view = match &read {
        Ok(entry) => key_settings(entry),
        Err(reason) => [("name", json!(key.name)), ("unusable", json!(reason))]
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect(),
    };
    let expires = read.ok().and_then(|entry| entry.expires_millis);
    let overlapping = key.secrets.iter().filter_map(|secret| secret.until_millis);
    let overlap = overlapping.filter(|end| *end > now_millis).max();
    for (name, value) in [
        ("state", json!(state(key.frozen, expires, now_millis))),
        ("origin", json!("store")),
        ("created", json!(timestamp(key.created_millis))),
        ("old_secret_until", json!(overlap.map(timestamp))),
    ] {
        if !value.is_null() {
            view.insert(name.to_owned(), value);
        }
    }
    view.into()
}

/// A team of the configuration file.
pub(super) fn file_team(team: &TeamEntry) -> Value {
    let mut view = team_settings(team);
    view.insert("origin".to_owned(), json!("file"));
    view.into()
}

/// A stored team.
pub(super) fn stored_team(team: &StoredTeam) -> Value {
    let read = parse_settings(&team.settings).and_then(|settings| read_team(&team.name, &settings));
    let mut view = match read {
        Ok(entry) => team_settings(&entry),
        Err(reason) => [("name", json!(team.name)), ("unusable", json!(reason))]
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect(),
    };
    view.insert("origin".to_owned(), json!("store"));
    view.into()
}

fn state(frozen: bool, expires_millis: Option<i64>, now_millis: i64) -> &'static str {
    match expires_millis {
        _ if frozen => "frozen",
        Some(end) if now_millis >= end => "expired",
        _ => "active",
    }
}

fn key_settings(key: &KeyEntry) -> Map<String, Value> {
    let mut view = Map::new();
    for (name, value) in [
        ("name", json!(key.name)),
        ("team", json!(key.team)),
        ("role", json!(key.role.to_string())),
        ("scope", json!(key.sees_all.then_some("all"))),
        ("models", json!(key.models)),
        ("expires", json!(key.expires_millis.map(timestamp))),
        ("asserts_users", json!(key.asserts_users.then_some(true))),
        ("capture", json!(key.capture.then_some(true))),
    ] {
        if !value.is_null() {
            view.insert(name.to_owned(), value);
        }
    }
    add_policy(&mut view, &key.limits);
    view
}

fn team_settings(team: &TeamEntry) -> Map<String, Value> {
    let mut view = Map::new();
    view.insert("name".to_owned(), json!(team.name));
    add_policy(&mut view, &team.limits);
    view
}

/// A time in a readable form.
pub(crate) fn timestamp(millis: i64) -> String {
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or_default());
    // Beyond the year 9999 there is no format.
    let latest = Duration::from_secs(253_402_300_799);
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since.min(latest)).to_string()
}
