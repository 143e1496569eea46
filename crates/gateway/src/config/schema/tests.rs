//! The schema and the reader agree.
//!
//! The reader reports what it accepts: with a document that opens every section, it records
//! the keys and words that it looks for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use toml::de::{DeTable, DeValue};

use super::json_schema;
use crate::config::reader::{Asked, ConfigReader, Section};
use crate::config::secrets::positions;
use crate::config::{Config, Variables, document};

/// Opens every section and uses every key that has words.
const EVERYTHING: &str = r#"
server = { tls = { cert = "c", key = "k" } }
keys = [ { name = "k", hash = "x", role = "client", scope = "all", limits = {}, budget = {}, unpriced = "allow" } ]
teams = [ { name = "t", limits = {}, budget = {}, unpriced = "allow" } ]
limits = { budget = {}, alerts = { url = "https://a", secret = "s" }, unpriced = "allow" }
end_users = { limits = {}, budget = {}, unpriced = "allow" }
providers = { demo = { headers = {}, models = { m = { images = { max = 1 } } } } }
aliases = {}
vision = { history = "omit", latest = "turn", on_failure = "fail" }
fetch = {}
health = {}
chain = { all_benched = "fail" }
ledger = { end_users = "hash" }
prices = { "a/b" = { tiers = [ { above = 1 } ] } }
page = {}
log = { format = "text", level = "info" }
capture = {}
cluster = { state = "redis://h" }
[[routes]]
model = "m"
balance = "random"
within = "random"
services = [ { spec = "demo/text" } ]
smart = [ { name = "r", when = [ { position = "token" } ], services = [ { spec = "demo/text" } ] } ]
"#;

fn asked(text: &str) -> Asked {
    let (table, errors) = DeTable::parse_recoverable(text);
    assert!(errors.is_empty(), "{errors:?}");
    let environment = BTreeMap::new();
    let hidden = positions::find(text, table.get_ref());
    let reader = ConfigReader::new(&environment, Variables::Optional, hidden);
    let root = Section::new(&reader, "the file", "", 0..0, table.get_ref());
    document::read_document(root);
    reader.asked.into_inner()
}

/// The schema of a path: through lists, alternatives and names of the user's choice.
fn at<'s>(root: &'s Value, schema: &'s Value, path: &[&str]) -> Vec<&'s Value> {
    if let Some(name) = schema["$ref"].as_str() {
        return at(
            root,
            &root["$defs"][name.trim_start_matches("#/$defs/")],
            path,
        );
    }
    if let Some(items) = schema.get("items") {
        return at(root, items, path);
    }
    if let Some(shapes) = schema["anyOf"].as_array()
        && (path.is_empty() || schema.get("properties").is_none())
        && shapes.iter().any(|shape| shape.get("properties").is_some())
    {
        return shapes
            .iter()
            .flat_map(|shape| at(root, shape, path))
            .collect();
    }
    let Some((key, rest)) = path.split_first() else {
        return vec![schema];
    };
    let named = schema["properties"].get(key);
    let other = schema
        .get("additionalProperties")
        .filter(|it| it.is_object());
    let next = named.or(other).into_iter();
    next.flat_map(|next| at(root, next, rest)).collect()
}

fn parts(path: &str) -> Vec<&str> {
    path.split('.').filter(|part| !part.is_empty()).collect()
}

#[test]
fn every_section_has_the_keys_that_the_reader_knows() {
    let schema = json_schema();
    let asked = asked(EVERYTHING);
    assert!(asked.keys.len() >= 30, "{:?}", asked.keys.keys());
    for (path, known) in &asked.keys {
        let known: BTreeSet<&str> = known.iter().copied().collect();
        let found = at(&schema, &schema, &parts(path));
        let keys = found.iter().filter_map(|it| it["properties"].as_object());
        let keys: BTreeSet<&str> = keys.flat_map(|it| it.keys().map(String::as_str)).collect();
        assert_eq!(keys, known, "the keys of `{path}`");
    }
    // And the reader has opened every table of the schema.
    let mut tables = Vec::new();
    collect_tables(&schema, "", &mut tables);
    for path in tables {
        let opened = asked.keys.keys().any(|it| wildcard(it) == wildcard(&path));
        assert!(opened, "`{path}` is not a section of the reader");
    }
}

/// A path without the names that users choose.
fn wildcard(path: &str) -> String {
    let mut parts: Vec<&str> = parts(path);
    for at in 1..parts.len() {
        let chosen = matches!(parts[at - 1], "providers" | "models" | "prices");
        if chosen && (at == 1 || parts[0] == "providers" && at == 3) {
            parts[at] = "*";
        }
    }
    parts.join(".")
}

fn collect_tables(schema: &Value, path: &str, tables: &mut Vec<String>) {
    if schema.get("$ref").is_some() {
        return;
    }
    let join = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    if schema["additionalProperties"] == json!(false) {
        tables.push(path.to_owned());
    }
    for (key, shape) in schema["properties"].as_object().into_iter().flatten() {
        collect_tables(shape, &join(key), tables);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(shape) = schema.get(key).filter(|shape| shape.is_object()) {
            let path = if key == "items" {
                path.to_owned()
            } else {
                join("*")
            };
            collect_tables(shape, &path, tables);
        }
    }
    for shape in schema["anyOf"].as_array().into_iter().flatten() {
        collect_tables(shape, path, tables);
    }
}

#[test]
fn every_choice_has_the_words_that_the_reader_accepts() {
    let schema = json_schema();
    let asked = asked(EVERYTHING);
    assert!(asked.words.len() >= 11, "{:?}", asked.words.keys());
    for (path, words) in &asked.words {
        let shapes = at(&schema, &schema, &parts(path));
        let enums = shapes
            .iter()
            .flat_map(|it| it["anyOf"].as_array().into_iter().flatten());
        let listed: BTreeSet<&str> = enums
            .filter_map(|it| it["enum"].as_array())
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut words: BTreeSet<&str> = words.iter().map(String::as_str).collect();
        if path == "routes.within" {
            words.remove("tier");
        }
        assert_eq!(listed, words, "the words of `{path}`");
    }
}

/// Values of every type, and texts of every form.
fn probes() -> Vec<Value> {
    let mut probes = vec![
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(5),
        json!(20),
        json!(70_000),
        json!(-1),
        json!(1.5),
        json!([]),
        json!(["text"]),
        json!(["image/png"]),
        json!([{}]),
        json!([{ "spec": "demo/text" }]),
        json!({}),
        json!({ "a": "b" }),
        json!([{ "position": "token", "op": "ge", "value": 1 }]),
    ];
    let texts = [
        "",
        " ",
        "text",
        "30s",
        "1h 30m",
        " 5 m ",
        "0",
        "0s",
        "4MB",
        "1.5 KiB",
        "512",
        "5 USD",
        "0.5USD",
        "2027-01-31",
        "2027-01-31T18:00:00Z",
        "off",
        "https://h:1/x",
        "HTTP://h",
        "socks5://h:1",
        "127.0.0.1:4200",
        ":4200",
        "[::1]:4200",
        "localhost:4200",
        "demo/text",
        "${SET}",
        "a${SET}",
        "ollama+http://t@h/x",
        "sqlite",
        "sqlite:///x",
        "0.27",
        "1",
        "postgres://u@localhost/d",
        "spec:demo/text",
        "refuse",
        "2023-06-01",
        "2026-10-21",
        "gpt-*",
        "a b",
        "Europe/Berlin",
        "sha256:dcfc990ea9757af9c410bbdb8e77ba91ec50c95a25aad41c2858e11c09e3dd9e",
    ];
    probes.extend(texts.map(Value::from));
    probes
}

/// A document with a value for one key, and for the other keys that its tables require.
fn document_with(schema: &Value, path: &[&str], probe: &Value) -> Option<Value> {
    let Some((key, rest)) = path.split_first() else {
        return Some(probe.clone());
    };
    if let Some(items) = schema.get("items") {
        return Some(json!([document_with(items, path, probe)?]));
    }
    let mut shape = schema;
    if let Some(shapes) = schema["anyOf"].as_array() {
        shape = shapes.iter().find(|it| it.get("properties").is_some())?;
    }
    let next = shape["properties"]
        .get(key)
        .unwrap_or(&shape["additionalProperties"]);
    let name = match *key {
        "*" if shape["propertyNames"]["pattern"] == json!("^file$|/") => "a/b",
        "*" => "demo",
        key => key,
    };
    let mut table = json!({ name: document_with(next, rest, probe)? });
    for required in shape["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if table.get(required).is_none() {
            table[required] = match required {
                "services" => json!([{ "spec": "demo/text" }]),
                "when" => json!([{ "position": "token", "op": "ge", "value": 1 }]),
                "position" => json!("token"),
                "url" => json!("https://h/x"),
                "above" => json!(1),
                _ => json!("x"),
            };
        }
    }
    if shape.get("oneOf").is_some() && table.get("hash").is_none() && table.get("key").is_none() {
        table["key"] = json!("a key of more than twenty characters");
    }
    Some(table)
}

/// The paths of all keys with their own type.
fn leaves(schema: &Value, path: &str, found: &mut Vec<String>) {
    if !path.is_empty() {
        found.push(path.to_owned());
    }
    let join = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    let shapes = schema["anyOf"].as_array().into_iter().flatten();
    for shape in shapes.chain([schema, &schema["items"]]) {
        for (key, inner) in shape["properties"].as_object().into_iter().flatten() {
            leaves(inner, &join(key), found);
        }
        if shape["additionalProperties"].is_object() {
            leaves(&shape["additionalProperties"], &join("*"), found);
        }
    }
    if schema["items"].is_object() && schema["items"]["properties"].is_object() {
        // Their keys have been visited above.
        return;
    }
    if schema["items"].is_object() {
        leaves(&schema["items"], path, found);
    }
}

/// A value as TOML on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(table) => {
            let pairs = table
                .iter()
                .map(|(key, value)| format!("{key:?} = {}", inline(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}

fn toml_of(document: &Value) -> String {
    let table = document.as_object().expect("a table");
    let lines = table
        .iter()
        .map(|(key, value)| format!("{key:?} = {}\n", inline(value)));
    lines.collect()
}

#[test]
fn what_the_reader_accepts_is_valid_and_what_is_of_another_type_is_not() {
    let schema = json_schema();
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let mut paths = Vec::new();
    leaves(&schema, "", &mut paths);
    paths.sort();
    paths.dedup();
    assert!(paths.len() > 130, "{}", paths.len());
    let environment = BTreeMap::from([("SET".to_owned(), "1".to_owned())]);
    let mut wrong = Vec::new();
    let mut accepted = 0;
    for path in &paths {
        for probe in probes() {
            let Some(document) = document_with(&schema, &parts(path), &probe) else {
                panic!("no document for `{path}`");
            };
            let text = toml_of(&document);
            let read = Config::parse("f", text.clone(), &environment);
            let valid = validator.is_valid(&document);
            let of_another_type = read.as_ref().err().is_some_and(|problems| {
                let mut list = problems.list().iter();
                list.any(|it| it.message.contains(" must be ") && it.message.contains("but is"))
            });
            accepted += usize::from(read.is_ok());
            if read.is_ok() && !valid {
                wrong.push(format!("the reader accepts {text}"));
            }
            if of_another_type && valid {
                wrong.push(format!("the schema accepts {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join(""));
    assert!(accepted > 500, "{accepted}");
}

/// A parsed file as JSON, as editors see it.
fn json_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Boolean(flag) => json!(flag),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Null, Value::from)
        }
        DeValue::Float(number) => json!(number.as_str().parse::<f64>().ok()),
        DeValue::Datetime(date) => json!(date.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json_of(item.get_ref())).collect(),
        DeValue::Table(table) => {
            let pairs = table.iter();
            let pairs = pairs.map(|(key, it)| (key.get_ref().to_string(), json_of(it.get_ref())));
            Value::Object(pairs.collect())
        }
    }
}

#[test]
fn unknown_keys_wrong_types_and_wrong_words_among_the_mistakes_are_invalid() {
    let schema = json_schema();
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes");
    let (mut judged, mut valid) = (0, Vec::new());
    for path in majordomo_testkit::files(&folder) {
        if path.extension().is_none_or(|end| end != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a sample");
        let (table, errors) = DeTable::parse_recoverable(&text);
        if !errors.is_empty() {
            continue;
        }
        let report = std::fs::read_to_string(path.with_extension("txt")).expect("its snapshot");
        let structural = [
            "unknown key",
            "but is a",
            "is not a value of",
            "has no `",
            "is out of range",
            "there is no provider kind",
            "is not a duration",
            "is not a size",
        ];
        let structural = structural.iter().any(|phrase| report.contains(phrase));
        // A value from a variable, a condition's operation and a provider's kind depend on
        // more than the schema sees.
        let beyond = [
            "no `op`",
            "no `kind`",
            "no `base_url`",
            "no model",
            "no provider",
            "${",
        ];
        let beyond = beyond.iter().any(|phrase| report.contains(phrase));
        if !structural || beyond {
            continue;
        }
        judged += 1;
        let document = json_of(&DeValue::Table(table.into_inner()));
        if validator.is_valid(&document) {
            valid.push(report);
        }
    }
    assert!(valid.is_empty(), "{}", valid.join("\n"));
    assert!(judged >= 30, "{judged}");
}
