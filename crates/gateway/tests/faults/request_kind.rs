//! The requests during which clients disconnect: three streamed dialects and one
//! buffered.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::test_gateway::{CLIENT_KEY, PROMPT, post};

/// A kind of client request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RequestKind {
    Chat,
    Messages,
    Responses,
    /// Chat, buffered.
    Whole,
}

impl RequestKind {
    pub(crate) const ALL: [Self; 4] = [Self::Chat, Self::Messages, Self::Responses, Self::Whole];

    /// A text request.
    pub(crate) fn text_request(self, model: &str) -> String {
        self.encode(model, "")
    }

    /// A request with an image.
    pub(crate) fn image_request(self, model: &str, picture: &[u8]) -> String {
        let data = STANDARD.encode(picture);
        let image = match self {
            Self::Chat | Self::Whole => format!(
                r#",{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}"#
            ),
            Self::Messages => format!(
                r#",{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#
            ),
            Self::Responses => {
                format!(r#",{{"type":"input_image","image_url":"data:image/png;base64,{data}"}}"#)
            }
        };
        self.encode(model, &image)
    }

    fn encode(self, model: &str, image: &str) -> String {
        let stream = self != Self::Whole;
        let head = format!(r#"{{"model":"{model}","stream":{stream},"#);
        let content = |kind: &str| format!(r#"[{{"type":"{kind}","text":"{PROMPT}"}}{image}]"#);
        let messages = |content: String| format!(r#"[{{"role":"user","content":{content}}}]"#);
        let (path, rest) = match self {
            Self::Chat | Self::Whole => (
                "/v1/chat/completions",
                format!(r#""messages":{}}}"#, messages(content("text"))),
            ),
            Self::Messages => (
                "/v1/messages",
                format!(
                    r#""max_tokens":9,"messages":{}}}"#,
                    messages(content("text"))
                ),
            ),
            Self::Responses => (
                "/v1/responses",
                format!(r#""input":{}}}"#, messages(content("input_text"))),
            ),
        };
        let headers = format!("connection: close\r\nauthorization: Bearer {CLIENT_KEY}\r\n");
        post(path, &headers, &(head + &rest))
    }
}

/// An incompressible image of noise.
pub(crate) fn picture(side: u32) -> Vec<u8> {
    let mut state = 1_u32;
    let pixels = (0..side * side * 3).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    let pixels: Vec<u8> = pixels.collect();
    let mut data = Vec::new();
    let mut encoder = png::Encoder::new(&mut data, side, side);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&pixels).expect("pixels");
    writer.finish().expect("an end");
    data
}
