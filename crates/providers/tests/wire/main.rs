//! What each provider sends and reads, byte for byte.
//!
//! One table of features, asked of every provider over a socket; what went out
//! and what was read from the answer is compared with a file per provider. Run
//! with `UPDATE_SNAPSHOTS=1` to write the files, and read the difference.

mod answers;
mod features;

use std::fmt::Write;
use std::path::PathBuf;

use majordomo_llm::{Provider, Request};
use majordomo_providers::transport::{Config, Proxies, Transport};
use majordomo_providers::{HttpProvider, ProviderKind, Settings, compatible};
use majordomo_testkit::{Script, Upstream};

/// A provider, and the model whose rules matter most.
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
    let transport = Transport::new(Config::default().proxies(Proxies::Direct));
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

/// The features whose answers are worth a look; the others get the same one.
const READ: &[&str] = &["plain", "tool results", "stream"];

/// Asks once and gives what was sent and what was understood.
async fn exchange(name: &str, model: &str, feature: &str, request: Request) -> String {
    let stream = feature == "stream";
    let (content_type, answer) = answers::of(name, stream);
    let script = Script::new()
        .read_request()
        .answer(200, content_type, answer);
    let upstream = Upstream::start([script]).await;
    let model = provider(name, &upstream).model(model).expect("a model");
    let (request, notes) = request.recording_changes();
    let answered = match stream {
        false => model.generate(request).await,
        true => match model.stream(request).await {
            Ok(stream) => stream.finish().await,
            Err(error) => Err(error),
        },
    };
    let mut text = String::new();
    if let Some(asked) = upstream.requests().first() {
        let line = asked.head.lines().next().unwrap_or_default();
        let body = String::from_utf8_lossy(&asked.body);
        let _ = writeln!(text, "> {}\n> {body}", line.trim_end_matches(" HTTP/1.1"));
    }
    for note in notes.take() {
        let _ = writeln!(text, "! {note} ({})", note.detail);
    }
    let _ = match answered {
        Ok(_) if !READ.contains(&feature) => Ok(()),
        Ok(response) => {
            let parts = serde_json::to_string(&response.parts).expect("parts can be saved");
            let usage = serde_json::to_string(&response.usage).expect("usage can be saved");
            writeln!(text, "< {parts}\n< {:?} {usage}", response.finish)
        }
        Err(error) => writeln!(text, "< {error}"),
    };
    text
}

#[tokio::test]
async fn every_feature_of_every_provider_is_written_and_read_as_agreed() {
    let update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut wrong = Vec::new();
    for (name, model) in PROVIDERS {
        let mut found = String::new();
        for (feature, request) in features::all() {
            let told = exchange(name, model, feature, request).await;
            let _ = writeln!(found, "# {feature}\n{told}");
        }

        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/wire/snapshots")
            .join(format!("{name}.{}.txt", model.replace(':', "-")));
        if update {
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a new folder");
            std::fs::write(&file, &found).expect("a writable snapshot");
        }
        let agreed = std::fs::read_to_string(&file).unwrap_or_default();
        let differs = agreed.lines().zip(found.lines()).find(|(a, f)| a != f);
        if agreed != found {
            wrong.push(format!("{}: {differs:?}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
