//! For random conversations, no image remains in any dialect, and nothing else changes.

use majordomo::llm::{File, RemoteImage};
use majordomo::{Message, Part, Request, Role, ToolCall, ToolResult};
use majordomo_vision::{History, Latest, Vision, VisionConfig};
use majordomo_wire::Protocol;
use proptest::prelude::*;

use crate::support::{VisionFixture, gif, image, through, written};

/// A part before its text is numbered.
#[derive(Clone, Debug)]
enum TestPart {
    Text(String),
    Image(u8),
    Remote(u8),
    File(u8),
    Tool(Vec<TestPart>),
}

fn piece() -> impl Strategy<Value = TestPart> {
    let leaf = prop_oneof![
        3 => "[a-zé\"\\\\<\\]\\[ ]{0,12}".prop_map(TestPart::Text),
        3 => any::<u8>().prop_map(TestPart::Image),
        1 => any::<u8>().prop_map(TestPart::Remote),
        1 => any::<u8>().prop_map(TestPart::File),
    ];
    prop_oneof![
        5 => leaf.clone(),
        1 => prop::collection::vec(leaf, 1..4).prop_map(TestPart::Tool),
    ]
}

fn conversation() -> impl Strategy<Value = Vec<Vec<TestPart>>> {
    prop::collection::vec(prop::collection::vec(piece(), 1..5), 1..6)
}

/// Numbers every text, so that it can be found again.
fn build(turns: &[Vec<TestPart>]) -> Request {
    let (mut messages, mut number, mut calls) = (Vec::new(), 0, 0);
    for (turn, pieces) in turns.iter().enumerate() {
        let mut said = Vec::new();
        for piece in pieces {
            match piece {
                TestPart::Tool(inside) => {
                    let call = ToolCall::new(format!("id_{calls}"), "look", "{}");
                    calls += 1;
                    let mut result = ToolResult::new(&call, numbered("tool", &mut number));
                    result
                        .parts
                        .extend(inside.iter().map(|p| part(p, &mut number)));
                    messages.push(Message::assistant(Part::ToolCall(call)));
                    messages.push(Message::tool_results_message([result]));
                }
                piece => said.push(part(piece, &mut number)),
            }
        }
        if !said.is_empty() {
            messages.push(Message::new(Role::User, said));
        }
        if turn + 1 < turns.len() {
            messages.push(Message::assistant(numbered("answer", &mut number)));
        }
    }
    Request::from(messages)
}

fn numbered(text: &str, number: &mut usize) -> String {
    *number += 1;
    format!("t{number}. {text} .t{number}")
}

fn part(piece: &TestPart, number: &mut usize) -> Part {
    match piece {
        TestPart::Text(text) => Part::text(numbered(text, number)),
        TestPart::Image(n) => image(*n),
        TestPart::Remote(n) => Part::RemoteImage(RemoteImage {
            url: format!("https://pictures.example/{n}.png"),
            native: None,
        }),
        TestPart::File(n) => Part::File(File {
            media_type: "image/gif".into(),
            data: gif(*n),
            name: None,
            native: None,
        }),
        TestPart::Tool(_) => unreachable!("tool results contain leaves only"),
    }
}

/// The numbered texts, in the order in which they are written.
fn ours(body: &str) -> Vec<String> {
    let value: serde_json::Value = serde_json::from_str(body).expect("valid JSON");
    let mut strings = String::new();
    collect(&value, &mut strings);
    let (mut found, mut rest) = (Vec::new(), strings.as_str());
    while let Some(at) = rest.find(". ").filter(|_| rest.contains('t')) {
        let start = rest[..at].rfind('t').unwrap_or(at);
        let mark = format!(".{}", &rest[start..at]);
        match rest[at..].find(&mark) {
            Some(end) if start < at => {
                found.push(rest[start..at + end + mark.len()].to_owned());
                rest = &rest[at + end + mark.len()..];
            }
            _ => rest = &rest[at + 2..],
        }
    }
    found
}

fn collect(value: &serde_json::Value, all: &mut String) {
    match value {
        serde_json::Value::String(text) => {
            all.push_str(text);
            all.push('\n');
        }
        serde_json::Value::Array(values) => values.iter().for_each(|v| collect(v, all)),
        serde_json::Value::Object(fields) => fields.values().for_each(|v| collect(v, all)),
        _ => {}
    }
}

/// Whether only images changed, each into a text.
fn only_images_changed(before: &[Part], after: &[Part]) -> bool {
    before.len() == after.len()
        && before.iter().zip(after).all(|pair| match pair {
            (Part::ToolResult(a), Part::ToolResult(b)) => {
                only_images_changed(&a.parts, &b.parts) && a.call_id == b.call_id
            }
            (Part::Image(_) | Part::RemoteImage(_) | Part::File(_), Part::Text(text)) => {
                text.text.starts_with("[image: ")
            }
            (a, b) => a == b,
        })
}

const SIGNS: &[&str] = &[
    "R0lGODlhAQAB",
    "pictures.example",
    "image_url",
    "input_image",
    "inlineData",
    "fileData",
    "input_file",
    "\"images\"",
    "\"image\"",
    "image/gif",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_image_is_left_in_any_dialect_and_everything_else_is_unchanged(
        turns in conversation(),
        turn in any::<bool>(),
        cached in any::<bool>(),
    ) {
        let config = VisionConfig::default().with_latest(if turn { Latest::Turn } else { Latest::Message }).with_history(if cached { History::Cached } else { History::Omit });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.expect("a runtime");
        let fixture = VisionFixture::with(config);
        let request = build(&turns);

        let described = runtime.block_on(fixture.describe(request.clone())).request;
        let pairs = request.prompt().messages.iter().zip(&described.prompt().messages);
        for (before, after) in pairs {
            prop_assert_eq!(before.role, after.role);
            prop_assert!(only_images_changed(&before.parts, &after.parts));
        }
        prop_assert_eq!(request.prompt().messages.len(), described.prompt().messages.len());

        for protocol in Protocol::ALL {
            let body = written(protocol, &described);
            for sign in SIGNS {
                prop_assert!(!body.contains(sign), "{sign} in {body}");
            }
            // The same conversation as sent by a client of this dialect.
            let sent = through(protocol, &request);
            let before = written(protocol, &sent);
            let changed = runtime.block_on(fixture.describe(sent)).request;
            prop_assert!(!Vision::has_images(changed.prompt()));
            let after = written(protocol, &changed);
            for sign in SIGNS {
                prop_assert!(!after.contains(sign), "{sign} in {after}");
            }
            prop_assert_eq!(ours(&before), ours(&after), "{:?}", protocol);
        }
    }
}
