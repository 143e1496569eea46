//! Files of Bifrost as people have them.

use majordomo_import::{ImportFormat, import};

/// The value of a key of a provider in the result.
fn of_provider(text: &str, provider: &str, key: &str) -> Option<String> {
    let imported = import(text).expect("a configuration");
    let parsed: toml::Table = imported.toml.parse().expect("TOML");
    let providers = parsed.get("providers")?.as_table()?;
    let value = providers.get(provider)?.get(key)?.as_str()?;
    Some(value.to_owned())
}

#[test]
fn an_address_gets_the_version_that_bifrost_appends() {
    for (provider, url, expected) in [
        (
            "openai",
            "http://localhost:8000",
            "http://localhost:8000/v1",
        ),
        (
            "openai",
            "http://localhost:8000/v1/",
            "http://localhost:8000/v1",
        ),
        (
            "openrouter",
            "https://openrouter.ai/api",
            "https://openrouter.ai/api/v1",
        ),
        ("openai", "env.BASE", "${BASE}/v1"),
        (
            "anthropic",
            "https://proxy.example",
            "https://proxy.example",
        ),
        ("ollama", "http://box:11434", "http://box:11434"),
    ] {
        let text = format!(
            r#"{{"providers": {{"{provider}": {{"network_config": {{"base_url": "{url}"}}}}}}}}"#
        );
        let found = of_provider(&text, provider, "base_url");
        assert_eq!(found.as_deref(), Some(expected), "{url}");
    }
}

#[test]
fn an_own_path_of_the_call_is_part_of_the_address() {
    let text = r#"{"providers": {"copilot": {
      "network_config": { "base_url": "https://api.example" },
      "custom_provider_config": { "base_provider_type": "openai",
        "allowed_requests": { "chat_completion": true },
        "request_path_overrides": { "chat_completion": "/chat/completions", "list_models": "/models" } } } } }"#;
    let found = of_provider(text, "copilot", "base_url");
    assert_eq!(found.as_deref(), Some("https://api.example"));
    let report = import(text).unwrap().report.to_string();
    assert!(!report.contains("unknown to this importer"), "{report}");
}

#[test]
fn a_server_may_have_its_address_in_its_key() {
    let text = r#"{"providers": {"sgl": { "keys": [ { "name": "box", "value": "",
      "sgl_key_config": { "url": "http://box:30000" }, "models": ["qwen"] } ] } } }"#;
    let found = of_provider(text, "sgl", "base_url");
    assert_eq!(found.as_deref(), Some("http://box:30000/v1"));
}

#[test]
fn an_alias_may_be_an_object() {
    let key = |name: &str, aliases: &str| {
        format!(
            r#"{{ "name": "{name}", "value": "env.{name}", "models": ["qwen"], "weight": 0.5 {aliases} }}"#
        )
    };
    let text = format!(
        r#"{{"providers": {{"vllm": {{"keys": [ {}, {} ]}}}}}}"#,
        key("ONE", ""),
        key(
            "TWO",
            r#", "aliases": { "qwen": { "model_id": "vendor/qwen-2", "model_name": "qwen" } }"#
        )
    );
    let toml = import(&text).unwrap().toml;
    assert!(toml.contains("spec = \"vllm/qwen\""), "{toml}");
    assert!(toml.contains("spec = \"vllm-2/vendor/qwen-2\""), "{toml}");
}

#[test]
fn a_file_without_providers_is_recognized() {
    for text in [
        r#"{"$schema": "https://www.getbifrost.ai/schema", "client": { "log_retention_days": 14 } }"#,
        r#"{"config_store": { "enabled": true, "type": "sqlite" } }"#,
        r#"{"logs_store": { "enabled": true } }"#,
    ] {
        let imported = import(text).expect(text);
        assert_eq!(imported.format, ImportFormat::Bifrost);
    }
    let report = import(r#"{"providers": {}}"#).unwrap().report.to_string();
    assert!(report.contains("the file has no provider"), "{report}");
}

#[test]
fn a_virtual_key_without_providers_is_not_opened_to_all_of_them() {
    let text = r#"{"providers": {}, "governance": { "virtual_keys": [
      { "name": "none", "value": "env.NONE", "allow_all_providers": false },
      { "name": "all", "value": "env.ALL", "allow_all_providers": true } ] } }"#;
    let imported = import(text).unwrap();
    assert!(!imported.toml.contains("${NONE}"), "{}", imported.toml);
    assert!(imported.toml.contains("${ALL}"), "{}", imported.toml);
    let report = imported.report.to_string();
    assert!(report.contains("it may use no provider"), "{report}");
}

#[test]
fn a_rule_that_compares_the_model_becomes_a_route() {
    let rule = |condition: &str, rest: &str| {
        format!(
            r#"{{ "name": "r", "enabled": true, "scope": "global", "cel_expression": "{condition}", "targets": [
              {{ "provider": "groq", "model": "oss", "weight": 0.4 }},
              {{ "provider": "gemini", "model": "flash", "weight": 0.6 }},
              {{ "provider": "gone", "model": "x", "weight": 1 }} ] {rest} }}"#
        )
    };
    let text = format!(
        r#"{{"providers": {{
          "groq": {{ "keys": [ {{ "value": "env.GROQ_API_KEY", "models": ["oss"] }} ] }},
          "gemini": {{ "keys": [ {{ "value": "env.ONE", "models": ["*"] }}, {{ "value": "env.TWO", "models": ["other"] }} ] }} }},
        "governance": {{ "routing_rules": [ {}, {}, {}, {} ] }} }}"#,
        rule("model == 'fast'", r#", "fallbacks": ["gemini/other"]"#),
        rule("model == 'fast'", ""),
        rule("model.startsWith('gpt')", ""),
        rule("model == 'off'", "").replace("\"enabled\": true", "\"enabled\": false"),
    );
    let imported = import(&text).unwrap();
    let parsed: toml::Table = imported.toml.parse().unwrap();
    let routes = parsed["routes"].as_array().unwrap();
    let of_rules: Vec<&toml::Value> = routes
        .iter()
        .filter(|route| !route["model"].as_str().unwrap().contains('/'))
        .collect();
    assert_eq!(of_rules.len(), 1, "{}", imported.toml);
    let services = of_rules[0]["services"].as_array().unwrap().iter();
    let shown: Vec<(&str, Option<i64>, Option<i64>)> = services
        .map(|it| {
            let number = |key: &str| it.get(key).and_then(toml::Value::as_integer);
            (
                it["spec"].as_str().unwrap(),
                number("weight"),
                number("tier"),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("groq/oss", Some(40), Some(0)),
            ("google/flash", Some(60), Some(0)),
            ("google/other", None, Some(1)),
            ("google-2/other", None, Some(1)),
        ]
    );
    let report = imported.report.to_string();
    for reason in [
        "targets[].provider: no key of the file serves it",
        "an earlier rule or model has this name",
        "only rules of the form",
        "it is not enabled",
    ] {
        assert!(report.contains(reason), "{reason}: {report}");
    }
}
