//! Round trips, and conversion to a dialect without items.

use bytes::BytesMut;
use majordomo_llm::{
    Effort, FinishReason, Message, Part, Prompt, Reasoning, Request, Role, Tool, ToolCall,
    ToolChoice, ToolResult, Usage,
};

use super::*;
use crate::Protocol;

fn call(id: &str, arguments: &str) -> Part {
    Part::ToolCall(ToolCall::new(id, "look", arguments))
}

fn result(id: &str, parts: Vec<Part>) -> Part {
    Part::ToolResult(ToolResult {
        call_id: id.into(),
        name: None,
        parts,
        is_error: false,
        native: None,
    })
}

fn conversations() -> Vec<Vec<Message>> {
    let image = || Part::image("image/png", vec![1, 2, 3]);
    let message = Message::new;
    let state = Part::Reasoning(Reasoning {
        text: String::new(),
        native: Native::new(RESPONSES)
            .with("id", Json::string("rs_1"))
            .with("summary", Json::parse("[]").unwrap())
            .with("encrypted_content", Json::string("XYZ"))
            .into_option(),
    });
    vec![
        vec![],
        vec![Message::user("hi")],
        vec![message(Role::User, vec![])],
        vec![Message::user("\u{0}\n\"\\ é 漢 🦀 \u{2028}")],
        vec![
            Message::user("a"),
            Message::assistant("b"),
            Message::user("c"),
        ],
        vec![
            Message::system("a"),
            Message::user("b"),
            Message::system("c"),
        ],
        vec![message(
            Role::User,
            vec![Part::text("a"), image(), Part::text("b")],
        )],
        vec![message(
            Role::User,
            vec![Part::RemoteImage(majordomo_llm::RemoteImage {
                url: "https://x.example/a.png".into(),
                native: None,
            })],
        )],
        vec![message(
            Role::Assistant,
            vec![Part::text("a"), Part::text("b")],
        )],
        vec![
            Message::user("look"),
            Message::assistant(state),
            Message::assistant(call("a", "{\"x\": 1}")),
            Message::assistant(call("b", "broken {")),
            message(
                Role::Tool,
                vec![result("a", vec![Part::text("1"), image()])],
            ),
            message(Role::Tool, vec![result("b", vec![])]),
            Message::assistant("done"),
        ],
    ]
}

#[test]
fn requests_round_trip() {
    for messages in conversations() {
        let request = Request::from(messages);
        let (body, losses) = write(&request);
        assert!(losses.is_empty(), "{losses:?}");
        let again = read(&body);
        assert_eq!(
            again.request.prompt().messages,
            request.prompt().messages,
            "{body}"
        );
    }
}

#[test]
fn settings_round_trip() {
    let schema = Json::parse(r#"{"type": "object"}"#).unwrap();
    let plain = || Request::user("hi");
    let with_tool = || plain().tool(Tool::new("t").parameters(schema.clone()));
    let mut rows = vec![
        plain()
            .system("be terse")
            .max_tokens(5)
            .temperature(0.25)
            .top_p(1.0),
        plain().schema(schema.clone(), "n"),
        plain().tool(Tool::new("t").description("d")),
    ];
    for choice in [
        ToolChoice::Auto,
        ToolChoice::None,
        ToolChoice::Required,
        ToolChoice::Named("t".into()),
    ] {
        rows.push(with_tool().tool_choice(choice));
    }
    for effort in [
        Effort::None,
        Effort::Minimal,
        Effort::Low,
        Effort::Medium,
        Effort::High,
        Effort::XHigh,
        Effort::Max,
    ] {
        rows.push(plain().effort(effort));
    }
    let mut other = plain();
    other.edit().output = majordomo_llm::OutputFormat::Json;
    other.edit().parallel_tool_calls = Some(false);
    other.edit().cache_key = Some("k".into());
    other.edit().user = Some("u".into());
    rows.push(other);
    for request in rows {
        let (body, losses) = write(&request);
        assert!(losses.is_empty(), "{losses:?}");
        assert_eq!(
            Prompt::clone(read(&body).request.prompt()),
            *request.prompt(),
            "{body}"
        );
    }
}

#[test]
fn responses_and_streams_round_trip() {
    let usage = Usage::new(5, 3)
        .with_cache_read(2)
        .with_cache_write(1)
        .with_reasoning(1);
    let rows = [
        (vec![Part::text("a")], FinishReason::Stop),
        (vec![Part::text("é 🦀")], FinishReason::Length),
        (vec![Part::text("a")], FinishReason::ContentFilter),
        (vec![Part::text("a")], FinishReason::Other("odd".into())),
        (
            vec![Part::Refusal(majordomo_llm::Text::new("no"))],
            FinishReason::Refusal,
        ),
        (
            vec![Part::text("a"), call("c1", "{\"x\":1}"), call("c2", "{}")],
            FinishReason::ToolCalls,
        ),
        (vec![], FinishReason::Stop),
    ];
    for (parts, finish) in rows {
        let response = Response::new(parts).with_finish(finish).with_usage(usage);
        let written = Responses.write_response(&response, &reply());
        assert!(written.losses.is_empty());
        let again = Responses.read_response(written.body, 0).unwrap();
        same(&again, &response);

        let mut writer = Responses.stream_writer(&reply());
        let mut out = BytesMut::new();
        for part in &response.parts {
            writer.write(&Event::Part(part.clone()), &mut out);
        }
        writer.write(&Event::Usage(usage), &mut out);
        writer.write(&Event::Finish(response.finish.clone()), &mut out);
        assert!(writer.losses().is_empty());
        let mut reader = Responses.stream_reader();
        let mut emitted = Vec::new();
        reader.push(&out, &mut emitted).unwrap();
        reader.finish(&mut emitted).unwrap();
        same(&assemble(&emitted), &response);
    }
}

/// Asserts equality except for item ids.
fn same(again: &Response, first: &Response) {
    let bare = |parts: &[Part]| -> Vec<Part> {
        let strip = |mut part: Part| {
            match &mut part {
                Part::Text(p) | Part::Refusal(p) => p.native = None,
                Part::ToolCall(p) => p.native = None,
                _ => {}
            }
            part
        };
        parts.iter().cloned().map(strip).collect()
    };
    assert_eq!(bare(&again.parts), bare(&first.parts));
    assert_eq!(again.finish, first.finish);
    assert_eq!(again.usage, first.usage);
}

#[test]
fn output_items_merge_into_one_message_in_dialects_without_items() {
    let incoming = read(
        r#"{"model":"x","instructions":"be terse","store":false,"input":[
            {"role":"user","content":"hi"},
            {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"XYZ"},
            {"type":"message","role":"assistant","content":"let me see","id":"msg_1","phase":"commentary"},
            {"type":"function_call","id":"fc_1","call_id":"a","name":"t","arguments":"{}"},
            {"type":"function_call","id":"fc_2","call_id":"b","name":"t","arguments":"{}"},
            {"type":"function_call_output","call_id":"a","output":"1"},
            {"type":"function_call_output","call_id":"b","output":"2"},
            {"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"XYZ"},
            {"type":"custom_tool_call","call_id":"c","name":"p","input":"x"},
            {"type":"custom_tool_call_output","call_id":"c","output":"y"},
            {"role":"user","content":"go on"}]}"#,
    );
    let written = Protocol::Chat
        .codec()
        .write_request(&incoming.request, &Outgoing::new("m"));
    assert_eq!(
        written.body,
        concat!(
            r#"{"model":"m","messages":[{"role":"system","content":"be terse"},{"role":"user","content":"hi"},"#,
            r#"{"role":"assistant","content":"let me see","tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"t","arguments":"{}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"2"},"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"p","arguments":"{\"input\":\"x\"}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"c","content":"y"},"#,
            r#"{"role":"user","content":"go on"}]}"#
        )
    );
    let mut losses: Vec<_> = written.losses.iter().map(|loss| &*loss.field).collect();
    losses.sort_unstable();
    assert_eq!(losses, ["encrypted_content", "phase", "reasoning"]);
}
