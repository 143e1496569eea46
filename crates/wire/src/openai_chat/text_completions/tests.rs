//! The legacy endpoint, as its clients see it.

use super::*;

fn read(body: &str) -> Result<Incoming, String> {
    let read = text_completions().read_request(Bytes::copy_from_slice(body.as_bytes()));
    read.map_err(|error| error.to_string())
}

fn reply() -> Reply {
    Reply {
        id: "cmpl-1".into(),
        model: "m".into(),
        created: 7,
        stream_usage: true,
        ..Reply::default()
    }
}

#[test]
fn a_prompt_is_a_users_message_and_settings_are_those_of_chat() {
    for prompt in [r#""Once upon""#, r#"["Once upon"]"#] {
        let body = format!(
            r#"{{"model":"m","prompt":{prompt},"max_tokens":5,"temperature":0,"stop":"\n","stream":true,"suffix":null,"n":1,"echo":false}}"#
        );
        let incoming = read(&body).unwrap();
        let asked = incoming.request.prompt();
        assert_eq!(asked.messages, [Message::user("Once upon")]);
        assert_eq!((asked.max_tokens, asked.temperature), (Some(5), Some(0.0)));
        assert_eq!(asked.stop, ["\n"]);
        assert_eq!(
            (incoming.model.as_deref(), incoming.stream),
            (Some("m"), true)
        );
    }
}

#[test]
fn what_a_conversation_cannot_express_is_rejected_by_name() {
    for (field, value) in [
        ("prompt", "[1,2,3]"),
        ("prompt", r#"["a","b"]"#),
        ("prompt", "[[1,2]]"),
        ("suffix", r#"" the end""#),
        ("echo", "true"),
        ("n", "2"),
        ("best_of", "3"),
        ("logprobs", "0"),
        ("messages", "[]"),
        ("tools", "[]"),
    ] {
        let error = read(&format!(r#"{{"model":"m","{field}":{value}}}"#)).unwrap_err();
        assert!(error.contains(field), "{field}: {error}");
    }
}

#[test]
fn a_whole_response_is_a_text_completion() {
    let mut response = Response::new(vec![Part::text("a time"), Part::text(".")]);
    response.finish = FinishReason::Length;
    response.usage.input = 3;
    let written = text_completions().write_response(&response, &reply());
    let body: serde_json::Value = serde_json::from_slice(&written.body).unwrap();
    assert_eq!(body["object"], "text_completion");
    assert_eq!(body["choices"][0]["text"], "a time.");
    assert_eq!(body["choices"][0]["finish_reason"], "length");
    assert_eq!(body["usage"]["prompt_tokens"], 3);
    assert!(written.losses.is_empty());
}

#[test]
fn a_stream_has_the_text_then_the_reason_then_usage() {
    let mut writer = text_completions().stream_writer(&reply());
    let mut out = BytesMut::new();
    for event in [
        Event::Text("a time".into()),
        Event::Reasoning("hm".into()),
        Event::Usage(Usage::default()),
        Event::Finish(FinishReason::Stop),
    ] {
        writer.write(&event, &mut out);
    }
    let out = String::from_utf8(out.to_vec()).unwrap();
    let events: Vec<&str> = out
        .split("\n\n")
        .filter(|event| !event.is_empty())
        .collect();
    let [text, last, usage, done] = events.as_slice() else {
        panic!("{out}");
    };
    assert!(text.contains(r#""text":"a time","index":0,"logprobs":null,"finish_reason":null"#));
    assert!(last.contains(r#""finish_reason":"stop""#));
    assert!(usage.contains(r#""choices":[]"#) && usage.contains("prompt_tokens"));
    assert_eq!(*done, "data: [DONE]");
    let losses = writer.losses();
    assert_eq!(losses[0].field, "reasoning");
}
