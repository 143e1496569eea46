//! Recognizes YAML and JSON where TOML is expected.
//!
//! A file in another format has a syntax error on nearly every line; one diagnostic that
//! names the format replaces them.

use super::secrets::names::SETTINGS;
use super::{Diagnostic, Span};

/// Top-level keys of a LiteLLM configuration.
const LITELLM_KEYS: [&str; 5] = [
    "model_list",
    "litellm_params",
    "litellm_settings",
    "general_settings",
    "router_settings",
];

/// Consecutive lines that make a text YAML; a single one may be a slip.
const YAML_LINES: usize = 3;

const IMPORT_HINT: &str = "convert it: `majordomo import FILE -o majordomo.toml`";
const FORMAT_HINT: &str = "write the settings as TOML: docs/guide/configuration.md lists them";

/// The diagnostic for a text in another format whose first syntax error is at `error`.
pub(super) fn diagnose(text: &str, error: &Span) -> Option<Diagnostic> {
    let start = text.get(..error.start)?.rfind('\n').map_or(0, |at| at + 1);
    let rest = &text[start..];
    let line = rest.lines().next().unwrap_or_default();
    let at = |message: &str, hint: &str| {
        let indent = line.len() - line.trim_start().len();
        Some(Diagnostic::at(
            start + indent..start + line.trim_end().len(),
            message,
            hint,
        ))
    };
    let keys = yaml_keys(rest);
    let is_litellm = |key: &&str| LITELLM_KEYS.contains(key);
    if keys.iter().flatten().any(is_litellm) {
        return at(
            "this looks like a LiteLLM configuration, which is YAML",
            IMPORT_HINT,
        );
    }
    if is_json(text) {
        return match json_of(text) {
            Some(product) => {
                let message = format!("this looks like a {product} configuration, which is JSON");
                at(&message, IMPORT_HINT)
            }
            None => at("the file is JSON, not TOML", FORMAT_HINT),
        };
    }
    let is_marked = line.trim() == "---" || line.starts_with("- ");
    let key = match yaml_key(line) {
        Some(key) => key,
        None if is_marked => "",
        None => return None,
    };
    if keys.len() >= YAML_LINES || is_marked {
        return at("this looks like YAML, not TOML", FORMAT_HINT);
    }
    // Any other word may be a secret.
    let key = if SETTINGS.contains(&key) { key } else { "key" };
    let hint = format!("TOML separates a key from its value with `=`: `{key} = …`");
    at("invalid TOML: `:` after a key", &hint)
}

/// Whether the text begins like a JSON document. A table of TOML can begin like a list.
fn is_json(text: &str) -> bool {
    let mut start = text.trim_start();
    while let Some(comment) = start.strip_prefix("//") {
        start = comment
            .split_once('\n')
            .map_or("", |(_, rest)| rest)
            .trim_start();
    }
    let list = start.strip_prefix('[').map(str::trim_start);
    start.starts_with('{') || list.is_some_and(|list| list.starts_with('{'))
}

/// The product whose configuration a JSON file is; comments and trailing commas may keep it
/// from being parsed.
fn json_of(text: &str) -> Option<&'static str> {
    const ROUTER: &str = "claude-code-router";
    let Ok(root) = serde_json::from_str::<serde_json::Value>(text) else {
        let has =
            |key: &str| text.contains(&format!("\"{key}\"")) || text.contains(&format!("{key}:"));
        return (has("Providers") && has("Router")).then_some(ROUTER);
    };
    if root.get("Providers").or(root.get("Router")).is_some() {
        return Some(ROUTER);
    }
    let mut providers = root.get("providers")?.as_object()?.values();
    // Ours would have `api_keys`.
    let is_bifrost = providers.any(|provider| provider.get("keys").is_some());
    is_bifrost.then_some("Bifrost")
}

/// The keys of the lines of YAML at the beginning of a text, one item per line.
fn yaml_keys(text: &str) -> Vec<Option<&str>> {
    let significant = text.lines().filter(|line| !is_blank(line));
    let yaml = significant.map_while(|line| is_yaml(line).then(|| yaml_key(line)));
    yaml.collect()
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// Whether a line is a mapping, a list item or a document marker.
fn is_yaml(line: &str) -> bool {
    let line = line.trim();
    line == "---" || line == "-" || line.starts_with("- ") || yaml_key(line).is_some()
}

/// The key of a mapping line such as `key: value` or `- key: value`.
fn yaml_key(line: &str) -> Option<&str> {
    let line = line.trim().trim_start_matches("- ").trim_start();
    let (key, value) = line.split_once(':')?;
    let key = unquoted(key);
    let is_name = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    (is_name && (value.is_empty() || value.starts_with(' '))).then_some(key)
}

/// A key without its quotes.
fn unquoted(key: &str) -> &str {
    let inner = |quote| key.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Option<String> {
        diagnose(text, &(0..1)).map(|found| found.message)
    }

    #[test]
    fn a_format_is_recognized_by_its_first_lines() {
        for (text, message_part) in [
            ("model_list:\n  - model_name: a\n", "LiteLLM"),
            ("a: 1\n# b\nb:\n  - c: 2\n", "YAML"),
            ("listen: \"127.0.0.1:4100\"\n[chain]\n", "`:` after a key"),
            ("{\n  \"server\": {}\n}\n", "the file is JSON"),
            ("{\n  \"providers\": {\"a\": {}}\n}\n", "the file is JSON"),
            ("---\nmodel_list:\n  - model_name: a\n", "LiteLLM"),
            ("# a\n---\n# b\nmodel_list:\n", "LiteLLM"),
            ("\"model_list\":\n  - \"model_name\": a\n", "LiteLLM"),
            ("'general_settings':\n  master_key: a\n", "LiteLLM"),
            ("---\na: 1\n", "YAML"),
            ("- a: 1\n- b: 2\n", "YAML"),
            (
                "// a\n{\"Providers\": [], \"Router\": {},}\n",
                "claude-code-router",
            ),
            ("[{\"a\": 1}]", "the file is JSON"),
            ("{\"Providers\": []}", "claude-code-router"),
            ("{\"providers\": {\"openai\": {\"keys\": []}}}", "Bifrost"),
        ] {
            let found = message(text).unwrap_or_default();
            assert!(found.contains(message_part), "{text}: {found}");
        }
    }

    #[test]
    fn a_slip_in_toml_is_not_another_format() {
        for text in [
            "listen = 127.0.0.1:4100\n",
            "[server\n",
            "url = http://a:80\n",
            "",
        ] {
            assert_eq!(message(text), None, "{text}");
        }
    }

    #[test]
    fn no_offset_panics() {
        for at in 0..12 {
            let _ = diagnose("é: 1\nß: 2", &(at..at));
        }
    }
}
