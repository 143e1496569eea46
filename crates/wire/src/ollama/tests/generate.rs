use majordomo_llm::{Message, Part, Prompt, Request};

use super::*;
use crate::ollama::{self, endpoint};

fn generate_body() -> String {
    format!(
        r#"{{"model":"m","prompt":"what?","system":"terse","images":["{PNG_TEXT}"],"suffix":"end","raw":true,"options":{{"seed":1}},"stream":false}}"#
    )
}

#[test]
fn a_generate_request_is_read_as_one_message() {
    let incoming = read(&generate_body());
    let request = &incoming.request;
    assert_eq!(request.prompt().system_text(), "terse");
    assert_eq!(request.prompt().messages.len(), 1);
    assert_eq!(request.prompt().messages[0].text(), "what?");
    assert_eq!(request.prompt().image_count(), 1);
    assert_eq!(request.prompt().seed, Some(1));
    let native = request.prompt().native.as_ref().unwrap();
    assert!(native.get("suffix").is_some() && native.get("raw").is_some());
    assert_eq!(endpoint(request.prompt()), OllamaEndpoint::Generate);
}

#[test]
fn an_empty_generate_request_only_loads_the_model() {
    for body in [
        r#"{"model":"m","prompt":"","system":"","template":"","context":[],"images":[],"raw":false}"#,
        r#"{"model":"m"}"#,
    ] {
        let incoming = read(body);
        assert_eq!(*incoming.request.prompt(), Prompt::default(), "{body}");
    }
}

#[test]
fn a_generate_request_is_written_as_one_whether_copied_spliced_or_built() {
    let source = generate_body();
    let request = read(&source).request;
    assert_eq!(write(&request), (source.clone(), vec![]));

    let mut edited = request.clone();
    edited.edit().messages[0].parts[0] = Part::text("why?");
    edited.edit().temperature = Some(0.5);
    let expected = source
        .replace("what?", "why?")
        .replace(r#"{"seed":1}"#, r#"{"seed":1,"temperature":0.5}"#);
    assert_eq!(write(&edited), (expected, vec![]));

    let built = Request::from(Prompt::clone(request.prompt()));
    let (body, losses) = write(&built);
    assert!(losses.is_empty());
    assert_eq!(*read(&body).request.prompt(), *request.prompt());
    assert!(body.contains(r#""prompt":"what?""#), "{body}");
}

#[test]
fn a_generate_request_with_a_second_message_becomes_a_chat() {
    let mut request = read(&generate_body()).request;
    request.edit().messages.push(Message::assistant("that"));
    assert_eq!(endpoint(request.prompt()), OllamaEndpoint::Chat);
    let (body, losses) = write(&request);
    assert_eq!(
        body,
        format!(
            r#"{{"model":"m","messages":[{{"role":"system","content":"terse"}},{{"role":"user","content":"what?","images":["{PNG_TEXT}"]}},{{"role":"assistant","content":"that"}}],"options":{{"seed":1}},"stream":false}}"#
        )
    );
    assert_eq!(losses, ["suffix", "raw"]);
}

#[test]
fn a_chat_with_a_stray_prompt_stays_a_chat() {
    let incoming = read(r#"{"prompt":"p","messages":[{"role":"user","content":"a"}]}"#);
    assert_eq!(incoming.request.prompt().messages.len(), 1);
    assert_eq!(endpoint(incoming.request.prompt()), OllamaEndpoint::Chat);
    assert!(
        incoming
            .request
            .prompt()
            .native
            .as_ref()
            .unwrap()
            .get("prompt")
            .is_some()
    );
}

#[test]
fn generate_responses_have_no_message_object() {
    let body = r#"{"model":"x","created_at":"2023-11-14T22:13:20Z","response":"hi","thinking":"hm","done":true,"done_reason":"stop","context":[1,2],"total_duration":7,"prompt_eval_count":3,"eval_count":2}"#;
    let response = CHAT.read_response(Bytes::from(body), 0).unwrap();
    assert_eq!(response.text(), "hi");
    assert!(matches!(&response.parts[0], Part::Reasoning(r) if r.text == "hm"));
    let written = ollama::generate().write_response(&response, &reply());
    assert_eq!(
        written.body,
        r#"{"model":"m","created_at":"2023-11-14T22:13:20Z","response":"hi","thinking":"hm","done":true,"done_reason":"stop","total_duration":7,"load_duration":0,"prompt_eval_count":3,"prompt_eval_duration":0,"eval_count":2,"eval_duration":0,"context":[1,2]}"#
    );
}

#[test]
fn generate_streams_have_no_message_object() {
    let lines = [
        r#"{"model":"x","response":"","thinking":"hm","done":false}"#,
        r#"{"model":"x","response":"hi","done":false}"#,
        r#"{"model":"x","response":"","done":true,"done_reason":"length","context":[1]}"#,
    ];
    let events = events(&lines).unwrap();
    let mut writer = ollama::generate().stream_writer(&reply());
    let mut out = bytes::BytesMut::new();
    for event in &events {
        writer.write(event, &mut out);
    }
    let head = r#"{"model":"m","created_at":"2023-11-14T22:13:20Z","response":"#;
    let text = String::from_utf8(out.to_vec()).unwrap();
    let written: Vec<&str> = text.lines().collect();
    assert_eq!(
        written[0],
        format!(r#"{head}"","thinking":"hm","done":false}}"#)
    );
    assert_eq!(written[1], format!(r#"{head}"hi","done":false}}"#));
    assert!(written[2].starts_with(&format!(r#"{head}"","done":true,"done_reason":"length""#)));
}

#[test]
fn a_request_from_another_dialect_is_a_chat() {
    assert_eq!(endpoint(Request::user("hi").prompt()), OllamaEndpoint::Chat);
}
