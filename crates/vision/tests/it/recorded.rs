//! Recorded client requests: every image is replaced, and nothing else changes.
//!
//! `MAJORDOMO_CLIENT_REQUESTS` names a folder of folders, one per client, each file with
//! `path` and `body`. Without it the test is skipped with a message.

use bytes::Bytes;
use majordomo_testkit::files;
use majordomo_vision::Vision;
use majordomo_wire::{Outgoing, Protocol};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::support::VisionFixture;

const VARIABLE: &str = "MAJORDOMO_CLIENT_REQUESTS";

#[derive(serde::Deserialize)]
struct RecordedRequest {
    path: String,
    body: Box<RawValue>,
}

fn protocol(path: &str) -> Option<Protocol> {
    let path = path.split('?').next().unwrap_or_default();
    let spoken = [
        ("/chat/completions", Protocol::Chat),
        ("/api/chat", Protocol::Ollama),
        ("/v1/messages", Protocol::Messages),
        ("/responses", Protocol::Responses),
        (":generateContent", Protocol::Gemini),
        (":streamGenerateContent", Protocol::Gemini),
    ];
    let mut spoken = spoken.into_iter();
    spoken.find(|(end, _)| path.ends_with(end)).map(|(_, p)| p)
}

/// Whether an object is an image in any dialect.
fn is_image(value: &Value) -> bool {
    let kind = value["type"].as_str().unwrap_or_default();
    matches!(kind, "image" | "image_url" | "input_image")
        || value.get("inlineData").is_some()
        || value.get("inline_data").is_some()
        || value.get("fileData").is_some()
}

/// Where two bodies differ other than by a text replacing an image.
fn difference(before: &Value, after: &Value, at: &str) -> Option<String> {
    if before == after {
        return None;
    }
    if is_image(before) {
        let text = after["text"].as_str().unwrap_or_default();
        return (!text.starts_with("[image: ")).then(|| format!("{at}: {after}"));
    }
    match (before, after) {
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs
                .map(|(i, (a, b))| difference(a, b, &format!("{at}/{i}")))
                .find_map(|d| d)
        }
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            let pairs = a.iter().zip(b.values());
            pairs
                .map(|((key, a), b)| difference(a, b, &format!("{at}/{key}")))
                .find_map(|d| d)
        }
        // Ollama keeps images next to the text.
        (Value::Object(a), Value::Object(b)) if a.contains_key("images") => {
            let text = |fields: &serde_json::Map<String, Value>| {
                fields["content"].as_str().unwrap_or_default().to_owned()
            };
            let ok = text(b).starts_with(&text(a)) && text(b).contains("[image: ");
            (!ok).then(|| format!("{at}: {after}"))
        }
        _ => Some(format!("{at}: {before} became {after}")),
    }
}

#[tokio::test]
async fn every_image_of_a_recorded_request_is_replaced_and_nothing_else_changes() {
    let Some(folder) = majordomo_testkit::data(VARIABLE) else {
        return;
    };
    let (mut looked, mut changed) = (0, 0);
    for file in files(&folder) {
        let name = file.display();
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let Ok(recorded) = serde_json::from_str::<RecordedRequest>(&text) else {
            continue;
        };
        let Some(protocol) = protocol(&recorded.path) else {
            continue;
        };
        let body = Bytes::from(recorded.body.get().to_owned());
        let Ok(incoming) = protocol.codec().read_request(body.clone()) else {
            continue;
        };
        looked += 1;
        let had_images = Vision::has_images(incoming.request.prompt());
        changed += usize::from(had_images);
        let described = VisionFixture::new()
            .describe(incoming.request.clone())
            .await
            .request;
        assert!(!Vision::has_images(described.prompt()), "{name}");
        let model = incoming.model.unwrap_or_default();
        let to = Outgoing::new(&model).stream(incoming.stream);
        let written = protocol.codec().write_request(&described, &to).body;
        if !had_images {
            assert_eq!(written, body, "{name}");
            continue;
        }
        let before: Value = serde_json::from_slice(&body).unwrap();
        let after: Value = serde_json::from_slice(&written).unwrap();
        assert_eq!(difference(&before, &after, ""), None, "{name}");
    }
    println!("recorded requests: {looked} checked, {changed} with images");
    assert!(
        changed > 0,
        "{} contains no request with an image",
        folder.display()
    );
}
