//! One sample of each format, with its result.

use majordomo_import::{FieldOutcome, ImportError, ImportFormat, import};

pub(crate) const LITELLM: &str = r#"
model_list:
  - model_name: coder
    litellm_params:
      model: azure/gpt-6-eu
      api_base: https://eu.openai.azure.com
      api_key: os.environ/AZURE_KEY
      api_version: "2025-03-01-preview"
      rpm: 600
  - model_name: coder
    litellm_params: { model: openai/gpt-6, api_key: sk-canary-0123456789abcdef, rpm: 1800 }
    model_info: { input_cost_per_token: 0.0000015, supports_vision: true, mode: chat, id: x }
  - model_name: spare
    litellm_params: { model: anthropic/claude-opus-5-5 }
  - model_name: cloud
    litellm_params: { model: bedrock/anthropic.claude, aws_region_name: us-east-1 }
  - model_name: "openai/*"
    litellm_params: { model: "openai/*" }
router_settings:
  routing_strategy: least-busy
  num_retries: 2
  fallbacks: [ { coder: [spare, cloud] } ]
  model_group_alias: { gpt-4: coder }
litellm_settings:
  drop_params: true
  cache: true
  request_timeout: 600
general_settings:
  master_key: sk-canary-master-key
  database_url: postgresql://user:canary-password@host/db
environment_variables:
  SECRET_OF_OTHERS: canary-variable
"#;

pub(crate) const ROUTER: &str = r#"
{ // as people write it
  "APIKEY": "canary-router-key", "HOST": "0.0.0.0", "LOG": true, "API_TIMEOUT_MS": 600000,
  "Providers": [
    { "name": "deepseek", "api_base_url": "https://api.deepseek.com/chat/completions",
      "api_key": "sk-canary-0123456789abcdef", "models": ["deepseek-chat", "deepseek-reasoner"],
      "transformer": { "use": ["deepseek"], "deepseek-chat": { "use": ["tooluse", ["maxtoken", { "max_tokens": 8192 }]] } } },
    { "name": "gemini", "api_base_url": "https://generativelanguage.googleapis.com/v1beta/models/",
      "api_key": "$GEMINI_API_KEY", "models": ["gemini-3.8-flash"], "transformer": { "use": ["gemini"] } },
  ],
  "Router": { "default": "deepseek,deepseek-chat", "think": "deepseek,deepseek-reasoner",
    "longContext": "gemini,gemini-3.8-flash", "longContextThreshold": 60000, "background": "gone,x" },
}
"#;

pub(crate) const BIFROST: &str = r#"
{
  "$schema": "https://www.getbifrost.ai/schema",
  "client": { "max_request_body_size_mb": 100, "log_retention_days": 30, "allowed_origins": ["*", "https://chat.example"] },
  "providers": {
    "openai": {
      "keys": [
        { "name": "one", "value": "env.OPENAI_ONE", "models": ["gpt-6"], "weight": 0.7 },
        { "name": "two", "value": "sk-canary-0123456789abcdef", "models": ["gpt-6", "*"], "weight": 0.3 }
      ],
      "network_config": { "default_request_timeout_in_seconds": 60, "max_retries": 3 }
    },
    "bedrock": { "keys": [ { "bedrock_key_config": { "secret_key": "canary-aws" } } ] }
  },
  "governance": {
    "budgets": [ { "id": "b", "max_limit": 50, "reset_duration": "1M" } ],
    "rate_limits": [ { "id": "r", "request_max_limit": 6000, "request_reset_duration": "1h" } ],
    "teams": [ { "id": "t1", "name": "search", "budget_id": "b" } ],
    "virtual_keys": [
      { "id": "v", "name": "app", "value": "canary-virtual-key", "team_id": "t1", "rate_limit_id": "r", "is_active": true,
        "provider_configs": [ { "provider": "openai", "allowed_models": ["gpt-6"], "weight": 1 } ] },
      { "id": "w", "name": "old", "value": "canary-old", "is_active": false }
    ]
  }
}
"#;

fn snapshot(name: &str, text: &str, format: ImportFormat) {
    let imported = import(text).expect("a configuration");
    assert_eq!(imported.format, format);
    let shown = format!("{}\n--- report\n{}", imported.toml, imported.report);
    assert!(!shown.contains("canary"), "{shown}");
    let parsed: Result<toml::Table, _> = imported.toml.parse();
    assert!(parsed.is_ok(), "{parsed:?}\n{}", imported.toml);
    let path = format!("{}/tests/samples/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("MAJORDOMO_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &shown).expect("a writable folder");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(shown, expected, "{name}");
}

#[test]
fn a_litellm_file_becomes_routes_with_tiers() {
    snapshot("litellm", LITELLM, ImportFormat::LiteLlm);
}

#[test]
fn a_router_of_claude_code_becomes_a_route_with_rules() {
    snapshot("claude_code_router", ROUTER, ImportFormat::ClaudeCodeRouter);
}

#[test]
fn keys_of_bifrost_become_providers_and_virtual_keys_become_keys() {
    snapshot("bifrost", BIFROST, ImportFormat::Bifrost);
}

#[test]
fn aliases_of_bifrost_become_routes() {
    let text = r#"{"providers": {"nim": {
      "network_config": { "base_url": "https://nim.example" },
      "keys": [
        { "name": "one", "value": "env.NIM_ONE", "weight": 1, "models": ["big", "openai/small"],
          "aliases": { "big": "vendor/big-2", "unlisted": "vendor/other" } },
        { "name": "two", "value": "env.NIM_TWO", "weight": 1, "models": ["big"],
          "aliases": { "big": "vendor/big-2" } } ] },
      "near": { "network_config": { "base_url": "http://near.example" },
        "keys": [ { "value": "env.NEAR", "models": ["*"], "aliases": { "chat": "qwen" } } ] } } }"#;
    let imported = import(text).unwrap();
    let parsed: toml::Table = imported.toml.parse().unwrap();
    let routes = parsed["routes"].as_array().unwrap().iter().map(|route| {
        let services = route["services"].as_array().unwrap().iter();
        let specs = services.map(|it| it["spec"].as_str().unwrap().to_owned());
        let specs: Vec<String> = specs.collect();
        format!("{} = {}", route["model"].as_str().unwrap(), specs.join(" "))
    });
    assert_eq!(
        routes.collect::<Vec<_>>(),
        [
            "nim/big = nim/vendor/big-2 nim-2/vendor/big-2",
            "near/chat = near/qwen",
        ]
    );
    let report = imported.report.to_string();
    assert!(
        report.contains("aliases.unlisted: the key does not list this model"),
        "{report}"
    );
}

#[test]
fn a_budget_of_bifrost_may_name_its_key_and_tokens_are_not_spread_over_hours() {
    let text = r#"{"providers": {}, "governance": {
      "virtual_keys": [ { "id": "v", "name": "app", "value": "env.APP", "rate_limit_id": "r" } ],
      "budgets": [
        { "id": "b", "virtual_key_id": "v", "max_limit": 10, "reset_duration": "1M" },
        { "id": "c", "virtual_key_id": "another", "max_limit": 99, "reset_duration": "1M" } ],
      "rate_limits": [ { "id": "r", "token_max_limit": 10000, "token_reset_duration": "1h",
        "request_max_limit": 600, "request_reset_duration": "1h" } ] } }"#;
    let imported = import(text).unwrap();
    let parsed: toml::Table = imported.toml.parse().unwrap();
    let key = &parsed["keys"].as_array().unwrap()[0];
    assert_eq!(
        key["budget"]["month"].as_str(),
        Some("10 USD"),
        "{}",
        imported.toml
    );
    let limits = key["limits"].as_table().unwrap();
    assert_eq!(limits["requests_per_minute"].as_integer(), Some(10));
    assert!(!limits.contains_key("tokens_per_minute"), "{limits:?}");
    let report = imported.report.to_string();
    let reason = "token_max_limit: tokens are limited per minute";
    assert!(report.contains(reason), "{report}");
}

#[test]
fn a_model_in_a_variable_leaves_its_address_to_the_reader() {
    let text = "model_list:\n- model_name: a\n  litellm_params:\n    \
                model: os.environ/MODEL\n    api_base: os.environ/BASE\n";
    let imported = import(text).unwrap();
    assert!(imported.toml.contains("${MODEL}"), "{}", imported.toml);
    let report = imported.report.to_string();
    assert!(report.contains("api_base: add a provider"), "{report}");
}

#[test]
fn a_repeated_key_is_reported() {
    for text in [
        "general_settings:\n  master_key: a\n  master_key: os.environ/B\n",
        r#"{"Providers": [], "LOG": true, "LOG": false}"#,
    ] {
        let report = import(text).unwrap().report;
        let earlier = report
            .fields
            .iter()
            .filter(|field| field.path.contains("(earlier)"));
        let outcomes: Vec<FieldOutcome> = earlier.map(|field| field.outcome).collect();
        assert_eq!(outcomes, [FieldOutcome::NotImported], "{text}");
    }
}

#[test]
fn merge_keys_and_aliases_are_resolved() {
    let text = "base: &base { api_key: os.environ/A_KEY }\nmodel_list:\n  - model_name: a\n    litellm_params:\n      <<: *base\n      model: groq/x\n";
    let toml = import(text).unwrap().toml;
    assert!(toml.contains("api_key = \"${A_KEY}\""), "{toml}");
}

#[test]
fn an_address_of_azure_gets_the_path_of_its_api_whatever_the_hosts_name() {
    for (base, url) in [
        (
            "https://openai-eu.openai.azure.com/",
            "https://openai-eu.openai.azure.com/openai/v1",
        ),
        (
            "https://eu.openai.azure.com/openai/v1/",
            "https://eu.openai.azure.com/openai/v1",
        ),
    ] {
        let text = format!(
            "model_list: [ {{ model_name: a, litellm_params: {{ model: azure/x, api_base: '{base}' }} }} ]"
        );
        let toml = import(&text).unwrap().toml;
        assert!(toml.contains(&format!("base_url = \"{url}\"\n")), "{toml}");
    }
}

#[test]
fn a_bomb_of_aliases_is_rejected() {
    let mut text = String::from("model_list: []\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for at in 1..20 {
        let before = at - 1;
        let list = vec![format!("*a{before}"); 10].join(", ");
        text.push_str(&format!("a{at}: &a{at} [{list}]\n"));
    }
    assert_eq!(import(&text).unwrap_err(), ImportError::TooLarge);
    let deep = format!("model_list: {}{}", "[".repeat(5_000), "]".repeat(5_000));
    assert!(import(&deep).is_err());
    let deep = format!(
        "{{\"providers\": {}{}}}",
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    assert!(import(&deep).is_err());
}

#[test]
fn what_is_no_configuration_is_refused_without_quoting_it() {
    for text in [
        "",
        "canary",
        "a: 1",
        "[1, 2]",
        "{",
        "{\"canary\": tru}",
        "a: [b",
        "\u{0}canary",
    ] {
        let error = import(text).unwrap_err();
        assert!(!error.to_string().contains("canary"), "{text}: {error}");
    }
}

#[test]
fn a_provider_of_claude_code_router_without_an_address_is_reported_as_a_whole() {
    let text = r#"{ "PROXY_URL": "", "stream": true, "Providers": [ { "name": "empty", "api_base_url": "",
      "api_key": "", "models": ["a", "b"], "transformer": { "use": ["openrouter"] } },
      { "name": "box", "type": "openai", "stream": false, "api_base_url": "http://box/v1/chat/completions", "models": [] } ] }"#;
    let report = import(text).unwrap().report.to_string();
    assert!(!report.contains("unknown to this importer"), "{report}");
    assert!(report.contains("Providers[]: not served"), "{report}");
}
