//! The settings of a stored key or team: a JSON object with the names of `[[keys]]` or
//! `[[teams]]`.
//!
//! The configuration's own reader reads it as if it were an entry of the file, so that both
//! have the same meaning, bounds and messages.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::config::{Config, KeyEntry, TeamEntry};
use crate::keys::quoted;

/// Longest name of a stored key or team, in bytes.
const LONGEST_NAME: usize = 128;
/// Longest settings, in bytes.
const LONGEST_SETTINGS: usize = 16 * 1024;
/// Settings of an entry that are not stored with the others.
const RESERVED: [&str; 3] = ["name", "hash", "key"];
/// A placeholder for the secret, which is stored separately.
const NO_HASH: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// Reads the settings of a key, without checking that its team exists.
pub(super) fn read_key(name: &str, settings: &Map<String, Value>) -> Result<KeyEntry, String> {
    let mut text = String::new();
    if let Some(Value::String(team)) = settings.get("team") {
        let _ = writeln!(text, "[[teams]]\nname = {}", quoted(team));
    }
    let _ = writeln!(text, "[[keys]]\nhash = \"{NO_HASH}\"");
    entry(&mut text, name, settings)?;
    let mut config = parse(text)?;
    config
        .keys
        .pop()
        .ok_or_else(|| "the key has no settings".to_owned())
}

/// Reads the settings of a team.
pub(super) fn read_team(name: &str, settings: &Map<String, Value>) -> Result<TeamEntry, String> {
    let mut text = "[[teams]]\n".to_owned();
    entry(&mut text, name, settings)?;
    let mut config = parse(text)?;
    config
        .teams
        .pop()
        .ok_or_else(|| "the team has no settings".to_owned())
}

/// Parses settings as they are stored.
pub(super) fn parse_settings(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("the settings cannot be read: {error}"))
}

/// Checks the name of a new key or team. It appears in paths, logs and reports.
pub(super) fn check_name(kind: &str, name: &str) -> Result<(), String> {
    if name.trim().is_empty() {
        return Err(format!("the {kind} has no name"));
    }
    if name.len() > LONGEST_NAME {
        let text = format!("the name of the {kind} is longer than {LONGEST_NAME} bytes");
        return Err(text);
    }
    if name.contains('/') || name.chars().any(char::is_control) {
        return Err(format!(
            "the name of the {kind} contains a slash or a control character"
        ));
    }
    Ok(())
}

fn entry(text: &mut String, name: &str, settings: &Map<String, Value>) -> Result<(), String> {
    let before = text.len();
    let _ = writeln!(text, "name = {}", quoted(name));
    for (key, value) in settings {
        if RESERVED.contains(&key.as_str()) {
            return Err(format!("`{key}` is not a setting of a stored entry"));
        }
        if value.is_null() {
            continue;
        }
        let _ = write!(text, "{} = ", toml_key(key));
        toml_value(text, value)?;
        text.push('\n');
        if text.len() - before > LONGEST_SETTINGS {
            return Err(format!(
                "the settings are longer than {LONGEST_SETTINGS} bytes"
            ));
        }
    }
    Ok(())
}

/// The entry of a key for the configuration file.
pub(super) fn entry_text(
    name: &str,
    sha256: &str,
    settings: &Map<String, Value>,
) -> Result<String, String> {
    let mut text = "[[keys]]\n".to_owned();
    let _ = writeln!(text, "name = {}", quoted(name));
    let _ = writeln!(text, "hash = \"sha256:{sha256}\"");
    let given = settings.iter().filter(|(_, value)| !value.is_null());
    for (key, value) in given {
        let _ = write!(text, "{} = ", toml_key(key));
        toml_value(&mut text, value)?;
        text.push('\n');
    }
    Ok(text)
}

fn parse(text: String) -> Result<Config, String> {
    Config::parse("settings", text, &BTreeMap::new()).map_err(|diagnostics| {
        let first = diagnostics.list().first();
        first.map_or_else(String::new, |first| match &first.hint {
            Some(hint) if !hint.is_empty() => format!("{}: {hint}", first.message),
            _ => first.message.clone(),
        })
    })
}

/// A key of TOML, bare if possible.
fn toml_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !key.is_empty() && key.chars().all(bare) {
        true => key.to_owned(),
        false => quoted(key),
    }
}

/// A JSON value as an inline TOML value.
fn toml_value(text: &mut String, value: &Value) -> Result<(), String> {
    match value {
        Value::Null => return Err("null is allowed only for a whole setting".to_owned()),
        Value::Bool(flag) => {
            let _ = write!(text, "{flag}");
        }
        Value::Number(number) => {
            let _ = write!(text, "{number}");
        }
        Value::String(string) => text.push_str(&quoted(string)),
        Value::Array(items) => {
            text.push('[');
            let mut between = "";
            for item in items {
                text.push_str(between);
                toml_value(text, item)?;
                between = ", ";
            }
            text.push(']');
        }
        Value::Object(fields) => {
            text.push_str("{ ");
            let mut between = "";
            for (key, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                let _ = write!(text, "{between}{} = ", toml_key(key));
                toml_value(text, value)?;
                between = ", ";
            }
            text.push_str(" }");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn stored_settings_mean_what_they_mean_in_the_file() {
        let settings = object(json!({
            "team": "search",
            "role": "viewer",
            "models": ["coder", "demo/*"],
            "expires": "2027-01-31",
            "asserts_users": true,
            "scope": null,
        }));
        let key = read_key("Ada's \"${HOME}\"", &settings).unwrap();
        assert_eq!(key.name, "Ada's \"${HOME}\"");
        assert_eq!(key.team.as_deref(), Some("search"));
        assert_eq!(key.role, crate::config::KeyRole::Viewer);
        assert_eq!(key.models.as_deref().map(<[_]>::len), Some(2));
        assert_eq!(key.expires_millis, Some(1_801_440_000_000));
        assert!(key.asserts_users && !key.sees_all);
    }

    #[test]
    fn a_mistake_is_reported_with_its_hint() {
        for (settings, message) in [
            (json!({"role": "admin"}), "`role`"),
            (json!({"modles": ["a"]}), "did you mean `models`?"),
            (json!({"key": "x"}), "`key` is not a setting"),
            (json!({"hash": "x"}), "`hash` is not a setting"),
            (json!({"expires": "soon"}), "is not a date"),
            (json!({"models": [null]}), "null"),
        ] {
            let error = read_key("a", &object(settings)).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_name_escapes_its_entry(name in ".{1,40}", team in ".{1,40}") {
            prop_assume!(!name.trim().is_empty() && !team.trim().is_empty());
            let settings = object(json!({ "team": team }));
            let key = read_key(&name, &settings).unwrap();
            prop_assert_eq!(key.name, name);
            prop_assert_eq!(key.team.unwrap(), team);
        }

        #[test]
        fn no_settings_panic(text in ".{0,200}") {
            if let Ok(settings) = parse_settings(&text) {
                let _ = (read_key("a", &settings), read_team("a", &settings));
            }
        }
    }
}
