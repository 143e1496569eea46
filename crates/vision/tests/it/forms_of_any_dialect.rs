//! "Every image block is removed", also in a form that another dialect, another SDK or a
//! mistaken client uses.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use majordomo_rules::Subject;
use majordomo_wire::Protocol;
use serde_json::{Value, json};

use crate::every_image::{CANARY, data, grids};
use crate::support::{VisionFixture, changes, written};

/// Forms that no dialect documents, by name.
fn foreign_forms() -> Vec<(String, Value)> {
    let data = data();
    let url = format!("data:image/gif;base64,{data}");
    let remote = format!("https://pictures.example/{CANARY}");
    let mut forms = vec![
        ("source as a text", json!({"type": "image", "source": url})),
        (
            "data without a source",
            json!({"type": "image", "data": data}),
        ),
        (
            "LangChain's media",
            json!({"type": "media", "mime_type": "image/gif", "data": data}),
        ),
        (
            "a file of the AI SDK",
            json!({"type": "file", "mediaType": "image/gif", "data": data}),
        ),
        (
            "a file of the AI SDK by URL",
            json!({"type": "file", "mediaType": "image/gif", "url": remote}),
        ),
        (
            "a resource of MCP",
            json!({"type": "resource", "resource": {"uri": remote, "mimeType": "image/gif", "blob": data}}),
        ),
        (
            "Mistral's document",
            json!({"type": "document_url", "document_url": format!("{remote}.png")}),
        ),
        (
            "Mistral's document as data",
            json!({"type": "document_url", "document_url": url}),
        ),
        (
            "a stored document by its title",
            json!({"type": "document", "title": "a.png", "source": {"type": "file", "file_id": CANARY}}),
        ),
        (
            "an image that is declared as a document",
            json!({"type": "file", "file": {"file_data": format!("data:application/pdf;base64,{data}")}}),
        ),
        (
            "a document that is an image",
            json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}}),
        ),
        (
            "a part that is an image",
            json!({"inlineData": {"mimeType": "text/plain", "data": data}}),
        ),
    ];
    for extension in ["avif", "bmp", "heic", "JPG", "jfif", "svg", "tiff", "webp"] {
        let file = json!({"file_id": CANARY, "filename": format!("a.{extension}")});
        forms.push((extension, json!({"type": "file", "file": file})));
    }
    forms
        .into_iter()
        .map(|(name, form)| (name.to_owned(), form))
        .collect()
}

/// The forms of all dialects, and those of none.
fn forms() -> Vec<(String, Value)> {
    let grids = grids().into_iter();
    let known = grids.filter(|grid| grid.protocol != Protocol::Ollama);
    let known = known.flat_map(|grid| {
        let protocol = grid.protocol;
        let named = move |form: crate::every_image::Form| {
            (format!("{protocol:?}'s {}", form.name), form.block)
        };
        grid.forms.into_iter().map(named)
    });
    known.chain(foreign_forms()).collect()
}

#[tokio::test]
async fn every_image_block_is_removed_in_the_forms_of_any_dialect() {
    let (mut checked, mut wrong) = (0, Vec::new());
    for grid in grids()
        .into_iter()
        .filter(|grid| grid.protocol != Protocol::Ollama)
    {
        for (form, block) in forms() {
            for container in &grid.containers {
                let body = (grid.body)((container.wrap)(block.clone())).to_string();
                let incoming = grid.protocol.codec().read_request(Bytes::from(body));
                let request = incoming.expect("a client's request").request;
                let found = Subject::new(&request, "m").images();
                let described = VisionFixture::new().describe(request).await;
                let sent = written(grid.protocol, &described.request);
                let traces = [CANARY, &*data(), &*STANDARD.encode(CANARY)];
                let left = traces.iter().any(|trace| sent.contains(trace));
                checked += 1;
                if left || found == 0 || changes(&described).is_empty() {
                    let place = (grid.protocol, container.name);
                    wrong.push(format!("{form} in {place:?}: {found} found, left: {left}"));
                }
            }
        }
    }
    assert!(checked > 1000, "only {checked} requests");
    assert_eq!(wrong, [""; 0], "of {checked}");
}

#[tokio::test]
async fn images_of_a_whole_ollama_chat_are_omitted() {
    let body =
        json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "images": [data()]});
    let incoming = Protocol::Ollama
        .codec()
        .read_request(Bytes::from(body.to_string()));
    let described = VisionFixture::new()
        .describe(incoming.expect("a request").request)
        .await;
    assert_eq!(changes(&described), ["image:1 omitted"]);
    assert!(!written(Protocol::Ollama, &described.request).contains(&data()));
}

/// What is kept as a text for the model is neither an image nor reported as one.
#[tokio::test]
async fn json_that_a_tool_returned_stays_and_is_not_listed() {
    let response = json!({"picture": {"inlineData": {"mimeType": "image/gif", "data": data()}}});
    let result = json!({"functionResponse": {"name": "look", "response": response}});
    let body = json!({"contents": [{"role": "user", "parts": [result]}]});
    let incoming = Protocol::Gemini
        .codec()
        .read_request(Bytes::from(body.to_string()));
    let request = incoming.expect("a request").request;
    assert_eq!(request.prompt().image_count(), 0);
    let described = VisionFixture::new().describe(request).await;
    assert_eq!(changes(&described), [""; 0]);
    assert!(written(Protocol::Gemini, &described.request).contains(&data()));
}

#[tokio::test]
async fn a_document_of_text_is_kept_whatever_its_title() {
    let text = json!({"type": "text", "text": "a table"});
    for source in [
        json!({"type": "content", "content": [text]}),
        json!({"type": "text", "media_type": "text/plain", "data": "GIF89a is a format"}),
    ] {
        let document = json!({"type": "document", "title": "notes on a.png", "source": source});
        let messages = json!([{"role": "user", "content": [document]}]);
        let body = json!({"model": "m", "max_tokens": 9, "messages": messages});
        let incoming = Protocol::Messages
            .codec()
            .read_request(Bytes::from(body.to_string()));
        assert_eq!(
            incoming.expect("a request").request.prompt().image_count(),
            0,
            "{source}"
        );
    }
}
