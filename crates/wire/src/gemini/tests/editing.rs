use majordomo_llm::{Effort, Message, Part, ToolCall, ToolChoice, ToolResult};

use super::*;

const SOURCE: &str = r#"{ "contents" : [
    {"role":"user","parts":[{"text":"one","x":1}, {"text": "two"}],"turn":1},
    {"parts":[{"functionCall":{"name":"t","args":{"a": 1.0}},"thought_signature":"c2ln"}],"role":"model"},
    {"role":"user","parts":[{"functionResponse":{"name":"t","response":{"result": 1}}}]}],
  "system_instruction":{"parts":[{"text":"be terse"}],"role":"user"},
  "safety_settings":[], "generation_config":{"top_k":4.0, "odd":[1], "max_output_tokens": 5},
  "tools":{"function_declarations":[{"name":"t","parameters":{"type":"OBJECT"}}]} }"#;

/// Returns the source with one substring replaced.
fn source_with(old: &str, new: &str) -> String {
    assert_eq!(SOURCE.matches(old).count(), 1, "{old}");
    SOURCE.replace(old, new)
}

fn edited(edit: impl FnOnce(&mut majordomo_llm::Prompt)) -> String {
    let mut request = read(SOURCE).request;
    edit(request.edit());
    let (body, losses) = write(&request);
    assert!(losses.is_empty(), "{losses:?}");
    body
}

#[test]
fn an_unchanged_request_keeps_its_bytes() {
    let request = read(SOURCE).request;
    assert_eq!(write(&request).0, SOURCE);
    assert_eq!(edited(|prompt| prompt.seed = None), SOURCE);
    let written = Gemini.write_request(&request, &Outgoing::new("m"));
    let source = request.source().unwrap().bytes();
    assert_eq!(written.body.as_ptr(), source.as_ptr(), "nothing is copied");
}

#[test]
fn a_model_in_the_body_is_replaced_by_the_targets() {
    let incoming = read(r#"{"model" : "models/x","contents":[{"role":"model","parts":[]}]}"#);
    assert_eq!(incoming.model.as_deref(), Some("x"));
    assert_eq!(
        write_to(&incoming.request, "y").0,
        r#"{"model" : "models/y","contents":[{"role":"model","parts":[]}]}"#
    );
    let mut edited = incoming.request;
    edited.edit().seed = Some(1);
    assert_eq!(
        write_to(&edited, "y").0,
        r#"{"model" : "models/y","contents":[{"role":"model","parts":[]}],"generationConfig":{"seed":1}}"#
    );
}

#[test]
fn an_edit_changes_only_the_edited_part() {
    let text = edited(|prompt| prompt.messages[0].parts[1] = Part::text("2"));
    assert_eq!(
        text,
        source_with(
            r#"{"text":"one","x":1}, {"text": "two"}"#,
            r#"{"text":"one","x":1},{"text":"2"}"#
        )
        .replace("\n    {\"parts\"", "{\"parts\"")
        .replace(
            "\n    {\"role\":\"user\",\"parts\":[{\"functionR",
            "{\"role\":\"user\",\"parts\":[{\"functionR"
        )
        .replace("[\n    {\"role\"", "[{\"role\"")
    );
}

#[test]
fn an_edited_setting_keeps_its_spelling_and_all_other_fields() {
    assert_eq!(
        edited(|prompt| prompt.max_tokens = Some(9)),
        source_with("\"max_output_tokens\": 5", "\"max_output_tokens\": 9")
    );
    assert_eq!(
        edited(|prompt| prompt.top_k = None),
        source_with("\"top_k\":4.0, \"odd\"", " \"odd\"")
    );
    assert_eq!(
        edited(|prompt| prompt.effort = Some(Effort::Low)),
        source_with("5}", r#"5,"thinkingConfig":{"thinkingLevel":"LOW"}}"#)
    );
    assert_eq!(
        edited(|prompt| prompt.system[0].text = "x".into()),
        source_with(
            r#"{"parts":[{"text":"be terse"}],"role":"user"}"#,
            r#"{"parts":[{"text":"x"}]}"#
        )
    );
    assert_eq!(
        edited(|prompt| prompt.tool_choice = ToolChoice::None),
        source_with(
            "]} }",
            r#"]},"toolConfig":{"functionCallingConfig":{"mode":"NONE"}} }"#
        )
    );
}

#[test]
fn a_generated_call_id_is_written_on_neither_call_nor_result() {
    let body = edited(|prompt| {
        let Part::ToolCall(call) = &mut prompt.messages[1].parts[0] else {
            panic!("not a tool call");
        };
        assert_eq!(call.id, "call_0");
        call.arguments = "{}".into();
    });
    assert!(
        body.contains(r#"{"functionCall":{"name":"t","args":{}},"thoughtSignature":"c2ln"}"#),
        "{body}"
    );
    let body = edited(|prompt| {
        let call = ToolCall::new("call_0", "t", "");
        prompt.messages[2] = Message::tool_results_message([ToolResult::new(&call, "x")]);
    });
    assert!(
        body.contains(r#"{"functionResponse":{"name":"t","response":{"output":"x"}}}"#),
        "{body}"
    );
}

#[test]
fn added_and_removed_messages_leave_the_others_unchanged() {
    let body = edited(|prompt| {
        prompt.messages.remove(0);
        let call = ToolCall::new("new", "t", "{}");
        prompt
            .messages
            .push(Message::assistant(Part::ToolCall(call.clone())));
        prompt
            .messages
            .push(Message::tool_results_message([ToolResult::new(&call, "x")]));
    });
    assert!(
        body.contains(concat!(
            r#"[{"parts":[{"functionCall":{"name":"t","args":{"a": 1.0}},"thought_signature":"c2ln"}],"role":"model"},"#,
            r#"{"role":"user","parts":[{"functionResponse":{"name":"t","response":{"result": 1}}}]},"#,
            r#"{"role":"model","parts":[{"functionCall":{"id":"new","name":"t","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},"#,
            r#"{"role":"user","parts":[{"functionResponse":{"id":"new","name":"t","response":{"output":"x"}}}]}]"#
        )),
        "{body}"
    );
}

#[test]
fn a_leading_system_message_joins_the_system_instruction() {
    let body = edited(|prompt| prompt.messages.insert(0, Message::system("more")));
    assert_eq!(
        body,
        source_with(
            r#"{"parts":[{"text":"be terse"}],"role":"user"}"#,
            r#"{"parts":[{"text":"be terse"},{"text":"more"}]}"#
        )
    );
}

#[test]
fn a_single_content_without_an_array_can_be_edited() {
    let mut request = read(r#"{"contents":{"parts":{"text":"a"}}}"#).request;
    request.edit().messages[0].parts.push(Part::text("b"));
    assert_eq!(
        write(&request).0,
        r#"{"contents":[{"parts":[{"text":"a"},{"text":"b"}]}]}"#
    );
}
