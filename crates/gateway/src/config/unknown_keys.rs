//! Hints for keys that a section does not have: what other programs call the setting, the
//! section that the key belongs to, or a similar key.
//!
//! The keys of all sections are those of `schema`. May use `providers`, `reader`, `schema` and
//! `suggest`.

use majordomo::nearest::nearest;
use serde_json::Value;

use super::json_schema;
use super::providers::DeclaredKind;
use super::reader::{ConfigReader, UnknownKey};
use super::suggest::listed;

/// Sections that a hint may name; of more, none is likely to be meant.
const MOST_HOMES: usize = 3;

/// What other programs call a setting: the section, their names, and ours.
const SYNONYMS: &[(&str, &[&str], &str)] = &[
    (
        "server",
        &["port", "host", "address", "addr", "bind"],
        "listen",
    ),
    (
        "server",
        &["cors", "cors_origins", "allowed_origins"],
        "origins",
    ),
    (
        "server.tls",
        &["certificate", "certfile", "chain", "fullchain"],
        "cert",
    ),
    ("server.tls", &["private_key", "keyfile", "privkey"], "key"),
    (
        "providers.*",
        &[
            "url",
            "uri",
            "endpoint",
            "api_base",
            "api_base_url",
            "host",
            "address",
            "server",
        ],
        "base_url",
    ),
    (
        "providers.*",
        &["type", "provider", "protocol", "api_type"],
        "kind",
    ),
    (
        "providers.*",
        &["token", "secret", "password", "auth"],
        "api_key",
    ),
    ("providers.*.models.*", &["vision", "image"], "images"),
    ("routes", &["name", "alias", "pattern", "match"], "model"),
    (
        "routes",
        &[
            "targets",
            "upstreams",
            "backends",
            "providers",
            "endpoints",
            "spec",
            "specs",
            "fallbacks",
        ],
        "services",
    ),
    (
        "routes",
        &[
            "strategy",
            "tactic",
            "lb_tactic",
            "policy",
            "load_balancing",
            "routing_strategy",
        ],
        "balance",
    ),
    (
        "routes",
        &["rules", "smart_routing", "smart_rules"],
        "smart",
    ),
    ("routes", &["sticky", "session_affinity"], "affinity"),
    ("routes.services", &["model", "target", "name"], "spec"),
    ("routes.services", &["priority", "order"], "tier"),
    ("routes.services", &["share", "ratio"], "weight"),
    ("routes.services", &["enabled"], "active"),
    (
        "routes.services",
        &["seats", "concurrency", "max_concurrency"],
        "capacity",
    ),
    ("routes.smart", &["description", "title", "id"], "name"),
    (
        "routes.smart",
        &["ops", "conditions", "condition", "if", "match"],
        "when",
    ),
    (
        "routes.smart.when",
        &["operation", "operator", "comparison"],
        "op",
    ),
    (
        "routes.smart.when",
        &["field", "subject", "input"],
        "position",
    ),
    ("keys", &["token", "secret", "api_key", "value"], "key"),
    ("keys", &["sha256", "digest"], "hash"),
    (
        "keys",
        &["allow", "allowed", "allowed_models", "allow_list", "model"],
        "models",
    ),
    ("keys", &["owner", "user", "id", "label"], "name"),
    ("keys", &["expiry", "expires_at", "valid_until"], "expires"),
];

/// Reports every unknown key.
pub(super) fn report(reader: &ConfigReader<'_>) {
    let unknown = reader.take_unknown_keys();
    if unknown.is_empty() {
        return;
    }
    let mut sections = Vec::new();
    collect(&json_schema(), "", "", &mut sections);
    for found in unknown {
        let message = format!("unknown key `{}` in {}", found.key, found.title);
        reader.report(found.span.clone(), message, hint(&found, &sections));
    }
}

/// A table of the file.
struct KnownSection {
    /// Its path, with `*` for names that users choose.
    path: String,
    /// How it is written, such as `[server.tls]`.
    header: String,
    keys: Vec<String>,
}

/// The sections of a schema, outer ones first.
fn collect(schema: &Value, path: &str, header: &str, found: &mut Vec<KnownSection>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    found.push(KnownSection {
        path: path.to_owned(),
        header: header.to_owned(),
        keys: properties.keys().cloned().collect(),
    });
    let at = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    for (name, child) in properties {
        let path = at(name);
        let inner = path
            .replacen(".*", ".NAME", 1)
            .replacen(".*", ".\"MODEL\"", 1);
        let items = child.get("items");
        let header = match (name.as_str(), items) {
            ("services", _) => "a service".to_owned(),
            (_, Some(_)) => format!("[[{inner}]]"),
            (_, None) => format!("[{inner}]"),
        };
        collect(items.unwrap_or(child), &path, &header, found);
        let entry = &child["additionalProperties"];
        let placeholder = if name == "models" {
            "\"MODEL\""
        } else {
            "NAME"
        };
        collect(
            entry,
            &format!("{path}.*"),
            &format!("[{inner}.{placeholder}]"),
            found,
        );
    }
}

fn hint(unknown: &UnknownKey, sections: &[KnownSection]) -> String {
    let path = pattern(&unknown.path);
    let key = unknown.key.as_str();
    let synonym = SYNONYMS
        .iter()
        .find(|(section, names, _)| *section == path && names.contains(&key));
    if let Some((_, _, ours)) = synonym {
        return format!("write it as `{ours}`");
    }
    if path.is_empty() && DeclaredKind::builtin(key).is_some() {
        return format!("name the provider's section `[providers.{key}]`");
    }
    let homes = homes(&path, key, sections);
    let close = nearest(key, unknown.known.iter().copied());
    match (homes.as_str(), close) {
        ("", Some(close)) => format!("did you mean `{close}`?"),
        ("", None) => format!("expected one of {}", listed(&unknown.known)),
        (homes, None) => format!("move it to {homes}"),
        (homes, Some(close)) => format!("did you mean `{close}`? `{key}` belongs to {homes}"),
    }
}

/// The sections that have this key, as a list; those inside the section where it was found come
/// first. Empty if there are none or too many.
fn homes(path: &str, key: &str, sections: &[KnownSection]) -> String {
    let all = || {
        sections
            .iter()
            .filter(|section| section.keys.iter().any(|it| it == key))
    };
    let inside = all().filter(|section| {
        let below = section.path.strip_prefix(path);
        !path.is_empty() && below.is_some_and(|below| below.starts_with('.'))
    });
    let mut homes: Vec<&KnownSection> = inside.collect();
    if homes.is_empty() {
        homes = all().collect();
    }
    let mut headers: Vec<String> = homes
        .iter()
        .map(|home| header(home, key, sections))
        .collect();
    headers.dedup();
    if headers.len() > MOST_HOMES {
        return String::new();
    }
    match headers.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Where to write the key: the header of its own section, if it has one.
fn header(home: &KnownSection, key: &str, sections: &[KnownSection]) -> String {
    if home.path == "routes" && key == "smart" {
        return "[[routes.smart]], below the [[routes]] of its route".to_owned();
    }
    let own = format!("{}.{key}", home.path);
    let own = sections.iter().find(|section| section.path == own);
    let own = own.filter(|section| section.header.starts_with('['));
    own.unwrap_or(home).header.clone()
}

/// A path with `*` for the names that users choose.
fn pattern(path: &str) -> String {
    let mut named = false;
    let parts = path.split('.').map(|part| {
        let is_name = std::mem::replace(
            &mut named,
            matches!(part, "providers" | "models" | "prices"),
        );
        if is_name { "*" } else { part }
    });
    let pattern: Vec<&str> = parts.collect();
    // The services of a rule are like those of its route.
    pattern
        .join(".")
        .replace("routes.smart.services", "routes.services")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_synonym_stands_for_a_key_of_its_section() {
        let mut sections = Vec::new();
        collect(&json_schema(), "", "", &mut sections);
        for (path, names, ours) in SYNONYMS {
            if *path == "routes.smart.when" {
                continue;
            }
            let section = sections.iter().find(|section| section.path == *path);
            let keys = &section.unwrap_or_else(|| panic!("no section {path}")).keys;
            assert!(keys.iter().any(|key| key == ours), "{path}: {ours}");
            for name in *names {
                assert!(!keys.iter().any(|key| key == name), "{path} has {name}");
            }
        }
    }

    #[test]
    fn a_path_is_compared_without_the_names_of_users() {
        for (path, expected) in [
            ("server.tls", "server.tls"),
            ("providers.models", "providers.*"),
            ("providers.box.models.a", "providers.*.models.*"),
            ("routes.smart.services", "routes.services"),
            ("", ""),
        ] {
            assert_eq!(pattern(path), expected);
        }
    }
}
