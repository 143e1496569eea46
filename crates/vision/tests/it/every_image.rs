//! "Every image block is removed": each form of an image in each container of each dialect.
//!
//! Each image carries a canary. After the proxy, no request for a text-only model of the same
//! dialect contains it, every image is in the list of changes, and a `proxy_vision` rule
//! matches every request in which the engine finds an image.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use majordomo::Request;
use majordomo_rules::Subject;
use majordomo_vision::{OMITTED, UNAVAILABLE};
use majordomo_wire::Protocol;
use serde_json::{Value, json};

use crate::support::{VisionFixture, changes, gif, written};

/// In every reference to an image.
pub(crate) const CANARY: &str = "CANARY";

pub(crate) fn data() -> String {
    STANDARD.encode(gif(7))
}

fn data_url(media_type: &str) -> String {
    format!("data:{media_type};base64,{}", data())
}

/// A form of an image, and whether a describer can see it.
pub(crate) struct Form {
    pub(crate) name: &'static str,
    pub(crate) block: Value,
    visible: bool,
}

fn form(name: &'static str, visible: bool, block: Value) -> Form {
    Form {
        name,
        block,
        visible,
    }
}

/// What wraps an image into messages.
pub(crate) struct Container {
    pub(crate) name: &'static str,
    pub(crate) wrap: fn(Value) -> Vec<Value>,
    /// System messages are instructions: images in them are not described.
    instructions: bool,
}

fn container(name: &'static str, wrap: fn(Value) -> Vec<Value>) -> Container {
    Container {
        name,
        wrap,
        instructions: name.starts_with("system"),
    }
}

/// A request with an image outside the content of messages.
struct Elsewhere {
    name: &'static str,
    body: fn(Value) -> Value,
}

fn elsewhere(name: &'static str, body: fn(Value) -> Value) -> Elsewhere {
    Elsewhere { name, body }
}

/// One dialect: its forms, its containers, and how messages become a body.
pub(crate) struct Grid {
    pub(crate) protocol: Protocol,
    pub(crate) forms: Vec<Form>,
    pub(crate) containers: Vec<Container>,
    pub(crate) body: fn(Vec<Value>) -> Value,
    /// Whole requests with an image outside the content of messages.
    elsewhere: Vec<Elsewhere>,
    /// A message of text, which makes earlier ones history.
    text: fn() -> Value,
}

fn remote() -> String {
    format!("https://pictures.example/{CANARY}.png")
}

fn undecodable() -> String {
    format!("data:image/png;base64,{CANARY}!")
}

fn chat() -> Grid {
    let image = |url: String| json!({"type": "image_url", "image_url": {"url": url}});
    let file = |data: String| json!({"type": "file", "file": {"file_data": data}});
    Grid {
        protocol: Protocol::Chat,
        forms: vec![
            form("image_url as data", true, image(data_url("image/gif"))),
            form("image_url", true, image(remote())),
            form("undecodable image_url", false, image(undecodable())),
            form("file of an image type", true, file(data_url("image/png"))),
            form(
                "file of no type",
                true,
                file(data_url("application/octet-stream")),
            ),
            form("undecodable file", false, file(undecodable())),
            form(
                "image_file",
                false,
                json!({"type": "image_file", "image_file": {"file_id": CANARY}}),
            ),
            form(
                "image_url as a text",
                true,
                json!({"type": "image_url", "image_url": remote()}),
            ),
            form(
                "image_url of no type",
                true,
                json!({"image_url": {"url": remote()}}),
            ),
            form("image of no type", false, json!({"image": remote()})),
            form(
                "image_embeds",
                false,
                json!({"type": "image_embeds", "image_embeds": CANARY}),
            ),
            form("bare file", false, file(data())),
            form(
                "file in capitals",
                false,
                file(undecodable().replace("data:image", "DATA:Image")),
            ),
            form(
                "file with a name",
                false,
                json!({"type": "file", "file": {"file_id": CANARY, "filename": "a.PNG"}}),
            ),
            form(
                "file by URL",
                false,
                json!({"type": "file", "file": {"file_id": remote()}}),
            ),
            form(
                "file with a format",
                false,
                json!({"type": "file", "file": {"file_id": CANARY, "format": "image/webp"}}),
            ),
        ],
        containers: vec![
            container("user", |image| {
                vec![json!({"role": "user", "content": [{"type": "text", "text": "see"}, image]})]
            }),
            container("assistant", |image| {
                vec![json!({"role": "assistant", "content": [image]})]
            }),
            container("system", |image| {
                vec![
                    json!({"role": "system", "content": [image]}),
                    json!({"role": "user", "content": "hi"}),
                ]
            }),
            container("tool", |image| {
                let call = json!({"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}});
                vec![
                    json!({"role": "assistant", "tool_calls": [call]}),
                    json!({"role": "tool", "tool_call_id": "c", "content": [image]}),
                ]
            }),
            container("unknown block", |image| {
                vec![json!({"role": "user", "content": [{"type": "new", "content": [[image]]}]})]
            }),
        ],
        body: |messages| json!({"model": "m", "messages": messages}),
        elsewhere: vec![
            elsewhere("a field of a message", |image| {
                let answer = json!({"role": "assistant", "content": "done", "images": [image]});
                json!({"model": "m", "messages": [answer, {"role": "user", "content": "hi"}]})
            }),
            elsewhere("a tool", |image| {
                let tool =
                    json!({"type": "function", "function": {"name": "look", "examples": [image]}});
                json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [tool]})
            }),
            elsewhere(
                "a field of the request",
                |image| json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "prediction": {"content": [image]}}),
            ),
        ],
        text: || json!({"role": "user", "content": "and now?"}),
    }
}

fn messages() -> Grid {
    let image = |source: Value| json!({"type": "image", "source": source});
    let document = |source: Value| json!({"type": "document", "source": source});
    let base64 = |data: String| json!({"type": "base64", "media_type": "image/gif", "data": data});
    Grid {
        protocol: Protocol::Messages,
        forms: vec![
            form("base64", true, image(base64(data()))),
            form("undecodable", false, image(base64(format!("{CANARY}!")))),
            form("url", true, image(json!({"type": "url", "url": remote()}))),
            form(
                "file",
                false,
                image(json!({"type": "file", "file_id": CANARY})),
            ),
            form("document of an image type", true, document(base64(data()))),
            form(
                "document of no type",
                true,
                document(json!({"type": "base64", "media_type": "", "data": data()})),
            ),
            form(
                "document by URL",
                false,
                document(json!({"type": "url", "url": remote()})),
            ),
            form(
                "image of no source",
                false,
                json!({"type": "image", "image": CANARY}),
            ),
            form(
                "document of blocks",
                true,
                document(json!({"type": "content", "content": [
                    {"type": "text", "text": "see"}, image(base64(data())),
                ]})),
            ),
        ],
        containers: vec![
            container("user", |image| {
                vec![json!({"role": "user", "content": [{"type": "text", "text": "see"}, image]})]
            }),
            container("assistant", |image| {
                vec![json!({"role": "assistant", "content": [image]})]
            }),
            container("system", |image| {
                vec![
                    json!({"role": "system", "content": [image]}),
                    json!({"role": "user", "content": "hi"}),
                ]
            }),
            container("tool_result", |image| {
                vec![
                    json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]}),
                    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [image]}]}),
                ]
            }),
            container("mcp_tool_result", |image| {
                vec![
                    json!({"role": "user", "content": [{"type": "mcp_tool_result", "tool_use_id": "t", "content": [image]}]}),
                ]
            }),
            container("unknown block", |image| {
                vec![json!({"role": "user", "content": [{"type": "new", "x": {"y": [[image]]}}]})]
            }),
        ],
        body: |messages| json!({"model": "m", "max_tokens": 9, "messages": messages}),
        elsewhere: vec![
            elsewhere("system", |image| {
                json!({"model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "be brief"}, image],
                    "messages": [{"role": "user", "content": "hi"}]})
            }),
            elsewhere("a tool", |image| {
                json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}],
                    "tools": [{"name": "look", "input_schema": {"type": "object"}, "input_examples": [image]}]})
            }),
            elsewhere("a field of a message", |image| {
                json!({"model": "m", "max_tokens": 9,
                    "messages": [{"role": "user", "content": "hi", "attachments": [image]}]})
            }),
        ],
        text: || json!({"role": "user", "content": "and now?"}),
    }
}

fn responses() -> Grid {
    let image = |field: &str, value: String| json!({"type": "input_image", field: value});
    let file = |field: &str, value: String| json!({"type": "input_file", field: value});
    let output =
        |output: Value| json!({"type": "computer_call_output", "call_id": "c", "output": output});
    let screenshot =
        |field: &str, value: String| json!({"type": "computer_screenshot", field: value});
    Grid {
        protocol: Protocol::Responses,
        forms: vec![
            form(
                "image_url as data",
                true,
                image("image_url", data_url("image/gif")),
            ),
            form("image_url", true, image("image_url", remote())),
            form("file_id", false, image("file_id", CANARY.to_owned())),
            form(
                "file of an image type",
                true,
                file("file_data", data_url("image/png")),
            ),
            form("undecodable file", false, file("file_data", undecodable())),
            form("file_url", false, file("file_url", remote())),
            form("bare file", false, file("file_data", data())),
            form(
                "file with a name",
                false,
                json!({"type": "input_file", "file_id": CANARY, "filename": "a.jpeg"}),
            ),
            form("image_url of no type", true, json!({"image_url": remote()})),
            form(
                "output_image",
                false,
                json!({"type": "output_image", "image": CANARY}),
            ),
            form(
                "screenshot",
                true,
                output(screenshot("image_url", data_url("image/png"))),
            ),
            form(
                "screenshot by file_id",
                false,
                output(screenshot("file_id", CANARY.to_owned())),
            ),
            form(
                "generated",
                false,
                json!({"type": "image_generation_call", "id": "i", "result": CANARY}),
            ),
        ],
        containers: vec![
            container("user", |image| {
                vec![
                    json!({"role": "user", "content": [{"type": "input_text", "text": "see"}, image]}),
                ]
            }),
            container("assistant", |image| {
                vec![json!({"type": "message", "role": "assistant", "content": [image]})]
            }),
            container("system", |image| {
                vec![
                    json!({"role": "developer", "content": [image]}),
                    json!({"role": "user", "content": "hi"}),
                ]
            }),
            container("function_call_output", |image| {
                vec![
                    json!({"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}),
                    json!({"type": "function_call_output", "call_id": "c", "output": [image]}),
                ]
            }),
            container("custom_tool_call_output", |image| {
                vec![json!({"type": "custom_tool_call_output", "call_id": "c", "output": [image]})]
            }),
            container("item", |image| vec![image]),
        ],
        body: |items| json!({"model": "m", "input": items}),
        elsewhere: vec![elsewhere(
            "a field of the request",
            |image| json!({"model": "m", "input": "hi", "prompt": {"id": "p", "variables": {"picture": image}}}),
        )],
        text: || json!({"role": "user", "content": "and now?"}),
    }
}

fn gemini() -> Grid {
    let inline = |mime: &str| json!({"inlineData": {"mimeType": mime, "data": data()}});
    let file = |uri: String, mime: Option<&str>| match mime {
        Some(mime) => json!({"fileData": {"mimeType": mime, "fileUri": uri}}),
        None => json!({"fileData": {"fileUri": uri}}),
    };
    let stored = || format!("https://generativelanguage.googleapis.com/v1beta/files/{CANARY}");
    Grid {
        protocol: Protocol::Gemini,
        forms: vec![
            form("inlineData", true, inline("image/gif")),
            form("inlineData in capitals", true, inline("Image/GIF")),
            form(
                "inlineData of no type",
                true,
                inline("application/octet-stream"),
            ),
            form(
                "inline_data",
                true,
                json!({"inline_data": {"mime_type": "image/gif", "data": data()}}),
            ),
            form(
                "undecodable",
                false,
                json!({"inlineData": {"mimeType": "image/gif", "data": format!("{CANARY}!")}}),
            ),
            form("public fileData", true, file(remote(), Some("image/png"))),
            form("fileData by extension", true, file(remote(), None)),
            form(
                "fileData of a generic type",
                true,
                file(remote(), Some("application/octet-stream")),
            ),
            form(
                "stored fileData of a generic type",
                false,
                file(stored() + ".png", Some("Application/Octet-Stream")),
            ),
            form("stored fileData", false, file(stored(), Some("image/png"))),
            form(
                "gs fileData",
                false,
                file(format!("gs://b/{CANARY}"), Some("image/webp")),
            ),
            form(
                "gs fileData by extension",
                false,
                file(format!("gs://b/{CANARY}.png"), None),
            ),
            form(
                "file_data",
                false,
                json!({"file_data": {"mime_type": "image/png", "file_uri": stored()}}),
            ),
        ],
        containers: vec![
            container("user", |image| {
                vec![json!({"role": "user", "parts": [{"text": "see"}, image]})]
            }),
            container("model", |image| {
                vec![json!({"role": "model", "parts": [image]})]
            }),
            container("functionResponse", |image| {
                vec![
                    json!({"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]}),
                    json!({"role": "user", "parts": [{"functionResponse": {
                        "name": "look", "response": {"output": "taken"}, "parts": [image],
                    }}]}),
                ]
            }),
            container("unknown part", |image| {
                vec![json!({"role": "user", "parts": [{"newThing": {"parts": [image]}}]})]
            }),
        ],
        body: |contents| json!({"contents": contents}),
        elsewhere: vec![elsewhere("systemInstruction", |image| {
            json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}],
                "systemInstruction": {"parts": [{"text": "be brief"}, image]}})
        })],
        text: || json!({"role": "user", "parts": [{"text": "and now?"}]}),
    }
}

fn ollama() -> Grid {
    let unknown = STANDARD.encode(format!("{CANARY}{CANARY}"));
    Grid {
        protocol: Protocol::Ollama,
        forms: vec![
            form("base64", true, json!(data())),
            form("unknown format", false, json!(unknown)),
        ],
        containers: vec![
            container("user", |image| {
                vec![json!({"role": "user", "content": "see", "images": [image]})]
            }),
            container("assistant", |image| {
                vec![json!({"role": "assistant", "content": "see", "images": [image]})]
            }),
            container("system", |image| {
                vec![
                    json!({"role": "system", "content": "see", "images": [image]}),
                    json!({"role": "user", "content": "hi"}),
                ]
            }),
            container("tool", |image| {
                vec![
                    json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look", "arguments": {}}}]}),
                    json!({"role": "tool", "tool_name": "look", "content": "taken", "images": [image]}),
                ]
            }),
        ],
        body: |messages| json!({"model": "m", "messages": messages}),
        elsewhere: vec![],
        text: || json!({"role": "user", "content": "and now?"}),
    }
}

/// One request of the product, with the expected result.
struct Case {
    name: String,
    protocol: Protocol,
    request: Request,
    visible: bool,
    history: bool,
}

/// One grid per dialect.
pub(crate) fn grids() -> [Grid; 5] {
    [chat(), messages(), responses(), gemini(), ollama()]
}

/// Every form in every container, in the last message and in an earlier one.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for grid in grids() {
        for form in &grid.forms {
            for Elsewhere { name, body } in &grid.elsewhere {
                let body = body(form.block.clone()).to_string();
                let incoming = grid.protocol.codec().read_request(Bytes::from(body));
                cases.push(Case {
                    name: format!("{:?}: {} in {name}", grid.protocol, form.name),
                    protocol: grid.protocol,
                    request: incoming.expect("a client's request").request,
                    visible: false,
                    history: true,
                });
            }
            for container in &grid.containers {
                for history in [false, true] {
                    let mut wrapped = (container.wrap)(form.block.clone());
                    if history {
                        wrapped.push((grid.text)());
                    }
                    let body = (grid.body)(wrapped).to_string();
                    let incoming = grid.protocol.codec().read_request(Bytes::from(body));
                    cases.push(Case {
                        name: format!(
                            "{:?}: {} in {}{}",
                            grid.protocol,
                            form.name,
                            container.name,
                            if history { ", earlier" } else { "" }
                        ),
                        protocol: grid.protocol,
                        request: incoming.expect("a client's request").request,
                        visible: form.visible && !container.instructions,
                        // An instruction precedes the question, just as history does.
                        history: history || container.instructions,
                    });
                }
            }
        }
    }
    cases
}

#[test]
fn a_rule_matches_whenever_the_engine_finds_an_image() {
    let cases = cases().into_iter();
    let missed = cases.filter(|case| Subject::new(&case.request, "m").images() != 1);
    assert_eq!(missed.map(|case| case.name).collect::<Vec<_>>(), [""; 0]);
}

/// The faults of the request after the proxy.
async fn mistakes(case: &Case) -> Vec<String> {
    let described = VisionFixture::new().describe(case.request.clone()).await;
    let body = written(case.protocol, &described.request);
    let (text, verb) = match (case.history, case.visible) {
        (true, _) => (OMITTED, "image:1 omitted"),
        (false, true) => ("[image: picture ", "image:1 described"),
        (false, false) => (UNAVAILABLE, "image:1 undescribed"),
    };
    let mut mistakes = Vec::new();
    if described.request.prompt().image_count() > 0 {
        mistakes.push("an image is left".to_owned());
    }
    for trace in [CANARY, &*data(), &*STANDARD.encode(CANARY)] {
        if body.contains(trace) {
            mistakes.push(format!("{trace} is left"));
        }
    }
    if !body.contains(text) {
        mistakes.push(format!("{text} is not written"));
    }
    let listed = changes(&described);
    if listed != [verb] {
        mistakes.push(format!("the changes are {listed:?}, not {verb}"));
    }
    if !mistakes.is_empty() {
        mistakes.push(format!("{}: {body}", case.name));
    }
    mistakes
}

#[tokio::test]
async fn every_image_block_is_removed() {
    let cases = cases();
    assert!(cases.len() > 250, "only {} cases", cases.len());
    let mut all = Vec::new();
    for case in &cases {
        all.extend(mistakes(case).await);
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// The forms that an audit found to reach a text-only model.
#[tokio::test]
async fn every_image_block_is_removed_that_once_slipped_past() {
    let rows = [
        (Protocol::Messages, "file in user"),
        (Protocol::Messages, "document of blocks in user"),
        (Protocol::Responses, "file_id in user"),
        (Protocol::Responses, "screenshot in item"),
        (Protocol::Gemini, "stored fileData in user"),
        (Protocol::Chat, "file of an image type in user"),
    ];
    let cases = cases();
    for (protocol, name) in rows {
        let name = format!("{protocol:?}: {name}");
        let case = cases.iter().find(|case| case.name == name);
        let case = case.unwrap_or_else(|| panic!("no case {name}"));
        assert!(Subject::new(&case.request, "m").images() > 0, "{name}");
        let described = VisionFixture::new().describe(case.request.clone()).await;
        assert_eq!(described.request.prompt().image_count(), 0, "{name}");
        assert!(!described.changes.is_empty(), "{name}");
    }
}
