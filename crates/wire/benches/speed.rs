//! The speed goals, as timings of one run to be compared with each other.
//!
//! - `read_agent_request` at most 1.3 × `serde_json_value_of_agent_request`
//! - `read_image_request` at most 1.0 × `serde_json_value_of_image_request`
//! - `read_and_rewrite_chunk`: at most 2 µs an item
//! - `tap_chunk`: at most 0.3 µs an item

use std::fmt::Write;

use bytes::{Bytes, BytesMut};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use majordomo_llm::Event;
use majordomo_wire::{Outgoing, Protocol, Reply};

fn main() {
    divan::main();
}

/// About 80 KB: instructions, two dozen tools with schemas, a conversation with
/// calls and results full of escapes, as coding agents send it.
fn agent_request() -> Bytes {
    let escaped =
        r#"fn main() {\n    let text = \"hello\\tworld\";\n    println!(\"{text}\");\n}\n"#;
    let mut body = String::from(r#"{"model":"m","messages":[{"role":"system","content":""#);
    body.push_str(&"You are a careful agent. Read before you write.\\n".repeat(200));
    body.push_str(r#""},{"role":"user","content":[{"type":"text","text":"Fix the bug."}]}"#);
    for turn in 0..40 {
        let _ = write!(
            body,
            r#",{{"role":"assistant","content":null,"tool_calls":[{{"id":"call_{turn}","type":"function","function":{{"name":"read_file","arguments":"{{\"path\":\"src/file_{turn}.rs\"}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{turn}","content":"{}"}}"#,
            escaped.repeat(8)
        );
    }
    body.push_str("],\"tools\":[");
    for tool in 0..24 {
        let comma = if tool == 0 { "" } else { "," };
        let _ = write!(
            body,
            r#"{comma}{{"type":"function","function":{{"name":"tool_{tool}","description":"{}","parameters":{{"type":"object","properties":{{"path":{{"type":"string","description":"Where to look."}},"limit":{{"type":"integer","minimum":1}},"options":{{"type":"object","properties":{{"deep":{{"type":"boolean"}},"names":{{"type":"array","items":{{"type":"string"}}}}}}}}}},"required":["path"],"additionalProperties":false}}}}}}"#,
            "Does something useful and says so at some length. ".repeat(12)
        );
    }
    body.push_str(r#"],"stream":true,"stream_options":{"include_usage":true},"temperature":0.2}"#);
    Bytes::from(body)
}

/// One picture of a megabyte of base64.
fn image_request() -> Bytes {
    let data = "iVBORw0KGgoAAAANSUhEUgAAAAEA".repeat(37_450);
    Bytes::from(format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":[{{"type":"text","text":"What is it?"}},{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}]}}]}}"#
    ))
}

const CHUNKS: usize = 200;

/// A stream of text chunks with everything that OpenAI puts around them.
fn stream() -> Vec<Bytes> {
    (0..CHUNKS)
        .map(|n| {
            Bytes::from(format!(
                "data: {{\"id\":\"chatcmpl-DXowQ5ZdAViQzqbpNi2tFI5zzMTtn\",\"object\":\"chat.completion.chunk\",\"created\":1776953014,\"model\":\"gpt-4o-mini-2024-07-18\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_f9565ce549\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" word{n}\"}},\"logprobs\":null,\"finish_reason\":null}}],\"usage\":null,\"obfuscation\":\"53h16EDe\"}}\n\n"
            ))
        })
        .collect()
}

#[divan::bench]
fn read_agent_request(bencher: Bencher<'_, '_>) {
    let body = agent_request();
    bencher
        .counter(BytesCount::new(body.len()))
        .bench_local(|| {
            Protocol::Chat
                .codec()
                .read_request(black_box(body.clone()))
                .expect("a valid body")
        });
}

#[divan::bench]
fn serde_json_value_of_agent_request(bencher: Bencher<'_, '_>) {
    let body = agent_request();
    bencher
        .counter(BytesCount::new(body.len()))
        .bench_local(|| {
            serde_json::from_slice::<serde_json::Value>(black_box(&body)).expect("a valid body")
        });
}

#[divan::bench]
fn read_image_request(bencher: Bencher<'_, '_>) {
    let body = image_request();
    bencher
        .counter(BytesCount::new(body.len()))
        .bench_local(|| {
            Protocol::Chat
                .codec()
                .read_request(black_box(body.clone()))
                .expect("a valid body")
        });
}

#[divan::bench]
fn serde_json_value_of_image_request(bencher: Bencher<'_, '_>) {
    let body = image_request();
    bencher
        .counter(BytesCount::new(body.len()))
        .bench_local(|| {
            serde_json::from_slice::<serde_json::Value>(black_box(&body)).expect("a valid body")
        });
}

#[divan::bench]
fn write_untouched_agent_request(bencher: Bencher<'_, '_>) {
    let incoming = Protocol::Chat
        .codec()
        .read_request(agent_request())
        .expect("a valid body");
    let to = Outgoing::new("another").stream(true);
    bencher.bench_local(|| {
        Protocol::Chat
            .codec()
            .write_request(black_box(&incoming.request), &to)
    });
}

#[divan::bench]
fn read_and_rewrite_chunk(bencher: Bencher<'_, '_>) {
    let chunks = stream();
    let reply = Reply {
        id: "id".into(),
        model: "m".into(),
        created: 1,
        ..Reply::default()
    };
    let codec = Protocol::Chat.codec();
    bencher.counter(ItemsCount::new(CHUNKS)).bench_local(|| {
        let (mut reader, mut writer) = (codec.stream_reader(), codec.stream_writer(&reply));
        let mut out = BytesMut::with_capacity(64 * 1024);
        let mut events: Vec<Event> = Vec::new();
        for chunk in &chunks {
            reader
                .push(black_box(chunk), &mut events)
                .expect("a valid body");
            for event in events.drain(..) {
                writer.write(&event, &mut out);
            }
        }
        out
    });
}

#[divan::bench]
fn tap_chunk(bencher: Bencher<'_, '_>) {
    let chunks = stream();
    let codec = Protocol::Chat.codec();
    bencher.counter(ItemsCount::new(CHUNKS)).bench_local(|| {
        let mut reader = codec.stream_reader();
        let mut events: Vec<Event> = Vec::new();
        for chunk in &chunks {
            reader
                .tap(black_box(chunk), &mut events)
                .expect("a valid body");
        }
        events
    });
}
