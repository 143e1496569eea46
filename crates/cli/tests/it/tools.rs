//! `init`, `doctor`, `import`, `schema` and `completions`.

use std::path::Path;

use majordomo_testkit::{Script, Upstream};
use serde_json::Value;

use crate::support::{fails, file, majordomo};

const LITELLM: &str = "\
model_list:
  - model_name: coder
    litellm_params: { model: openai/gpt-6, api_key: sk-canary-0123456789abcdef, rpm: 5 }
  - model_name: coder
    litellm_params: { model: azure/eu, api_base: https://eu.openai.azure.com, api_key: os.environ/AZURE_KEY }
  - model_name: spare
    litellm_params: { model: anthropic/claude-opus-5-5 }
  - model_name: cloud
    litellm_params: { model: bedrock/x }
  - model_name: '*'
    litellm_params: { model: 'openrouter/*' }
router_settings: { fallbacks: [ { coder: [spare] } ], num_retries: 2, model_group_alias: { gpt-4: coder } }
litellm_settings: { cache: true, max_budget: 100, budget_duration: 30d }
general_settings: { master_key: sk-canary-master, max_request_size_mb: 64 }
";

const ROUTER: &str = r#"{
  "APIKEY": "canary-canary-canary", "HOST": "0.0.0.0", "PORT": 25300, "PROXY_URL": "http://127.0.0.1:7890",
  "Providers": [
    { "name": "deepseek", "api_base_url": "https://api.deepseek.com/chat/completions", "api_key": "sk-canary-0123456789",
      "models": ["deepseek-chat"], "transformer": { "use": ["deepseek", ["maxtoken", { "max_tokens": 8192 }]] } },
    { "name": "gemini", "api_base_url": "https://generativelanguage.googleapis.com/v1beta/models/",
      "api_key": "$GEMINI_API_KEY", "models": ["gemini-3.8-flash"] }, ],
  "Router": { "default": "deepseek,deepseek-chat", "think": "gemini,gemini-3.8-flash", "background": "gemini,gemini-3.8-flash",
    "longContext": "gemini,gemini-3.8-flash", "longContextThreshold": 60000, "webSearch": "gemini,gemini-3.8-flash", "image": "gemini,gemini-3.8-flash" } }"#;

const BIFROST: &str = r#"{
  "client": { "max_request_body_size_mb": 100, "allowed_origins": ["https://chat.example"], "log_retention_days": 30 },
  "providers": { "openai": { "keys": [
      { "name": "one", "value": "env.OPENAI_ONE", "models": ["gpt-6"], "weight": 0.7 },
      { "name": "two", "value": "sk-canary-0123456789", "models": ["gpt-6"], "weight": 0.3 } ],
      "network_config": { "max_retries": 3, "extra_headers": { "x-team": "canary" } } },
    "ollama": { "network_config": { "base_url": "http://127.0.0.1:11434" } } },
  "governance": { "budgets": [ { "id": "b", "max_limit": 50, "reset_duration": "1M" } ],
    "teams": [ { "id": "t", "name": "search", "budget_id": "b" } ],
    "virtual_keys": [ { "id": "v", "name": "app", "value": "canary-canary-canary", "team_id": "t",
      "provider_configs": [ { "provider": "openai", "allowed_models": ["*"] } ] } ] } }"#;

#[tokio::test]
async fn an_import_of_every_format_passes_check_and_shows_no_secret() {
    for (name, text) in [
        ("litellm.yaml", LITELLM),
        ("ccr.json", ROUTER),
        ("bifrost.json", BIFROST),
    ] {
        let source = file(&format!("import-{name}"), text);
        let imported = majordomo(&["import", &source]).output().await;
        assert_eq!(imported.code, Some(0), "{}", imported.stderr);
        assert!(!imported.stdout.contains("canary"), "{}", imported.stdout);
        assert!(!imported.stderr.contains("canary"), "{}", imported.stderr);
        assert!(
            imported.stderr.contains("fields mapped"),
            "{}",
            imported.stderr
        );
        let result = file(&format!("imported-{name}.toml"), &imported.stdout);
        let checked = majordomo(&["check", "--no-env", "--config", &result])
            .output()
            .await;
        assert_eq!(
            checked.code,
            Some(0),
            "{}\n{}",
            checked.stderr,
            imported.stdout
        );
    }
}

#[test]
fn the_importer_knows_the_built_in_providers() {
    use majordomo::providers::{Compatible, ProviderKind};
    for (name, kind, url, variable) in majordomo_import::BUILT_IN {
        let protocol: ProviderKind = kind.parse().expect(kind);
        let service = Compatible::ALL.iter().find(|service| service.name == *name);
        let (own_url, variables) = match service {
            Some(service) => (Some(service.base_url), service.key_variables),
            None => (None, protocol.key_variables()),
        };
        assert_eq!((*url, service.is_none()), (own_url, name == kind), "{name}");
        assert!(
            variable.is_none_or(|variable| variables.contains(&variable)),
            "{name}"
        );
    }
}

#[tokio::test]
async fn an_import_writes_no_file_over_another_one() {
    let source = file("import-twice.yaml", LITELLM);
    let target = file("import-twice.toml", "mine");
    let refused = majordomo(&["import", &source, "-o", &target])
        .output()
        .await;
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("exists; replace it with --force"),
        "{}",
        refused.stderr
    );
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine");
    let forced = majordomo(&["import", &source, "-o", &target, "--force"])
        .output()
        .await;
    assert_eq!((forced.code, &*forced.stdout), (Some(0), ""));
}

#[tokio::test]
async fn what_cannot_be_imported_is_one_sentence() {
    let source = file("import-none.yaml", "a: canary\n");
    let done = majordomo(&["import", &source]).output().await;
    assert_eq!(done.code, Some(1));
    let sentence = "it is not a configuration of LiteLLM (`model_list`), claude-code-router (`Providers`) or Bifrost (`providers`)\n";
    assert!(done.stderr.ends_with(sentence), "{}", done.stderr);
}

#[tokio::test]
async fn the_schema_is_the_committed_one() {
    let done = majordomo(&["schema"]).output().await;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/majordomo.schema.json");
    let committed = std::fs::read_to_string(path).expect("the schema");
    assert!(
        done.stdout == committed,
        "run `majordomo schema > docs/majordomo.schema.json`"
    );
    let schema: Value = serde_json::from_str(&committed).expect("JSON");
    assert!(jsonschema::validator_for(&schema).is_ok());
}

#[tokio::test]
async fn bash_completes_commands_and_options() {
    if !majordomo_testkit::installed("bash") {
        return;
    }
    let done = majordomo(&["completions", "bash"]).output().await;
    let script = file("completions.bash", &done.stdout);
    let complete = |words: &str, at: usize, current: &str, before: &str| {
        let line = format!(
            "source {script}; COMP_WORDS=({words}); COMP_CWORD={at}; _majordomo majordomo '{current}' '{before}'; echo \"${{COMPREPLY[*]}}\""
        );
        let output = std::process::Command::new("bash")
            .args(["-c", &line])
            .output()
            .expect("bash");
        String::from_utf8(output.stdout)
            .expect("text")
            .trim()
            .to_owned()
    };
    assert_eq!(complete("majordomo ch", 1, "ch", "majordomo"), "chat check");
    assert_eq!(
        complete("majordomo doctor --off", 2, "--off", "doctor"),
        "--offline"
    );
    assert_eq!(
        complete("majordomo completions z", 2, "z", "completions"),
        "zsh"
    );
}

#[tokio::test]
async fn every_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let done = majordomo(&["completions", shell]).output().await;
        assert_eq!((done.code, &*done.stderr), (Some(0), ""), "{shell}");
        assert!(done.stdout.contains("doctor"), "{shell}");
    }
}

#[tokio::test]
async fn init_writes_references_and_never_keys() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("majordomo.toml");
    let target = target.to_str().unwrap();
    let init = || {
        majordomo(&["init", "--output", target])
            .env("GROQ_API_KEY", "sk-canary-0123456789")
            .env("LLM_BOX", "openai+http://canary@127.0.0.1:9/v1")
            .env("OLLAMA_HOST", "http://127.0.0.1:9")
    };
    let done = init().output().await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let text = std::fs::read_to_string(target).unwrap();
    assert!(
        !text.contains("canary") && !done.stderr.contains("canary"),
        "{text}{}",
        done.stderr
    );
    assert!(
        text.contains("[providers.groq]\napi_key = \"${GROQ_API_KEY}\"\n"),
        "{text}"
    );
    assert!(
        text.contains("[providers.box]\ndsn = \"${LLM_BOX}\"\n"),
        "{text}"
    );
    assert!(
        text.contains("default = \"groq/llama-4-scout\"\n"),
        "{text}"
    );
    let checked = majordomo(&["check", "--no-env", "--config", target])
        .output()
        .await;
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    let again = init().output().await;
    assert_eq!(again.code, Some(1));
    assert!(
        again.stderr.contains("exists; replace it with --force"),
        "{}",
        again.stderr
    );
    assert_eq!(std::fs::read_to_string(target).unwrap(), text);
}

/// Runs `doctor --json` on a configuration with free ports.
async fn doctor(config: &str, arguments: &[&str]) -> (Option<i32>, Vec<(String, String, String)>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("majordomo.toml");
    let ports = "[server]\nlisten = \"127.0.0.1:0\"\noperator_listen = \"127.0.0.1:0\"\n";
    std::fs::write(&path, format!("{config}\n{ports}")).expect("a value");
    let path = path.to_str().expect("a value");
    let mut all = vec!["doctor", "--json", "--config", path];
    all.extend(arguments);
    let state = folder.path().join("state");
    let done = majordomo(&all)
        .env("XDG_STATE_HOME", state.to_str().expect("a value"))
        .output()
        .await;
    assert!(!done.stdout.contains("canary"), "{}", done.stdout);
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().expect("a value").iter();
    let findings = findings.map(|it| {
        let state = text(&it["state"]);
        let needs_remedy = state == "warning" || state == "broken";
        assert_eq!(it["remedy"].is_string(), needs_remedy, "{it}");
        (state, text(&it["subject"]), text(&it["text"]))
    });
    (done.code, findings.collect())
}

fn state_of<'f>(findings: &'f [(String, String, String)], subject: &str) -> &'f str {
    let found = findings.iter().find(|finding| finding.1 == subject);
    &found.unwrap_or_else(|| panic!("{subject}: {findings:?}")).0
}

#[tokio::test]
async fn doctor_finds_nothing_wrong_with_a_provider_that_responds() {
    let models =
        Script::new()
            .read_request()
            .respond(200, "application/json", r#"{"data":[{"id":"m"}]}"#);
    let date = Script::new()
        .read_request()
        .respond(404, "application/json", "{}");
    let upstream = Upstream::start([models, date]).await;
    let config = format!(
        "[providers.x]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\napi_key = \"canary\"\n",
        upstream.address()
    );
    let (code, findings) = doctor(&config, &[]).await;
    assert_eq!(state_of(&findings, "x"), "ok", "{findings:?}");
    assert_eq!(state_of(&findings, "configuration"), "ok");
    assert_eq!(state_of(&findings, "ledger"), "ok");
    assert_eq!(code, Some(0), "{findings:?}");
}

#[tokio::test]
async fn doctor_says_that_a_key_is_rejected() {
    let upstream = Upstream::start([fails(401, "bad key"), fails(401, "bad key")]).await;
    let config = format!(
        "[providers.x]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\napi_key = \"canary\"\n",
        upstream.address()
    );
    let (code, findings) = doctor(&config, &[]).await;
    assert_eq!(code, Some(1));
    let found = findings.iter().find(|finding| finding.1 == "x").unwrap();
    assert_eq!(found.0, "broken");
    assert!(found.2.starts_with("rejects the key: "), "{}", found.2);
}

#[tokio::test]
async fn doctor_suspects_the_address_of_a_server_that_does_not_know_its_calls() {
    let upstream = Upstream::start([fails(404, "no such page"), fails(404, "no such page")]).await;
    let config = format!(
        "version = 1\n[providers.x]\nkind = \"openai\"\nbase_url = \"http://{}\"\n",
        upstream.address()
    );
    let config = file("doctor-address.toml", &config);
    let done = majordomo(&["doctor", "--config", &config]).output().await;
    assert!(
        done.stdout
            .contains("ends with /v1; try it: majordomo chat x/MODEL"),
        "{}",
        done.stdout
    );
}

#[tokio::test]
async fn doctor_compares_the_clock_with_a_provider() {
    let models =
        Script::new()
            .read_request()
            .respond(200, "application/json", r#"{"data":[{"id":"m"}]}"#);
    let date = Script::new().read_request().send(
        "HTTP/1.1 404 Not Found\r\ndate: Tue, 01 Jan 2019 00:00:00 GMT\r\n\
         content-length: 0\r\n\r\n",
    );
    let upstream = Upstream::start([models, date]).await;
    let config = format!(
        "[providers.x]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\napi_key = \"canary\"\n",
        upstream.address()
    );
    let (code, findings) = doctor(&config, &[]).await;
    assert_eq!(state_of(&findings, "clock"), "warning", "{findings:?}");
    assert_eq!(code, Some(0), "{findings:?}");
    let provider = findings.iter().find(|finding| finding.1 == "x").unwrap();
    assert_eq!(provider.2, "responds, accepts the key and lists 1 model");
}

#[tokio::test]
async fn doctor_names_a_variable_once_that_several_kinds_share() {
    let done = majordomo(&["doctor", "--json", "--offline"])
        .env("OPENAI_API_KEY", "canary")
        .output()
        .await;
    assert_eq!(
        done.stdout.matches("OPENAI_API_KEY is set").count(),
        1,
        "{}",
        done.stdout
    );
}

#[tokio::test]
async fn doctor_offline_calls_nobody_and_reports_a_missing_variable() {
    let (code, findings) = doctor(
        "[providers.groq]\napi_key = \"${NOT_SET}\"\n",
        &["--offline"],
    )
    .await;
    assert_eq!(code, Some(1));
    assert_eq!(state_of(&findings, "configuration"), "broken");
    assert_eq!(state_of(&findings, "providers"), "skipped");
}

#[cfg(unix)]
#[tokio::test]
async fn doctor_recognizes_a_used_port() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let config = file(
        "doctor-port.toml",
        format!("[server]\nlisten = {port}\noperator_listen = \":0\"\n"),
    );
    let done = majordomo(&["doctor", "--offline", "--config", &config])
        .output()
        .await;
    assert_eq!(done.code, Some(1));
    let line = format!("127.0.0.1:{port} is in use by another program\n");
    assert!(done.stdout.contains(&line), "{}", done.stdout);
    assert!(
        done.stdout
            .contains("→ end that program, or set another `listen` in [server]"),
        "{}",
        done.stdout
    );
}
