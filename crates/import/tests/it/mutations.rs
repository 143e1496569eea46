//! No panic, no silent drop and no leaked secret on mutated files.

use std::collections::BTreeSet;

use majordomo_import::{FieldOutcome, import};
use proptest::prelude::*;
use serde_json::Value;

use crate::samples::{BIFROST, LITELLM, ROUTER};

/// The samples as JSON values, which every format accepts.
fn samples() -> Vec<Value> {
    let yaml = serde_json::json!({
        "model_list": [
            { "model_name": "a", "litellm_params": { "model": "openai/x", "api_key": "sk-canary-0123456789", "rpm": 5, "extra_headers": { "x-a": "canary-header" } } },
            { "model_name": "a", "litellm_params": { "model": "ollama/y", "api_base": "http://h:1", "order": 2 }, "model_info": { "max_tokens": 5, "access_groups": ["g"] } },
        ],
        "router_settings": { "fallbacks": [ { "a": ["b"] } ], "timeout": 5, "redis_password": "canary-redis" },
        "litellm_settings": { "success_callback": ["x"], "num_retries": 3 },
        "general_settings": { "master_key": "canary-master-key", "alerting": ["slack"] },
        "credential_list": [ { "credential_name": "c", "credential_values": { "api_key": "canary-credential" } } ],
    });
    let plain = |text: &str| -> Value {
        let text = text.replace("// as people write it", "");
        let text = text
            .replace("},\n  ],", "}\n  ],")
            .replace("\"gone,x\" },", "\"gone,x\" }");
        serde_json::from_str(&text).expect("a sample")
    };
    vec![yaml, plain(ROUTER), plain(BIFROST)]
}

/// The path of every leaf, as reports write it.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                leaves(item, &format!("{path}[{at}]"), found);
            }
        }
        Value::Object(map) if !map.is_empty() => {
            for (key, item) in map {
                let is_plain = !key.is_empty() && !key.contains(['.', '[', ']', '"', '\n']);
                let key = if is_plain {
                    key.clone()
                } else {
                    format!("{key:?}")
                };
                let path = if path.is_empty() {
                    key
                } else {
                    format!("{path}.{key}")
                };
                leaves(item, &path, found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}

/// Replaces the leaf at a position.
fn replace(value: &mut Value, at: &mut usize, with: &Value) -> bool {
    let inner: Vec<&mut Value> = match value {
        Value::Array(items) if !items.is_empty() => items.iter_mut().collect(),
        Value::Object(map) if !map.is_empty() => map.values_mut().collect(),
        leaf => {
            if *at == 0 {
                *leaf = with.clone();
                return true;
            }
            *at -= 1;
            return false;
        }
    };
    inner.into_iter().any(|item| replace(item, at, with))
}

/// Renames the key at a position.
fn rename(value: &mut Value, at: &mut usize, name: &str) -> bool {
    match value {
        Value::Array(items) => items.iter_mut().any(|item| rename(item, at, name)),
        Value::Object(map) => {
            let keys: Vec<String> = map.keys().cloned().collect();
            for key in keys {
                if *at == 0 {
                    if let Some(inner) = map.remove(&key) {
                        map.insert(name.to_owned(), inner);
                    }
                    return true;
                }
                *at -= 1;
                if map
                    .get_mut(&key)
                    .is_some_and(|inner| rename(inner, at, name))
                {
                    return true;
                }
            }
            false
        }
        _ => false,
    }
}

fn is_accounted_for(document: &Value) -> Result<(), String> {
    let text = document.to_string();
    let Ok(imported) = import(&text) else {
        return Ok(());
    };
    let known: BTreeSet<&str> = imported
        .report
        .fields
        .iter()
        .map(|it| it.path.as_str())
        .collect();
    let mut paths = Vec::new();
    leaves(document, "", &mut paths);
    for path in paths {
        let covered = (0..=path.len()).any(|end| {
            let boundary = end == path.len() || path[end..].starts_with(['.', '[']);
            boundary && path.is_char_boundary(end) && known.contains(&path[..end])
        });
        if !covered {
            return Err(format!("`{path}` is dropped silently"));
        }
    }
    let shown = format!("{}{}", imported.toml, imported.report);
    if shown.contains("canary") {
        return Err(format!("a secret is shown:\n{shown}"));
    }
    imported
        .toml
        .parse::<toml::Table>()
        .map_err(|error| format!("{error}\n{}", imported.toml))?;
    Ok(())
}

#[test]
fn every_leaf_of_the_samples_is_accounted_for() {
    for sample in samples() {
        is_accounted_for(&sample).unwrap();
    }
    assert!(import(LITELLM).is_ok());
}

#[test]
fn a_key_with_dots_is_not_taken_for_a_path() {
    let text = r#"{ "model_list": [], "litellm_settings": { "num_retries": 2 },
      "litellm_settings.num_retries": 5 }"#;
    let report = import(text).unwrap().report;
    let paths: Vec<&str> = report.fields.iter().map(|it| it.path.as_str()).collect();
    assert!(
        paths.contains(&"\"litellm_settings.num_retries\""),
        "{paths:?}"
    );
}

#[test]
fn a_key_of_the_file_shows_neither_a_secret_nor_control_characters() {
    let text = r#"{ "model_list": [], "sk-canary-0123456789": 1, "sk-canary-9876543210": 2,
      "\u001b[31mred": 3 }"#;
    let imported = import(text).unwrap();
    let shown = format!("{}{}", imported.toml, imported.report);
    assert!(
        !shown.contains("canary") && !shown.contains('\u{1b}'),
        "{shown}"
    );
    assert_eq!(
        imported.report.count(FieldOutcome::NotImported),
        4,
        "{shown}"
    );
}

#[test]
fn thousands_of_entries_that_want_one_name_are_read() {
    // Each deployment is a provider of its own that wants the same name, key and report.
    let entries: Vec<String> = (0..6_000)
        .map(|at| {
            format!(
                r#"{{ "model_name": "m", "unknown{at}": 1, "litellm_params": {{ "model": "openai/x",
                "api_base": "http://h{at}", "api_key": "sk-canary-{at:08}" }} }}"#
            )
        })
        .collect();
    let text = format!(r#"{{ "model_list": [ {} ] }}"#, entries.join(","));
    let imported = import(&text).unwrap();
    assert_eq!(imported.report.new_variables.len(), 6_000);
    assert!(imported.toml.contains("[providers.openai-6000]"));
}

fn any_leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        "[a-z$ {},/\"'*?\\\\\n]{0,12}".prop_map(Value::from),
        Just(serde_json::json!([])),
        Just(serde_json::json!({})),
        Just(serde_json::json!([["x"], { "y": 1 }])),
        Just(serde_json::json!("os.environ/NAME")),
        Just(serde_json::json!("http://user:pass@host/?key=canary")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_changed_leaf_causes_no_panic_and_no_drop(which in 0..3usize, at in 0..60usize, leaf in any_leaf()) {
        let mut document = samples().swap_remove(which);
        replace(&mut document, &mut at.clone(), &leaf);
        prop_assert_eq!(is_accounted_for(&document), Ok(()));
    }

    #[test]
    fn a_renamed_key_causes_no_panic_and_no_drop(which in 0..3usize, at in 0..60usize, name in "[a-z_.\\[\\]\"\n0-9]{0,8}") {
        let mut document = samples().swap_remove(which);
        rename(&mut document, &mut at.clone(), &name);
        prop_assert_eq!(is_accounted_for(&document), Ok(()));
    }

    #[test]
    fn a_cut_or_scrambled_text_causes_no_panic(which in 0..3usize, start in 0..400usize, cut in 0..400usize, insert in "[:{}\\[\\]\"'&*#|>\n -]{0,6}") {
        let text = [LITELLM, ROUTER, BIFROST][which];
        let place = |at: usize| (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        let (start, end) = (place(start), place(start + cut));
        let scrambled = format!("{}{insert}{}", &text[..start], &text[end.max(start)..]);
        if let Ok(imported) = import(&scrambled) {
            prop_assert!(imported.toml.parse::<toml::Table>().is_ok());
        }
    }
}
