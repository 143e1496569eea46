use super::*;

fn stream(chunks: &[&str]) -> String {
    let mut calls = ForwardedCalls::new(Protocol::Chat, 2);
    let frames = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    let completed = frames.map(|frame| calls.complete_frames(frame.into()));
    completed.fold(String::new(), |all, frame| {
        all + std::str::from_utf8(&frame).unwrap()
    })
}

#[test]
fn missing_ids_of_a_whole_response_are_synthesized_and_all_other_bytes_kept() {
    let body = r#"{ "id":"r", "choices" : [ {"message":{"content":null,"tool_calls":[
        { "function":{"name":"a","arguments":"{}"}},
        {"id":"", "type":"function","function":{"name":"b"} },
        {"id": null,"function":{"name":"c"}}, {"id":"own","function":{"name":"d"}}, {}]}}],"x":1.0}"#;
    let expected = r#"{ "id":"r", "choices" : [ {"message":{"content":null,"tool_calls":[
        {"id":"call_2", "function":{"name":"a","arguments":"{}"}},
        {"id":"call_3", "type":"function","function":{"name":"b"} },
        {"id": "call_4","function":{"name":"c"}}, {"id":"own","function":{"name":"d"}}, {}]}}],"x":1.0}"#;
    let mut calls = ForwardedCalls::new(Protocol::Chat, 2);
    assert_eq!(calls.complete_body(body.into()), expected);
}

#[test]
fn missing_ids_of_a_stream_are_synthesized_with_the_first_fragment_of_each_call() {
    let chunks = [
        r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"a","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"own","function":{"name":"b"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"","index":2,"function":{"name":"c"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        "[DONE]",
    ];
    let mut expected = chunks.map(str::to_owned);
    expected[1] = expected[1].replace(r#"{"index":0,"#, r#"{"id":"call_2","index":0,"#);
    expected[4] = expected[4].replace(r#""id":"""#, r#""id":"call_4""#);
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    let unchanged = expected.iter().map(|chunk| format!("data: {chunk}\n\n"));
    assert_eq!(stream(&chunks), unchanged.collect::<String>());
}

#[test]
fn calls_without_an_index_begin_with_their_name() {
    let chunk = r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{}"}},{"function":{"name":"b","arguments":"{}"}}]}}]}"#;
    let completed = stream(&[chunk]);
    assert!(completed.contains(r#"{"id":"call_2","function":{"name":"a""#));
    assert!(completed.contains(r#"{"id":"call_3","function":{"name":"b""#));
}

#[test]
fn complete_responses_and_other_dialects_are_not_touched() {
    let body = Bytes::from_static(
        br#"{"choices":[{"message":{"tool_calls":[{"id":"x","function":{"name":"a"}}]}}]}"#,
    );
    let same = |protocol, body: &Bytes| {
        let completed = ForwardedCalls::new(protocol, 0).complete_body(body.clone());
        completed.as_ptr() == body.as_ptr()
    };
    assert!(same(Protocol::Chat, &body));
    let without = Bytes::from_static(br#"{"choices":[{"message":{"tool_calls":[{}]}}]}"#);
    for protocol in [Protocol::Ollama, Protocol::Gemini] {
        assert!(same(protocol, &without), "{protocol:?}: ids are optional");
    }
    let broken = Bytes::from_static(br#"{"choices":[{"message":{"tool_calls":[{"#);
    assert!(same(Protocol::Chat, &broken), "not valid JSON");
}

#[test]
fn missing_ids_of_a_whole_message_are_synthesized() {
    let body = r#"{"type":"message","content":[{"type":"text","text":"tool_use"},
        {"type":"tool_use", "name":"a","input":{}}, {"id":"own","type":"tool_use","name":"b"},
        {"type":"tool_use","id":null,"name":"c"},{"type":"server_tool_use","name":"d"}]}"#;
    let expected = r#"{"type":"message","content":[{"type":"text","text":"tool_use"},
        {"id":"call_2","type":"tool_use", "name":"a","input":{}}, {"id":"own","type":"tool_use","name":"b"},
        {"type":"tool_use","id":"call_4","name":"c"},{"type":"server_tool_use","name":"d"}]}"#;
    let mut calls = ForwardedCalls::new(Protocol::Messages, 2);
    assert_eq!(calls.complete_body(body.into()), expected);
}

#[test]
fn missing_ids_of_a_stream_of_messages_are_synthesized_where_the_block_begins() {
    let frames = [
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"\",\"name\":\"a\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"name\":\"b\"}}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n",
    ];
    let mut calls = ForwardedCalls::new(Protocol::Messages, 2);
    let completed = frames.map(|frame| calls.complete_frames(frame.into()));
    assert_eq!(
        completed[0],
        frames[0].replace(r#""id":"""#, r#""id":"call_2""#)
    );
    assert_eq!(completed[1], frames[1]);
    assert_eq!(
        completed[2],
        frames[2].replace(
            r#"{"type":"tool_use","#,
            r#"{"id":"call_3","type":"tool_use","#
        )
    );
    assert_eq!(completed[3], frames[3]);
}

#[test]
fn an_item_of_a_responses_stream_has_the_same_synthesized_id_in_every_event() {
    let item = r#"{"type":"function_call","id":"fc_1","name":"a","arguments":"{}"}"#;
    let second = r#"{"type":"custom_tool_call","call_id":"","name":"b","input":""}"#;
    let events = [
        format!(r#"{{"type":"response.output_item.added","output_index":1,"item":{item}}}"#),
        format!(r#"{{"type":"response.output_item.added","item":{second},"output_index":2}}"#),
        format!(r#"{{"type":"response.output_item.done","output_index":1,"item":{item}}}"#),
        format!(
            r#"{{"type":"response.completed","response":{{"output":[{{"type":"message"}},{item},{second}]}}}}"#
        ),
    ];
    let with_id =
        r#"{"call_id":"call_5","type":"function_call","id":"fc_1","name":"a","arguments":"{}"}"#;
    let expected = |event: &str| {
        let event = event.replace(item, with_id);
        event.replace(r#""call_id":"""#, r#""call_id":"call_6""#)
    };
    let mut calls = ForwardedCalls::new(Protocol::Responses, 5);
    for event in &events {
        let frame = format!("event: x\ndata: {event}\n\n");
        let completed = calls.complete_frames(frame.into());
        let expected = format!("event: x\ndata: {}\n\n", expected(event));
        assert_eq!(completed, expected);
    }
}

#[test]
fn missing_ids_of_a_whole_response_of_the_responses_dialect_are_synthesized() {
    let body = r#"{"output":[{"type":"reasoning"},{"type":"function_call","name":"a"},{"type":"function_call","call_id":"own","name":"b"}]}"#;
    let mut calls = ForwardedCalls::new(Protocol::Responses, 0);
    let expected = body.replace(
        r#"{"type":"function_call","name""#,
        r#"{"call_id":"call_0","type":"function_call","name""#,
    );
    assert_eq!(calls.complete_body(body.into()), expected);
}

#[test]
fn an_item_before_a_whole_response_is_completed_too() {
    let call = r#"{"type":"function_call","name":"a"}"#;
    let event = format!(
        "data: {{\"item\":{call},\"output_index\":3,\"response\":{{\"output\":[{call}]}}}}\n\n"
    );
    let mut calls = ForwardedCalls::new(Protocol::Responses, 0);
    let completed = calls.complete_frames(event.into());
    let text = std::str::from_utf8(&completed).unwrap();
    assert_eq!(text.matches("\"call_id\":").count(), 2, "{text}");
}
