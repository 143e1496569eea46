//! Real requests of real clients, read and written back.
//!
//! `MAJORDOMO_CLIENT_REQUESTS` names a folder of folders, one per client, each
//! file with `method`, `path` and `body`. Without it the test says so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use majordomo_llm::Part;
use majordomo_wire::{Outgoing, Protocol};
use serde_json::value::RawValue;

/// Which paths are whose; the first that fits counts.
const SPOKEN: &[(&str, Protocol)] = &[
    ("/chat/completions", Protocol::Chat),
    ("/responses", Protocol::Responses),
    ("/v1/messages", Protocol::Messages),
    ("/v1/messages/count_tokens", Protocol::Messages),
    ("/api/chat", Protocol::Ollama),
    ("/api/generate", Protocol::Ollama),
];

#[derive(serde::Deserialize)]
struct Recorded {
    method: String,
    path: String,
    body: Box<RawValue>,
}

#[test]
fn client_requests_go_back_to_their_own_dialect_byte_for_byte() {
    let mut ran: BTreeMap<String, usize> = BTreeMap::new();
    for_each(|name, protocol, body| {
        let codec = protocol.codec();
        let incoming = codec
            .read_request(body.clone())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let model = incoming.model.clone().unwrap_or_default();
        let to = Outgoing::new(&model).stream(incoming.stream);
        let written = codec.write_request(&incoming.request, &to);
        assert_eq!(written.body, body, "{name}: other bytes");
        assert_eq!(written.losses, [], "{name}: losses");
        *ran.entry(protocol.dialect().to_string()).or_default() += 1;
    });
    for (protocol, count) in ran {
        println!("client_requests: {protocol}: {count} ran");
    }
}

#[test]
fn client_requests_keep_every_byte_that_an_edit_does_not_touch() {
    for_each(|name, protocol, body| {
        let codec = protocol.codec();
        let incoming = codec.read_request(body.clone()).unwrap();
        let model = incoming.model.clone().unwrap_or_default();
        let to = Outgoing::new(&model).stream(incoming.stream);

        // Touched and put back: the same value in another prompt.
        let mut same = incoming.request.clone();
        same.edit().seed = Some(1);
        same.edit().seed = incoming.request.seed;
        assert!(same.untouched(&protocol.dialect()).is_none());
        let written = codec.write_request(&same, &to);
        assert_eq!(written.body, body, "{name}: other bytes");
        assert_eq!(written.losses, [], "{name}: losses");

        // One text is changed: everything else reads as before.
        let mut edited = incoming.request.clone();
        let Some(text) = first_text(edited.edit()) else {
            return;
        };
        *text = "changed by a processor".into();
        let written = codec.write_request(&edited, &to);
        let again = codec.read_request(written.body).unwrap();
        assert_eq!(*again.request, *edited, "{name}: the edit changed more");
    });
}

fn first_text(prompt: &mut majordomo_llm::Prompt) -> Option<&mut String> {
    let parts = prompt.messages.iter_mut().flat_map(|m| &mut m.parts);
    parts
        .filter_map(|part| match part {
            Part::Text(text) if text.native.is_none() => Some(&mut text.text),
            _ => None,
        })
        .next()
}

fn for_each(mut check: impl FnMut(&str, Protocol, Bytes)) {
    let Some(folder) = std::env::var_os("MAJORDOMO_CLIENT_REQUESTS").map(PathBuf::from) else {
        println!("client_requests: skipped, MAJORDOMO_CLIENT_REQUESTS is not set");
        return;
    };
    let mut files: Vec<PathBuf> = children(&folder).iter().flat_map(|f| children(f)).collect();
    files.sort();
    assert!(!files.is_empty(), "{} holds no requests", folder.display());
    for file in files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "json"))
    {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).expect("a readable file");
        let recorded: Recorded =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let path = recorded.path.split('?').next().unwrap_or_default();
        let spoken = SPOKEN.iter().find(|(end, _)| path.ends_with(end));
        if let (Some((_, protocol)), "POST") = (spoken, recorded.method.as_str()) {
            check(
                &name,
                *protocol,
                Bytes::from(recorded.body.get().to_owned()),
            );
        }
    }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .collect()
}
