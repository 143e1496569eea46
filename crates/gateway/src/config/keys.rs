//! `[[keys]]`: client keys, their teams and the models they may use.

use std::collections::HashSet;

use secrecy::{ExposeSecret, SecretString};

use super::expiry::read_expiry;
use super::limits::read_policy;
use super::reader::{ConfigField, ConfigText, Section};
use super::suggest::suggest;
use crate::keys::{KeyEntry, KeyRole, KeySecret, TeamEntry, unhex};

const GENERATE_HINT: &str = "`majordomo key new NAME` generates a key and its [[keys]] entry";

/// Shorter keys cause a warning.
const SHORT: usize = 20;
/// Shorter keys are rejected if other machines can try them.
const SHORTEST: usize = 8;

/// Reads all entries. `exposed` is true if other machines can reach the gateway.
pub(super) fn read_keys(
    sections: Vec<Section<'_>>,
    teams: &[TeamEntry],
    exposed: bool,
) -> Vec<KeyEntry> {
    let mut entries: Vec<KeyEntry> = Vec::new();
    let mut names = HashSet::new();
    let mut hashes = HashSet::new();
    for section in sections {
        let reader = section.reader;
        let Some((entry, name)) = entry(section, teams, exposed) else {
            continue;
        };
        if !names.insert(entry.name.clone()) {
            let message = format!("duplicate key name {}", name.shown());
            reader.report(name.span, message, "give each key a unique name");
            continue;
        }
        if let KeySecret::Sha256(hash) = &entry.secret
            && !hashes.insert(*hash)
        {
            reader.report(
                entry.span,
                "an earlier entry has the same key",
                GENERATE_HINT,
            );
            continue;
        }
        entries.push(entry);
    }
    entries
}

fn entry(
    mut section: Section<'_>,
    teams: &[TeamEntry],
    exposed: bool,
) -> Option<(KeyEntry, ConfigText)> {
    let reader = section.reader;
    let span = section.span.clone();
    let name = section.require("name", "name the owner: `name = \"laptop\"`");
    let name = name.and_then(|field| field.non_empty());
    let hash = section.take("hash");
    let key = section.take("key");
    let secret = match (&hash, &key) {
        (Some(field), None) => read_hash(field),
        (None, Some(field)) => {
            if field.is_literal() {
                reader.note_secret();
            }
            let secret = field.one_secret("write a [[keys]] entry for each key");
            if let Some(secret) = &secret {
                check_length(field, name.as_ref(), secret, exposed);
            }
            secret.map(KeySecret::Plain)
        }
        (Some(_), Some(key)) => {
            let hint = "keep `hash` and remove `key`";
            reader.report(
                key.key_span.clone(),
                "a key has either `hash` or `key`, not both",
                hint,
            );
            None
        }
        (None, None) => {
            reader.report(span.clone(), "[[keys]] has no `hash`", GENERATE_HINT);
            None
        }
    };
    let models_field = section.take("models");
    let models_span = models_field.as_ref().map(|field| field.span.clone());
    let models = models_field.and_then(|field| models(&field));
    let role = section.take("role");
    let role = role.map_or(Some(KeyRole::default()), |field| {
        field.choice(&KeyRole::WORDS)
    });
    let scope = section.take("scope");
    let sees_all = scope.map_or(Some(false), |field| {
        field.choice(&[("team", false), ("all", true)])
    });
    let team = section.take("team").map(|field| team(&field, teams));
    let expires = section.take("expires").map(|field| read_expiry(&field));
    let asserts_users = section.flag("asserts_users").unwrap_or_default();
    let capture = section.flag("capture").unwrap_or_default();
    let limits = read_policy(&mut section);
    section.finish();
    let name = name?;
    let entry = KeyEntry {
        name: name.value.clone(),
        secret: secret?,
        // Without its team or expiry, a key would allow more than the file states.
        team: team.map_or(Some(None), |team| team.map(Some))?,
        role: role?,
        sees_all: sees_all?,
        expires_millis: expires.map_or(Some(None), |expires| expires.map(Some))?,
        asserts_users,
        capture,
        limits: limits.into(),
        models,
        models_span: models_span.unwrap_or_default(),
        span,
    };
    Some((entry, name))
}

fn team(field: &ConfigField<'_>, teams: &[TeamEntry]) -> Option<String> {
    let name = field.non_empty()?;
    if teams.iter().any(|team| team.name == name.value) {
        return Some(name.value);
    }
    let known: Vec<&str> = teams.iter().map(|team| team.name.as_str()).collect();
    let hint = match known.is_empty() {
        true => "declare it: `[[teams]]` with its `name`".to_owned(),
        false => suggest(&name.value, &known),
    };
    field.report(format!("there is no team {}", name.shown()), hint);
    None
}

fn check_length(
    field: &ConfigField<'_>,
    name: Option<&ConfigText>,
    key: &SecretString,
    exposed: bool,
) {
    let length = key.expose_secret().chars().count();
    if length >= SHORT {
        return;
    }
    let name = name.map_or_else(String::new, |name| format!(" {}", name.shown()));
    let message = format!("the key{name} has only {length} characters, so it can be guessed");
    match exposed && length < SHORTEST {
        true => field.report(message, GENERATE_HINT),
        false => field.warn(message, GENERATE_HINT),
    }
}

fn models(field: &ConfigField<'_>) -> Option<Vec<String>> {
    let models = field.texts()?;
    if models.is_empty() {
        let hint = "list the models it may use, or omit `models` to allow all";
        field.report("`models` is empty, so the key allows no model", hint);
    }
    Some(models.into_iter().map(|text| text.value).collect())
}

fn read_hash(field: &ConfigField<'_>) -> Option<KeySecret> {
    let text = field.text()?;
    let Some(digits) = text.value.strip_prefix("sha256:") else {
        // It may be the key itself.
        field.reader.hide(field.span.clone());
        field.report("`hash` must begin with `sha256:`", GENERATE_HINT);
        return None;
    };
    let hash = unhex(digits);
    if hash.is_none() {
        let message = format!(
            "`hash` needs 64 hexadecimal digits after `sha256:`, found {} characters",
            digits.chars().count()
        );
        field.report(message, GENERATE_HINT);
    }
    hash.map(KeySecret::Sha256)
}
