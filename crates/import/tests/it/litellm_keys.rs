//! Every key of LiteLLM's documented configuration is mapped, approximated or reported.

use majordomo_import::{FieldOutcome, import};

use crate::litellm_names::{BOTH, GENERAL, INFO, LIBRARY, PARAMETERS, ROUTER, TOP};

/// A file in which one key has a value of some type.
fn file(section: &str, key: &str, value: &str) -> String {
    let deployment = |parameters: &str, rest: &str| {
        format!("{{\"model_name\": \"a\", \"litellm_params\": {{ {parameters} }} {rest} }}")
    };
    let entry = format!("\"{key}\": {value}");
    match section {
        "litellm_params" => {
            let model = if key == "model" {
                ""
            } else {
                "\"model\": \"openai/x\", "
            };
            format!(
                "{{ \"model_list\": [ {} ] }}",
                deployment(&format!("{model}{entry}"), "")
            )
        }
        "model_info" => {
            let info = format!(", \"model_info\": {{ {entry} }}");
            format!(
                "{{ \"model_list\": [ {} ] }}",
                deployment("\"model\": \"openai/x\"", &info)
            )
        }
        "" => format!("{{ \"model_list\": [], {entry} }}"),
        section => format!("{{ \"model_list\": [], \"{section}\": {{ {entry} }} }}"),
    }
}

#[test]
fn every_documented_key_is_mapped_approximated_or_reported_with_a_reason() {
    let mut checked = 0;
    let mut wrong = Vec::new();
    for (section, keys) in [
        ("", TOP),
        ("litellm_settings", LIBRARY),
        ("general_settings", GENERAL),
        ("router_settings", ROUTER),
        ("litellm_params", PARAMETERS),
        ("model_info", INFO),
        ("litellm_params", BOTH),
        ("model_info", BOTH),
    ] {
        for key in keys.split_whitespace() {
            checked += 1;
            for value in [
                "true",
                "5",
                "\"text\"",
                "[\"a\"]",
                "{ \"a\": \"b\" }",
                "[ { \"a\": [\"b\"] } ]",
            ] {
                let text = file(section, key, value);
                let imported = import(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
                let fields = imported.report.fields.iter();
                let mut about = fields.filter(|field| {
                    let mut parts = field.path.split(['.', '[']);
                    parts.any(|part| part == key)
                });
                let is_known = about.any(|field| field.note != "unknown to this importer");
                // A collection in the place of a scalar may be anything.
                let is_scalar = !value.starts_with(['[', '{']);
                if !is_known && (is_scalar || section.is_empty()) && !is_section(key, value) {
                    wrong.push(format!("{section}.{key} = {value}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 900, "{checked}");
}

/// Sections and lists have no scalar to account for.
fn is_section(key: &str, value: &str) -> bool {
    const CONTAINERS: [&str; 14] = [
        "environment_variables",
        "model_list",
        "litellm_settings",
        "general_settings",
        "router_settings",
        "credential_list",
        "fallbacks",
        "content_policy_fallbacks",
        "context_window_fallbacks",
        "default_fallbacks",
        "model_group_alias",
        "optional_pre_call_checks",
        "extra_headers",
        "deployment_affinity_ttl_seconds",
    ];
    CONTAINERS.contains(&key) && !value.is_empty()
}

#[test]
fn containers_account_for_their_items() {
    for (text, path) in [
        (
            "litellm_settings: { fallbacks: [ { a: [b] } ] }",
            "litellm_settings.fallbacks[0].a",
        ),
        (
            "router_settings: { model_group_alias: { a: b } }",
            "router_settings.model_group_alias.a",
        ),
        (
            "router_settings: { optional_pre_call_checks: [session_affinity] }",
            "router_settings.optional_pre_call_checks[0]",
        ),
        (
            "router_settings: { default_fallbacks: [x] }",
            "router_settings.default_fallbacks[0]",
        ),
        ("environment_variables: { A: b }", "environment_variables.A"),
    ] {
        let report = import(text).unwrap().report;
        let found = report.fields.iter().find(|field| field.path == path);
        let found = found.unwrap_or_else(|| panic!("{path}: {report}"));
        assert_ne!(found.note, "unknown to this importer", "{path}");
        assert!(!matches!(found.outcome, FieldOutcome::Mapped) || !found.note.is_empty());
    }
}
