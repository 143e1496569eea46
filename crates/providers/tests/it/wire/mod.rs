//! Snapshots of the data that each provider sends and decodes.
//!
//! Sends one request per feature to every provider over a socket and compares the
//! bytes sent and the decoded response with a snapshot per provider.
//! `UPDATE_SNAPSHOTS=1` rewrites the snapshots.

mod features;
mod responses;

use std::fmt::Write;
use std::path::PathBuf;

use majordomo_llm::{ModelExt, Provider, Request};
use majordomo_providers::transport::{Proxies, Transport, TransportConfig};
use majordomo_providers::{HttpProvider, ProviderKind, Settings, compatible};
use majordomo_testkit::{Script, Upstream};

/// Providers, each with the model that has the most restrictions.
const PROVIDERS: &[(&str, &str)] = &[
    ("openai", "gpt-6-sol"),
    ("openai-responses", "gpt-6-sol"),
    ("anthropic", "claude-sonnet-5-5"),
    ("anthropic", "claude-haiku-4-5"),
    ("google", "gemini-3.8-flash"),
    ("ollama", "qwen3:8b"),
    ("ollama-cloud", "kimi-k2.6:cloud"),
    ("foreman", "qwen3:8b"),
    ("llama-swap", "qwen3"),
    ("groq", "llama"),
    ("deepseek", "deepseek-v4-pro"),
    ("xai", "grok-4.7"),
    ("mistral", "mistral-large"),
    ("lmstudio", "qwen3"),
];

fn provider(name: &str, upstream: &Upstream) -> HttpProvider {
    let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
    let settings = Settings::new(name, transport)
        .base_url(format!("http://{}", upstream.address()))
        .key(Some("canary".to_owned().into()))
        .discovery(false);
    let made = match (name.parse::<ProviderKind>(), compatible(name)) {
        (Ok(kind), _) => kind.provider(settings),
        (Err(_), Some(service)) => service.provider(settings),
        (Err(error), None) => Err(error),
    };
    made.expect("a provider of a known name")
}

/// The features whose decoded responses are part of the snapshot; all receive the
/// same response.
const DECODED: &[&str] = &["plain", "tool results", "stream"];

/// Sends one request; returns the sent and the decoded data.
async fn exchange(name: &str, model: &str, feature: &str, request: Request) -> String {
    let stream = feature == "stream";
    let (content_type, body) = responses::of(name, stream);
    let script = Script::new()
        .read_request()
        .respond(200, content_type, body);
    let upstream = Upstream::start([script]).await;
    let model = provider(name, &upstream).model(model).expect("a model");
    let (request, notes) = request.recording_changes();
    let result = match stream {
        false => model.generate(request).await,
        true => match model.stream(request).await {
            Ok(stream) => stream.finish().await,
            Err(error) => Err(error),
        },
    };
    let mut text = String::new();
    if let Some(sent) = upstream.requests().first() {
        let line = sent.head.lines().next().unwrap_or_default();
        let body = String::from_utf8_lossy(&sent.body);
        let _ = writeln!(text, "> {}\n> {body}", line.trim_end_matches(" HTTP/1.1"));
    }
    for note in notes.take() {
        let _ = writeln!(text, "! {note} ({})", note.detail);
    }
    let _ = match result {
        Ok(_) if !DECODED.contains(&feature) => Ok(()),
        Ok(response) => {
            let parts = serde_json::to_string(&response.parts).expect("parts serialize");
            let usage = serde_json::to_string(&response.usage).expect("usage serializes");
            writeln!(text, "< {parts}\n< {:?} {usage}", response.finish)
        }
        Err(error) => writeln!(text, "< {error}"),
    };
    text
}

#[tokio::test]
async fn every_feature_of_every_provider_matches_its_snapshot() {
    let update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut wrong = Vec::new();
    for (name, model) in PROVIDERS {
        let mut found = String::new();
        for (feature, request) in features::all() {
            let exchanged = exchange(name, model, feature, request).await;
            let _ = writeln!(found, "# {feature}\n{exchanged}");
        }

        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/it/wire/snapshots")
            .join(format!("{name}.{}.txt", model.replace(':', "-")));
        if update {
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a new folder");
            std::fs::write(&file, &found).expect("a writable snapshot");
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        let differs = expected.lines().zip(found.lines()).find(|(a, f)| a != f);
        if expected != found {
            wrong.push(format!("{}: {differs:?}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn raw_of_a_streamed_final_response_holds_the_providers_bytes() {
    for (name, model) in PROVIDERS {
        let (content_type, body) = responses::of(name, true);
        let script = Script::new()
            .read_request()
            .respond(200, content_type, body.clone());
        let upstream = Upstream::start([script]).await;
        let model = provider(name, &upstream).model(model).expect("a model");
        let stream = model.stream(Request::user("hi")).await.unwrap();
        let raw = stream.finish().await.unwrap().raw.expect("raw bytes");
        assert_eq!(Some(raw.dialect), model.dialect(), "{name}");
        assert_eq!(raw.bytes, body, "{name}");
    }
}
