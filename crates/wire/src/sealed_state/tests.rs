//! State through clients of other dialects and back.

use super::*;
use majordomo_llm::{Assembler, Json, Response, Role, ToolCall};
use proptest::prelude::*;

use crate::{Outgoing, Reply};

fn native(protocol: Protocol, name: &str, value: &str) -> Option<Box<Native>> {
    let native = Native::new(protocol.dialect());
    native.with(name, Json::string(value)).into_option()
}

fn thought(text: &str, native: Option<Box<Native>>) -> Part {
    Part::Reasoning(Reasoning {
        text: text.to_owned(),
        native,
    })
}

/// One step of an agent, with the state that each provider attaches to it.
fn steps() -> Vec<(Protocol, Vec<Part>)> {
    let call = || ToolCall::new("c1", "look", "{}");
    let mut signed = call();
    signed.native = native(Protocol::Gemini, "thoughtSignature", "R2VtaW5p");
    let mut encrypted = Native::new(Protocol::Responses.dialect());
    encrypted.push("encrypted_content", Json::string("gAAAA"));
    encrypted.push("id", Json::string("rs_1"));
    vec![
        (
            Protocol::Messages,
            vec![
                thought("hm", native(Protocol::Messages, "signature", "sig==")),
                thought("", native(Protocol::Messages, "data", "redacted")),
                Part::ToolCall(call()),
            ],
        ),
        (
            Protocol::Gemini,
            vec![
                thought("hm", None),
                Part::ToolCall(signed),
                Part::ToolCall(ToolCall::new("c2", "look", "{}")),
            ],
        ),
        (
            Protocol::Responses,
            vec![
                thought("hm", encrypted.into_option()),
                Part::ToolCall(call()),
            ],
        ),
        (
            Protocol::Chat,
            vec![
                thought("hm", native(Protocol::Chat, "field", "reasoning_content")),
                Part::ToolCall(call()),
            ],
        ),
    ]
}

/// Sends a response to a client, streamed or whole, and returns the parts that the
/// client has in its history.
fn through_client(client: Protocol, parts: &[Part], streamed: bool) -> Vec<Part> {
    let codec = client.codec();
    let response = Response::new(parts.to_vec());
    let reply = Reply {
        id: "resp_1".into(),
        stream_usage: true,
        ..Reply::default()
    };
    if !streamed {
        let written = codec.write_response(&response, &reply);
        assert!(written.losses.is_empty(), "{:?}", written.losses);
        return codec.read_response(written.body, 0).unwrap().parts;
    }
    let mut writer = codec.stream_writer(&reply);
    let mut out = BytesMut::new();
    for event in response.to_events() {
        writer.write(&event, &mut out);
    }
    assert!(writer.losses().is_empty(), "{:?}", writer.losses());
    let mut reader = codec.stream_reader();
    let mut events = Vec::new();
    reader.push(&out, &mut events).unwrap();
    reader.finish(&mut events).unwrap();
    let mut assembler = Assembler::default();
    for event in events {
        assembler.push(event);
    }
    assembler.into_response().parts
}

/// The client's next request, as read from the wire.
fn next_request(client: Protocol, parts: Vec<Part>) -> Request {
    let request = Request::user("hi").message(Message::new(Role::Assistant, parts));
    let codec = client.codec();
    let body = codec.write_request(&request, &Outgoing::new("m")).body;
    codec.read_request(body).unwrap().request
}

/// The calls, and the reasoning that has state of this dialect. The fields that the
/// client's own dialect adds to calls are not state.
fn state_of(parts: impl IntoIterator<Item = Part>, provider: Protocol) -> Vec<Part> {
    let dialect = provider.dialect();
    let is_own =
        |native: &Option<Box<Native>>| native.as_ref().is_some_and(|n| *n.dialect() == dialect);
    let mut kept = Vec::new();
    for part in parts {
        match part {
            Part::Reasoning(reasoning) if !is_own(&reasoning.native) => {}
            Part::ToolCall(mut call) => {
                call.native = call.native.filter(|n| *n.dialect() == dialect);
                kept.push(Part::ToolCall(call));
            }
            part => kept.push(part),
        }
    }
    kept
}

fn parts_of(request: &Request) -> Vec<Part> {
    let messages = request.prompt().messages.iter().skip(1);
    messages.flat_map(|message| message.parts.clone()).collect()
}

#[test]
fn every_providers_state_comes_back_to_it_through_clients_of_both_dialects() {
    for client in [Protocol::Responses, Protocol::Messages] {
        for (provider, parts) in steps() {
            for streamed in [false, true] {
                if client == provider {
                    continue;
                }
                let history = through_client(client, &parts, streamed);
                let request = next_request(client, history);
                let restored = restore_reasoning(request, &provider.dialect());
                assert_eq!(
                    state_of(parts_of(&restored), provider),
                    state_of(parts.clone(), provider),
                    "{provider:?} through {client:?}, streamed: {streamed}"
                );
            }
        }
    }
}

#[test]
fn state_of_another_provider_is_dropped_and_listed_even_for_the_clients_own_dialect() {
    for client in [Protocol::Responses, Protocol::Messages] {
        for (provider, parts) in steps() {
            if client == provider {
                continue;
            }
            let history = through_client(client, &parts, false);
            for target in Protocol::ALL {
                if target == provider {
                    continue;
                }
                let request = next_request(client, history.clone());
                let (request, changes) = request.recording_changes();
                let restored = restore_reasoning(request, &target.dialect());
                let written = target.codec().write_request(&restored, &Outgoing::new("m"));
                let body = String::from_utf8_lossy(&written.body).into_owned();
                assert!(!body.contains(PREFIX), "{provider:?} to {target:?}: {body}");
                let changes = changes.take();
                let listed = changes
                    .iter()
                    .any(|c| c.to_string().starts_with("reasoning:"));
                assert!(listed, "{provider:?} to {target:?}: {changes:?}");
                let count = |parts: &[Part]| parts.iter().filter_map(Part::as_tool_call).count();
                assert_eq!(count(&parts_of(&restored)), count(&parts));
            }
        }
    }
}

#[test]
fn a_request_without_seals_is_not_edited() {
    let request = next_request(Protocol::Responses, steps().remove(2).1);
    let restored = restore_reasoning(request.clone(), &Protocol::Messages.dialect());
    assert!(restored.same_prompt(&request));
}

fn sealed(text: &str) -> String {
    let signature = native(Protocol::Messages, "signature", "sig==");
    let client = Protocol::Responses.dialect();
    let sealed = seal_reasoning(text, signature.as_deref(), &client, &mut Losses::default());
    sealed.unwrap()
}

proptest! {
    #[test]
    fn a_damaged_seal_opens_for_nobody(
        at in 0usize..500,
        with in "[A-Za-z0-9+/=.]",
        text in "[a-z]{0,3}",
    ) {
        let whole = sealed("hm");
        let opened = |seal: &str, text: &str| {
            open(seal, text, &Protocol::Messages.dialect()).map(|opened| opened.native)
        };
        let intact = opened(&whole, "hm");
        prop_assert!(intact.is_some());
        prop_assert!(text == "hm" || opened(&whole, &text).is_none());
        let at = at % whole.len();
        let mut damaged = whole.clone();
        damaged.replace_range(at..=at, &with);
        let found = opened(&damaged, "hm");
        prop_assert!(found.is_none() || found == intact);
        prop_assert!(opened(&whole[..at], "hm").is_none());
    }

    #[test]
    fn no_seal_causes_a_panic(rest in "\\PC{0,60}") {
        let _ = open(&format!("{PREFIX}{rest}"), "", &Protocol::Messages.dialect());
    }
}

#[test]
fn a_forged_seal_yields_nothing_but_the_expected_fields() {
    let opens = |payload: &str| {
        let mut out = BytesMut::from(PREFIX.as_bytes());
        base64::encode_into(payload.as_bytes(), &mut out);
        let sum = checksum(payload.as_bytes(), "");
        let forged = format!("{}.{sum:016x}", String::from_utf8_lossy(&out));
        open(&forged, "", &Protocol::Messages.dialect()).is_some()
    };
    let with = |state: &str| {
        format!(r#"{{"origin":"anthropic-messages","for":"reasoning","state":{state}}}"#)
    };
    assert!(opens(&with(r#"{"signature":"x"}"#)));
    for state in [
        r#"{"signature":{"a":1}}"#,
        r#"{"cache_control":{"type":"ephemeral"}}"#,
        r#"{"signature":"x","type":"tool_use"}"#,
        "{}",
        "[]",
    ] {
        assert!(!opens(&with(state)), "{state}");
    }
    let other = r#"{"origin":"gemini","for":"reasoning","state":{"thoughtSignature":"x"}}"#;
    assert!(!opens(other));
}
