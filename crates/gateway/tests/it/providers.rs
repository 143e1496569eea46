//! Providers from the configuration file and the environment.

use std::collections::BTreeMap;

use majordomo::spec::TargetName;
use majordomo::transport::{Proxies, Transport, TransportConfig as Client};
use majordomo::{Registry, Request};
use majordomo_gateway::config::{Config, DetectedDsn, DetectedKey, autodetect};
use majordomo_testkit::{ClosedPort, Script, Upstream};

fn environment(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    variables.iter().map(owned).collect()
}

fn registry(text: &str, environment: &BTreeMap<String, String>) -> Registry {
    let config = Config::parse("m.toml", text, environment).unwrap_or_else(|p| panic!("{p}"));
    let transport = Transport::new(Client::default().proxies(Proxies::Direct));
    let registry = config.registry(environment, &transport, |builder| builder);
    registry.unwrap_or_else(|problems| panic!("{problems}"))
}

fn answers() -> Script {
    let body = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    Script::new()
        .read_request()
        .respond(200, "application/json", body)
}

#[tokio::test]
async fn a_configured_provider_is_called_at_its_address_with_its_key() {
    for (form, address) in [("keys", "/base"), ("dsn", "/v1")] {
        let upstream = Upstream::start([answers()]).await;
        let address = format!("{}{address}", upstream.address());
        let text = match form {
            "dsn" => format!("[providers.box]\ndsn = \"openai+http://${{KEY}}@{address}\""),
            _ => format!(
                "[providers.box]\nkind = \"openai\"\nbase_url = \"http://{address}\"\napi_key = \"${{KEY}}\""
            ),
        };
        let registry = registry(&text, &environment(&[("KEY", "canary")]));
        let chain = registry.model("box/m").unwrap();
        let reply = chain.generate(Request::user("hello")).await.unwrap();
        assert_eq!(
            (reply.text().as_str(), reply.model.as_str()),
            ("hi", "box/m")
        );
        let head = upstream.requests()[0].head.to_lowercase();
        assert!(head.contains("authorization: bearer canary"), "{head}");
    }
}

#[tokio::test]
async fn a_key_from_the_environment_is_not_sent_to_another_address() {
    let upstream = Upstream::start([answers()]).await;
    let text = format!(
        "[providers.openai]\nbase_url = \"http://{}\"",
        upstream.address()
    );
    let registry = registry(&text, &environment(&[("OPENAI_API_KEY", "canary")]));
    let _ = registry
        .model("openai/m")
        .unwrap()
        .generate(Request::user("hello"))
        .await;
    for request in upstream.requests() {
        assert!(!request.head.contains("canary"), "{}", request.head);
    }
}

#[test]
fn a_built_in_provider_keeps_defaults_the_file_does_not_override() {
    let text = "\
[providers.groq.models.small]
images = { max = 2, max_px = 500 }
context_window = 8192
tools = false
[providers.groq.models.blind]
images = false
";
    let environment = environment(&[("GROQ_API_KEY", "canary")]);
    let (ours, plain) = (registry(text, &environment), registry("", &environment));
    let takes = |registry: &Registry, model: &str| {
        let provider = registry.provider("groq").expect("a built-in");
        (*provider.model(model).expect("a model").capabilities()).clone()
    };
    let (small, before) = (takes(&ours, "small"), takes(&plain, "small"));
    let limits = small.images.unwrap();
    assert_eq!((limits.max_count, limits.max_px), (Some(2), Some(500)));
    assert_eq!(limits.max_bytes, before.images.unwrap().max_bytes);
    assert_eq!((small.context_window, small.tools), (Some(8_192), false));
    assert!(!takes(&ours, "blind").takes_images());
    assert_eq!(takes(&ours, "other"), takes(&plain, "other"));
    assert!(
        ours.provider("groq").unwrap().ready().is_ok(),
        "the key is still found"
    );
}

#[test]
fn aliases_and_the_demo_exist() {
    let text = "[aliases]\nfast = \"demo/text,slow\"\nslow = \"sandbox/vision\"\n[providers.sandbox]\nkind = \"demo\"";
    let registry = registry(text, &environment(&[]));
    let chain = registry.model("fast").unwrap();
    let names: Vec<String> = chain.targets().map(TargetName::to_string).collect();
    assert_eq!(names, ["demo/text", "sandbox/vision"]);
}

#[test]
fn alongside_other_providers_the_demo_exists_only_if_named() {
    let other = "[providers.box]\nkind = \"ollama\"\n";
    let route =
        |services: &str| format!("{other}[[routes]]\nmodel = \"r\"\nservices = [ {services} ]\n");
    for (file, there) in [
        (String::new(), true),
        (
            "[[keys]]\nname = \"k\"\nkey = \"0123456789abcdef0123456789abcdef\"\n".into(),
            true,
        ),
        (
            "[[routes]]\nmodel = \"*\"\nservices = [ { spec = \"{model}\" } ]\n".into(),
            true,
        ),
        (other.into(), false),
        ("[aliases]\nfast = \"groq/scout\"\n".into(), false),
        (
            format!(
                "{other}[[keys]]\nname = \"k\"\nkey = \"0123456789abcdef0123456789abcdef\"\nmodels = [\"demo/*\"]\n"
            ),
            false,
        ),
        (
            format!("{other}[providers.sandbox]\nkind = \"demo\"\n"),
            false,
        ),
        (format!("{other}[providers.demo]\n"), true),
        (format!("{other}[providers.demo]\nkind = \"demo\"\n"), true),
        (
            format!("{other}[aliases]\nfast = \"box/m, demo/text\"\n"),
            true,
        ),
        (route(r#"{ spec = "box/m" }"#), false),
        (route(r#"{ spec = "demo/text" }"#), true),
        (
            route(r#"{ spec = "box/m", describe = "demo/vision" }"#),
            true,
        ),
    ] {
        let environment = environment(&[]);
        let registry = registry(&file, &environment);
        assert_eq!(registry.model("demo/text").is_ok(), there, "{file}");
        let config = Config::parse("m.toml", file.as_str(), &environment).unwrap();
        let order = config.lookup_order(&majordomo_gateway::config::Detected::default());
        assert_eq!(order.iter().any(|name| name == "demo"), there, "{file}");
    }
}

#[test]
fn debug_output_of_a_configuration_hides_its_secrets() {
    let text = "\
[[keys]]
name = \"laptop\"
key = \"${SECRET}\"
[providers.groq]
api_key = \"CANARY\"
[providers.m1]
dsn = \"foreman://CANARY@m1.example.com\"
";
    let environment = environment(&[("SECRET", "CANARY")]);
    let config = Config::parse("m.toml", text, &environment).unwrap();
    assert!(!format!("{config:?}").contains("CANARY"));
}

#[tokio::test]
async fn without_a_file_providers_are_autodetected() {
    let tags = r#"{"models":[{"name":"qwen3:8b","model":"qwen3:8b"}]}"#;
    let script = Script::new()
        .read_request()
        .respond(200, "application/json", tags);
    let ollama = Upstream::start([script]).await;
    let environment = environment(&[
        ("ANTHROPIC_API_KEY", "CANARY"),
        ("OPENAI_API_KEY", " "),
        ("LLM_BOX", "ollama+http://CANARY@127.0.0.1:1"),
        ("LLM_BAD", "CANARY"),
        ("OLLAMA_HOST", &ollama.address().to_string()),
    ]);
    let found = autodetect(&registry("", &environment), &environment).await;
    let key = DetectedKey {
        provider: "anthropic".into(),
        variable: "ANTHROPIC_API_KEY".into(),
    };
    assert_eq!(found.keys, [key]);
    assert_eq!(found.ollama, Some(vec!["qwen3:8b".to_owned()]));
    let usable: Vec<(&str, bool)> = found
        .dsns
        .iter()
        .map(
            |DetectedDsn {
                 provider, problem, ..
             }| (provider.as_str(), problem.is_none()),
        )
        .collect();
    assert_eq!(usable, [("bad", false), ("box", true)]);
    assert_eq!(found.providers(), ["anthropic", "box", "ollama"]);
    assert!(!found.to_string().contains("CANARY"), "{found}");

    let text = "[providers.sandbox]\nkind = \"demo\"\n[providers.box]\nkind = \"ollama\"";
    let config = Config::parse("m.toml", text, &environment).unwrap();
    assert_eq!(
        config.lookup_order(&found),
        ["sandbox", "box", "anthropic", "ollama"]
    );
}

#[tokio::test]
async fn an_unreachable_ollama_is_not_detected() {
    let gone = ClosedPort::hold();
    let environment = environment(&[("OLLAMA_HOST", &gone.address().to_string())]);
    let found = autodetect(&registry("", &environment), &environment).await;
    assert_eq!(found.ollama, None);
    assert!(found.providers().is_empty());
}
