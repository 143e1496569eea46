//! Through the gateway: every client dialect, user images and tool images.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use majordomo_gateway::{Gateway, ServeOptions};
use majordomo_testkit::{Script, Upstream};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::{Drawn, TIMEOUT, letters, reader};

/// The possible sources of an image.
#[derive(Clone, Copy, Debug)]
enum From {
    User,
    Tool,
}

/// The request of each client dialect, by its path.
fn bodies(images: &[Drawn], from: From) -> [(&'static str, Value); 5] {
    [
        ("/v1/chat/completions", chat(images, from)),
        ("/v1/responses", responses(images, from)),
        ("/v1/messages", messages(images, from)),
        ("/v1beta/models/blind:generateContent", gemini(images, from)),
        ("/api/chat", ollama(images, from)),
    ]
}

fn each(images: &[Drawn], write: impl Fn(&Drawn, String) -> Value) -> Vec<Value> {
    let images = images.iter();
    let written = images.map(|drawn| write(drawn, STANDARD.encode(&drawn.data)));
    written.collect()
}

fn data_url(drawn: &Drawn, data: &str) -> String {
    format!("data:{};base64,{data}", drawn.media_type)
}

/// A text followed by images.
fn beside(text: Value, images: Vec<Value>) -> Value {
    std::iter::once(text).chain(images).collect()
}

fn chat(images: &[Drawn], from: From) -> Value {
    let images = each(
        images,
        |drawn, data| json!({"type": "image_url", "image_url": {"url": data_url(drawn, &data)}}),
    );
    let content = beside(json!({"type": "text", "text": "look"}), images);
    let messages = match from {
        From::User => json!([{"role": "user", "content": content}]),
        From::Tool => json!([
            {"role": "user", "content": "Take one."},
            {"role": "assistant", "tool_calls": [{
                "id": "call_1", "type": "function",
                "function": {"name": "screenshot", "arguments": "{}"},
            }]},
            {"role": "tool", "tool_call_id": "call_1", "content": content},
        ]),
    };
    json!({"model": "blind", "messages": messages})
}

fn responses(images: &[Drawn], from: From) -> Value {
    let images = each(
        images,
        |drawn, data| json!({"type": "input_image", "detail": "auto", "image_url": data_url(drawn, &data)}),
    );
    let content = beside(json!({"type": "input_text", "text": "look"}), images);
    let input = match from {
        From::User => json!([{"type": "message", "role": "user", "content": content}]),
        From::Tool => json!([
            {"type": "message", "role": "user", "content": "Take one."},
            {"type": "function_call", "call_id": "call_1", "name": "screenshot", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": content},
        ]),
    };
    json!({"model": "blind", "input": input})
}

fn messages(images: &[Drawn], from: From) -> Value {
    let images = each(images, |drawn, data| {
        let source = json!({"type": "base64", "media_type": drawn.media_type, "data": data});
        json!({"type": "image", "source": source})
    });
    let content = beside(json!({"type": "text", "text": "look"}), images);
    let messages = match from {
        From::User => json!([{"role": "user", "content": content}]),
        From::Tool => json!([
            {"role": "user", "content": "Take one."},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "call_1", "name": "screenshot", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": content},
            ]},
        ]),
    };
    json!({"model": "blind", "max_tokens": 100, "messages": messages})
}

fn gemini(images: &[Drawn], from: From) -> Value {
    let images = each(
        images,
        |drawn, data| json!({"inlineData": {"mimeType": drawn.media_type, "data": data}}),
    );
    let contents = match from {
        From::User => json!([{"role": "user", "parts": beside(json!({"text": "look"}), images)}]),
        From::Tool => json!([
            {"role": "user", "parts": [{"text": "Take one."}]},
            {"role": "model", "parts": [{"functionCall": {"id": "1", "name": "screenshot", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {
                "id": "1", "name": "screenshot", "response": {"output": "look"}, "parts": images,
            }}]},
        ]),
    };
    json!({"contents": contents})
}

fn ollama(images: &[Drawn], from: From) -> Value {
    let images = each(images, |_, data| json!(data));
    let messages = match from {
        From::User => json!([{"role": "user", "content": "look", "images": images}]),
        From::Tool => json!([
            {"role": "user", "content": "Take one."},
            {"role": "assistant", "content": "", "tool_calls": [
                {"function": {"name": "screenshot", "arguments": {}}},
            ]},
            {"role": "tool", "tool_name": "screenshot", "content": "look", "images": images},
        ]),
    };
    json!({"model": "blind", "messages": messages, "stream": false})
}

/// A text-only upstream that responds "fine" to this many requests.
async fn text_only(requests: usize) -> Upstream {
    let response = json!({
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{
            "index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "fine"},
        }],
    });
    let script =
        Script::new()
            .read_request()
            .respond(200, "application/json", response.to_string());
    Upstream::start(vec![script; requests]).await
}

/// A gateway whose only model is text-only. Nothing is cached, so that every image is
/// really read.
fn config(reader: &str, upstream: SocketAddr) -> String {
    format!(
        r#"
[providers.up]
kind = "openai"
base_url = "http://{upstream}/v1"
api_key = "canary"
[providers.up.models.blind]
images = false
[providers.ocr]
kind = "openai"
base_url = "http://{reader}/v1"
api_key = "canary"
[[routes]]
model = "blind"
services = [ {{ spec = "up/blind" }} ]
[[routes.smart]]
name = "eyes for a blind model"
when = [ {{ position = "proxy_vision", op = "enabled" }} ]
services = [ {{ spec = "ocr/ocr" }} ]
[vision]
timeout = "{}s"
cache = "1B"
"#,
        TIMEOUT.as_secs()
    )
}

async fn post(address: SocketAddr, path: &str, body: &Value) -> (u16, String, String) {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .expect("it speaks HTTP");
    let driver = tokio::spawn(connection);
    let request = http::Request::post(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .expect("a request can be made");
    let response = sender.send_request(request).await.expect("it responds");
    let status = response.status().as_u16();
    let changes = response.headers().get("x-majordomo-changes");
    let changes = changes.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let body = response
        .into_body()
        .collect()
        .await
        .expect("a whole answer");
    let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    driver.abort();
    (status, changes.unwrap_or_default(), text)
}

async fn words_arrive(from: From) {
    let Some((reader, images)) = reader() else {
        return;
    };
    let bodies = bodies(&images, from);
    let upstream = text_only(bodies.len()).await;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("majordomo.toml");
    std::fs::write(&file, config(&reader, upstream.address())).expect("a file can be written");
    let options = ServeOptions::default()
        .with_config(Some(file))
        .with_listen(Some(([127, 0, 0, 1], 0).into()))
        .with_operator_listen(None);
    let gateway = Gateway::start(&options, BTreeMap::new()).await;
    let gateway = gateway.unwrap_or_else(|error| panic!("{error}"));
    let address = gateway.address().expect("it listens");
    let (_stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(gateway.run(async {
        let _ = stopped.await;
    }));

    for (index, (path, body)) in bodies.iter().enumerate() {
        let (status, changes, text) = post(address, path, body).await;
        assert_eq!(status, 200, "{path}: {text}");
        assert!(changes.contains("image:4 described"), "{path}: {changes}");
        let sent = &upstream.requests()[index];
        let sent = String::from_utf8_lossy(&sent.body).into_owned();
        assert!(
            !sent.contains("base64") && !sent.contains("image_url"),
            "{path}: {sent}"
        );
        let mut rest = letters(&sent);
        for drawn in &images {
            // In order, each once.
            let words = letters(&drawn.words);
            let at = rest.find(&words);
            let at = at.unwrap_or_else(|| panic!("{path}, {}: {sent}", drawn.name));
            rest = rest.split_off(at + words.len());
        }
    }
}

#[tokio::test]
async fn text_in_user_images_arrives_from_every_dialect() {
    words_arrive(From::User).await;
}

#[tokio::test]
async fn text_in_tool_images_arrives_from_every_dialect() {
    words_arrive(From::Tool).await;
}
