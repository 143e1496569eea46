//! Recorded requests of real clients, read and written back.
//!
//! `MAJORDOMO_CLIENT_REQUESTS` names a directory with one subdirectory per client;
//! each file has `method`, `path` and `body`. Without it the tests are skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use majordomo_llm::{Part, Prompt, Role};
use majordomo_wire::{Outgoing, Protocol, mark_prompt_cache, sets_cache_marks};
use serde_json::Value;
use serde_json::value::RawValue;

/// Codecs by path suffix; the first match wins.
const CODECS: &[(&str, Protocol)] = &[
    ("/chat/completions", Protocol::Chat),
    ("/api/chat", Protocol::Ollama),
    ("/api/generate", Protocol::Ollama),
    ("/v1/messages", Protocol::Messages),
    ("/v1/messages/count_tokens", Protocol::Messages),
    ("/responses", Protocol::Responses),
    (":generateContent", Protocol::Gemini),
    (":streamGenerateContent", Protocol::Gemini),
    (":countTokens", Protocol::Gemini),
];

#[derive(serde::Deserialize)]
struct RecordedRequest {
    method: String,
    path: String,
    body: Box<RawValue>,
}

#[test]
fn requests_are_written_to_their_own_dialect_byte_for_byte() {
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
fn edited_requests_keep_the_bytes_of_unchanged_fields() {
    for_each(|name, protocol, body| {
        let codec = protocol.codec();
        let incoming = codec.read_request(body.clone()).unwrap();
        let model = incoming.model.clone().unwrap_or_default();
        let to = Outgoing::new(&model).stream(incoming.stream);

        // Edited and reverted: the same value in another prompt.
        let mut same = incoming.request.clone();
        same.edit().seed = Some(1);
        same.edit().seed = incoming.request.prompt().seed;
        assert!(same.untouched(&protocol.dialect()).is_none());
        let written = codec.write_request(&same, &to);
        assert_eq!(written.body, body, "{name}: other bytes");
        assert_eq!(written.losses, [], "{name}: losses");

        // One text is edited: everything else reads as before.
        let mut edited = incoming.request.clone();
        let Some(text) = first_text(edited.edit()) else {
            return;
        };
        *text = "changed by a processor".into();
        let written = codec.write_request(&edited, &to);
        let again = codec.read_request(written.body).unwrap();
        assert_eq!(
            *again.request.prompt(),
            *edited.prompt(),
            "{name}: the edit changed more"
        );
    });
}

#[test]
fn requests_keep_their_content_in_every_other_dialect() {
    let mut lost: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for_each(|name, protocol, body| {
        let incoming = protocol.codec().read_request(body.clone()).unwrap();
        let others = CODECS.iter().map(|(_, other)| *other);
        let others: BTreeSet<_> = others
            .filter(|o| *o != protocol)
            .map(|o| o.dialect())
            .collect();
        for other in others.iter().filter_map(Protocol::of) {
            let to = Outgoing::new("m").stream(incoming.stream);
            let written = other.codec().write_request(&incoming.request, &to);
            let pair = format!("{} to {}", protocol.dialect(), other.dialect());
            for loss in &written.losses {
                assert!(!loss.why.is_empty(), "{name}: {} has no reason", loss.field);
            }
            let fields = written.losses.into_iter().map(|loss| loss.field);
            lost.entry(pair.clone()).or_default().extend(fields);
            let again = other
                .codec()
                .read_request(written.body)
                .unwrap_or_else(|error| panic!("{name}, {pair}: {error}"));
            let (before, after) = (
                PromptSummary::by(incoming.request.prompt()),
                PromptSummary::by(again.request.prompt()),
            );
            // Some dialects join the texts of a message.
            let all = after.texts.concat();
            for text in before.texts.iter().map(|text| text.trim_end()) {
                assert!(
                    all.contains(text),
                    "{name}, {pair}: a text was lost: {text}"
                );
            }
            assert_eq!(after.calls, before.calls, "{name}, {pair}: calls");
            assert_eq!(after.results, before.results, "{name}, {pair}: results");
            assert_eq!(after.images, before.images, "{name}, {pair}: images");
            assert_eq!(after.tools, before.tools, "{name}, {pair}: tools");
        }
    });
    for (pair, fields) in lost {
        let fields: Vec<_> = fields.into_iter().collect();
        println!("client_requests: {pair} loses {}", fields.join(", "));
    }
}

/// What must survive in every dialect.
struct PromptSummary {
    texts: Vec<String>,
    calls: Vec<(String, Value)>,
    results: usize,
    images: usize,
    tools: Vec<String>,
}

impl PromptSummary {
    fn by(prompt: &Prompt) -> Self {
        let messages = || prompt.messages.iter();
        let calls = messages().flat_map(|m| m.tool_calls());
        let own = prompt.system.iter().map(|text| text.text.clone());
        Self {
            texts: own
                .chain(messages().flat_map(|m| texts(&m.parts)))
                .collect(),
            calls: calls
                .map(|c| (c.name.clone(), c.parse().expect("valid arguments")))
                .collect(),
            results: messages().flat_map(|m| m.tool_results()).count(),
            images: prompt.image_count(),
            tools: prompt.tools.iter().map(|tool| tool.name.clone()).collect(),
        }
    }
}

fn texts(parts: &[Part]) -> Vec<String> {
    let text = |part: &Part| match part {
        Part::Text(text) => vec![text.text.clone()],
        Part::ToolResult(result) => texts(&result.parts),
        _ => Vec::new(),
    };
    parts.iter().flat_map(text).collect()
}

fn first_text(prompt: &mut Prompt) -> Option<&mut String> {
    let parts = prompt.messages.iter_mut().flat_map(|m| &mut m.parts);
    parts
        .filter_map(|part| match part {
            Part::Text(text) if text.native.is_none() => Some(&mut text.text),
            _ => None,
        })
        .next()
}

/// The prefix of a Messages body that a provider caches.
#[derive(serde::Deserialize)]
struct CachedBody<'b> {
    #[serde(borrow)]
    tools: Option<&'b RawValue>,
    #[serde(borrow)]
    system: Option<&'b RawValue>,
    #[serde(borrow)]
    messages: Vec<&'b RawValue>,
}

#[test]
fn with_cache_breakpoints_each_turn_begins_with_the_bytes_of_the_turn_before() {
    let (mut turns, mut own) = (0, 0);
    for_each(|name, protocol, body| {
        let request = protocol.codec().read_request(body).unwrap().request;
        if sets_cache_marks(&request) {
            own += 1;
            return;
        }
        let messages = request.prompt().messages.clone();
        let mut before: Option<Bytes> = None;
        for end in 1..=messages.len() {
            // A request ends at the point at which the model speaks next.
            let next = messages.get(end).map(|next| next.role);
            if next.is_some_and(|role| role != Role::Assistant)
                || messages[end - 1].role == Role::Assistant
            {
                continue;
            }
            let mut turn = request.clone();
            turn.edit().messages.truncate(end);
            let written = Protocol::Messages
                .codec()
                .write_request(&turn, &Outgoing::new("m"));
            let (marked, places) = mark_prompt_cache(written.body);
            let text = std::str::from_utf8(&marked).unwrap();
            assert!(places.is_some(), "{name}: nothing is marked");
            assert!(text.matches("\"cache_control\"").count() <= 4, "{name}");
            if let Some(before) = &before {
                let before: CachedBody<'_> = serde_json::from_slice(before).unwrap();
                let after: CachedBody<'_> = serde_json::from_slice(&marked).unwrap();
                let raw = |value: Option<&RawValue>| value.map(|it| it.get().to_owned());
                assert_eq!(raw(before.tools), raw(after.tools), "{name}: tools");
                assert_eq!(raw(before.system), raw(after.system), "{name}: system");
                for (old, new) in before.messages.iter().zip(&after.messages) {
                    assert_eq!(old.get(), new.get(), "{name}: messages");
                }
                assert!(before.messages.len() <= after.messages.len(), "{name}");
                turns += 1;
            }
            before = Some(marked);
        }
    });
    println!("client_requests: {turns} turns follow another, {own} requests have breakpoints");
}

fn for_each(mut check: impl FnMut(&str, Protocol, Bytes)) {
    let Some(folder) = majordomo_testkit::data("MAJORDOMO_CLIENT_REQUESTS") else {
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
        let recorded: RecordedRequest =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let path = recorded.path.split('?').next().unwrap_or_default();
        let codec = CODECS.iter().find(|(end, _)| path.ends_with(end));
        if let (Some((_, protocol)), "POST") = (codec, recorded.method.as_str()) {
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
