//! Options of `[providers.<name>]`: headers, timeouts, proxies, base URLs.

use std::collections::BTreeMap;
use std::time::Duration;

use majordomo::transport::{Proxies, Transport, TransportConfig as Client};
use majordomo::{Registry, Request};
use majordomo_gateway::config::Config;
use majordomo_testkit::{Script, Upstream};

fn registry(text: &str) -> Registry {
    let environment = BTreeMap::from([("SECRET".to_owned(), "CANARY-header".to_owned())]);
    let config = Config::parse("m.toml", text, &environment).unwrap_or_else(|p| panic!("{p}"));
    let transport = Transport::new(Client::default().proxies(Proxies::Direct));
    let registry = config.registry(&environment, &transport, |builder| builder);
    registry.unwrap_or_else(|problems| panic!("{problems}"))
}

/// The first request that this provider sends to a server that rejects it, and the error.
async fn exchange(provider: &str, reply: &str) -> (String, String) {
    let body = format!("{{\"error\":{{\"message\":{reply:?}}}}}");
    let script = Script::new()
        .read_request()
        .respond(404, "application/json", body);
    let upstream = Upstream::start([script]).await;
    let text = provider.replace("UPSTREAM", &upstream.address().to_string());
    let chain = registry(&text).model("p/m").expect("a target");
    let request = Request::user("hello").max_tokens(77);
    let error = chain
        .generate(request)
        .await
        .expect_err("a 404")
        .to_string();
    let request = upstream.requests().swap_remove(0);
    let body = String::from_utf8_lossy(&request.body).into_owned();
    (format!("{}\n{body}", request.head), error)
}

#[tokio::test]
async fn headers_are_sent_and_never_shown() {
    let provider = "[providers.p]\nkind = \"openai\"\nbase_url = \"http://UPSTREAM/v1\"\n\
                    headers = { x-team = \"blue\", x-secret = \"${SECRET}\", authorization = \"Basic CANARY-literal\" }\n";
    let (request, error) = exchange(provider, "rejected CANARY-header, CANARY-literal").await;
    let head = request.to_lowercase();
    for header in [
        "x-team: blue",
        "x-secret: canary-header",
        "authorization: basic canary-literal",
    ] {
        assert!(head.contains(header), "{head}");
    }
    assert!(!error.contains("CANARY"), "{error}");
    let invalid = format!("{provider}wrong = 1\n");
    let environment = BTreeMap::from([("SECRET".to_owned(), "CANARY-header".to_owned())]);
    let told = Config::parse("m.toml", invalid, &environment).unwrap_err();
    assert!(!told.to_string().contains("CANARY"), "{told}");
}

#[tokio::test]
async fn the_options_of_a_dsn_are_keys_of_the_file() {
    let provider = "[providers.p]\nkind = \"openai\"\nbase_url = \"http://UPSTREAM\"\n\
                    legacy_max_tokens = true\n";
    let (request, _) = exchange(provider, "").await;
    assert!(request.contains("\"max_tokens\":77"), "{request}");
    let registry = registry(
        "[providers.p]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\n\
         context = 2048\nimages = false\ntools = false\n\
         [providers.d]\ndsn = \"openai+http://127.0.0.1:9?context=9&tools=false\"\ncontext = 4096\n",
    );
    let takes = |name: &str| {
        let provider = registry.provider(name).unwrap();
        let takes = provider.model("m").unwrap().capabilities();
        (takes.context_window, takes.takes_images(), takes.tools)
    };
    assert_eq!(takes("p"), (Some(2_048), false, false));
    assert_eq!(takes("d"), (Some(4_096), true, false));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_limits_an_attempt() {
    let upstream = Upstream::start([Script::new().read_request().stall().times(4)]).await;
    let text = format!(
        "[chain]\nretries = 0\n[providers.p]\nkind = \"openai\"\nbase_url = \"http://{}\"\ntimeout = \"3s\"\n",
        upstream.address()
    );
    let chain = registry(&text).model("p/m").unwrap();
    let started = tokio::time::Instant::now();
    let error = chain.generate(Request::user("hello")).await.unwrap_err();
    assert!(error.to_string().contains("within 3s"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(5), "{error}");
}

#[tokio::test]
async fn a_provider_may_have_its_own_proxy() {
    let script = Script::new()
        .read_request()
        .respond(404, "application/json", "{}");
    let proxy = Upstream::start([script]).await;
    let text = format!(
        "[providers.p]\nkind = \"openai\"\nbase_url = \"http://models.example/v1\"\nproxy = \"http://{}\"\n",
        proxy.address()
    );
    let chain = registry(&text).model("p/m").unwrap();
    chain.generate(Request::user("hello")).await.unwrap_err();
    let head = proxy.requests().swap_remove(0).head;
    let expected = "POST http://models.example:80/v1/chat/completions ";
    assert!(head.starts_with(expected), "{head}");
}

#[tokio::test]
async fn a_base_url_may_end_in_its_version() {
    for (kind, path) in [
        ("openai", "/chat/completions"),
        ("openai-responses", "/responses"),
        ("anthropic", "/v1/messages"),
        ("google", "/v1beta/models/m:generateContent"),
        ("ollama", "/api/chat"),
        ("foreman", "/api/chat"),
        ("llama-swap", "/v1/chat/completions"),
    ] {
        let versioned = path.starts_with("/v1") || path.starts_with("/api");
        let own = path.starts_with("/api/").then_some("/api");
        for end in ["", "/", "/v1", "/v1/", "/v1beta"].into_iter().chain(own) {
            let provider = format!(
                "[providers.p]\nkind = \"{kind}\"\nbase_url = \"http://UPSTREAM/base{end}\"\napi_key = \"canary\"\n"
            );
            let (request, _) = exchange(&provider, "").await;
            let kept = match versioned {
                true => "",
                false => end.trim_end_matches('/'),
            };
            let expected = format!("POST /base{kept}{path} ");
            assert!(request.starts_with(&expected), "{kind} {end}: {request}");
        }
    }
}

#[test]
fn every_image_type_that_a_model_may_take_is_known() {
    let types = [
        "image/jpeg",
        "image/png",
        "image/gif",
        "image/webp",
        "image/heic",
        "image/heif",
        "image/avif",
        "image/bmp",
        "image/tiff",
    ];
    let registry = registry(&format!(
        "[providers.p]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\n\
         [providers.p.models.m]\nimages = {{ types = {types:?} }}\n"
    ));
    let takes = registry.model("p/m").unwrap();
    let (_, takes) = takes.describe().next().unwrap();
    assert_eq!(takes.images.as_ref().unwrap().types, types);
}

#[test]
fn the_description_cache_can_be_switched_off() {
    for value in ["\"off\"", "false", "0"] {
        let text = format!("[vision]\ncache = {value}\n");
        let config = Config::parse("m.toml", text, &BTreeMap::new()).unwrap();
        assert_eq!(config.vision.settings().cache, 0, "{value}");
    }
}
