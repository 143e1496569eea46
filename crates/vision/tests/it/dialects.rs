//! A target of the client's own dialect gets everything but the images unchanged: byte for
//! byte, unknown fields included.

use majordomo_wire::Protocol;

use crate::support::{VisionFixture, gif, written};

fn base64(data: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(data)
}

/// A request with an image, the encoded image, and its expected replacement.
fn requests() -> Vec<(Protocol, String, String, &'static str)> {
    let data = base64(&gif(1));
    let chat_image = format!(
        r#"{{"type":"image_url","image_url":{{"url":"data:image/gif;base64,{data}","detail":"high"}}}}"#
    );
    let responses_image = format!(
        r#"{{"type":"input_image", "detail":"auto", "image_url":"data:image/gif;base64,{data}"}}"#
    );
    let messages_image = format!(
        r#"{{"type":"image","source":{{"type":"base64","media_type":"image/gif","data":"{data}"}}}}"#
    );
    let gemini_image = format!(r#"{{"inlineData":{{"mimeType":"image/gif","data":"{data}"}}}}"#);
    vec![
        (
            Protocol::Chat,
            format!(
                r#"{{"x_new":{{"a":[1, 2.0e3]}},"model":"blind","messages":[{{"role":"system","content":"Be  terse.","x":null}},{{"role":"user","name":"ann","content":[{{"type":"text","text":"Wh\u00e4t?","y":1}},{chat_image}]}}],"temperature":0.50,"logit_bias":{{"7":-1}}}}"#
            ),
            chat_image,
            r#"{"type":"text","text":"[image: picture 1]"}"#,
        ),
        (
            Protocol::Responses,
            format!(
                r#"{{"model":"blind","input":[{{"type":"message","role":"user","content":[{{"type":"input_text","text":"Wh\u00e4t?"}},{responses_image}],"id":"m_1"}},{{"type":"x_new","a":[1, 2.0e3]}}],"text":{{"verbosity":"low"}},"temperature":0.50,"x":null}}"#
            ),
            responses_image,
            r#"{"type":"input_text","text":"[image: (omitted from history)]"}"#,
        ),
        (
            Protocol::Messages,
            format!(
                r#"{{"model":"blind","max_tokens":64,"system":[{{"type":"text","text":"Be  terse.","cache_control":{{"type":"ephemeral"}}}}],"messages":[{{"role":"user","content":[{{"type":"text","text":"Wh\u00e4t?"}},{messages_image}]}}],"metadata":{{"user_id":"u"}},"x_new":[1, 2.0e3]}}"#
            ),
            messages_image,
            r#"{"type":"text","text":"[image: picture 1]"}"#,
        ),
        (
            Protocol::Gemini,
            format!(
                r#"{{"contents":[{{"role":"user","parts":[{{"text":"Wh\u00e4t?"}},{gemini_image}]}}],"generationConfig":{{"temperature":0.50,"x":1}},"safetySettings":[],"x_new":[1, 2.0e3]}}"#
            ),
            gemini_image,
            r#"{"text":"[image: picture 1]"}"#,
        ),
    ]
}

#[tokio::test]
async fn only_the_image_is_replaced_and_every_other_byte_is_kept() {
    for (protocol, body, image, text) in requests() {
        let incoming = protocol.codec().read_request(body.clone().into()).unwrap();
        let described = VisionFixture::new().describe(incoming.request).await;
        let expected = body.replace(&image, text);
        assert_eq!(
            written(protocol, &described.request),
            expected,
            "{protocol:?}"
        );
    }
}

#[tokio::test]
async fn ollama_images_become_part_of_the_content() {
    let data = base64(&gif(1));
    let body = format!(
        r#"{{"model":"blind","messages":[{{"role":"system","content":"Be  terse."}},{{"role":"user","content":"What?","images":["{data}"],"x":1}}],"stream":false,"options":{{"temperature":0.50,"x":1}},"x_new":[1, 2.0e3]}}"#
    );
    let incoming = Protocol::Ollama.codec().read_request(body.into()).unwrap();
    let described = VisionFixture::new().describe(incoming.request).await;
    let out = written(Protocol::Ollama, &described.request);
    for kept in [
        r#"{"role":"system","content":"Be  terse."}"#,
        r#""x":1"#,
        r#""stream":false,"options":{"temperature":0.50,"x":1},"x_new":[1, 2.0e3]"#,
    ] {
        assert!(out.contains(kept), "{kept} in {out}");
    }
    assert!(
        out.contains("What?") && out.contains("[image: picture 1]"),
        "{out}"
    );
    assert!(!out.contains("images"), "{out}");
}

#[tokio::test]
async fn cache_control_stays_where_the_image_was() {
    let data = base64(&gif(1));
    let body = format!(
        r#"{{"model":"blind","max_tokens":64,"messages":[{{"role":"user","content":[{{"type":"image","source":{{"type":"base64","media_type":"image/gif","data":"{data}"}},"cache_control":{{"type":"ephemeral"}}}}]}}]}}"#
    );
    let incoming = Protocol::Messages
        .codec()
        .read_request(body.into())
        .unwrap();
    let described = VisionFixture::new().describe(incoming.request).await;
    let out = written(Protocol::Messages, &described.request);
    let block =
        r#"{"type":"text","text":"[image: picture 1]","cache_control":{"type":"ephemeral"}}"#;
    assert!(out.contains(block), "{out}");
}
