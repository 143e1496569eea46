//! About how many tokens a request is for a provider.
//!
//! Good enough to choose a target by, and to size a context window. [`text`]
//! guesses by the kind of characters, [`image`] follows each provider's own rule
//! for pixels, and `exact` counts OpenAI's encodings (feature `exact-tokens`).

#[cfg(feature = "exact-tokens")]
mod exact;
mod image;
mod text;

use majordomo_llm::{Message, Part, Request, Tool};

#[cfg(feature = "exact-tokens")]
pub use exact::count_text;
#[cfg(feature = "exact-tokens")]
pub(crate) use exact::counter;
pub(crate) use image::ImageTokens;
pub(crate) use text::guess;

/// How a provider counts.
#[derive(Clone, Copy)]
pub(crate) struct TokenRule {
    /// Tokens of a text.
    pub(crate) text: fn(&str) -> u64,
    /// Tokens of an image.
    pub(crate) image: ImageTokens,
}

impl Default for TokenRule {
    fn default() -> Self {
        Self {
            text: guess,
            image: ImageTokens::Unknown,
        }
    }
}

/// Roles and separators around a message.
const PER_MESSAGE: u64 = 4;
/// What a definition needs beside its name, description and schema.
const PER_TOOL: u64 = 8;
/// About what a page of a document with its picture is, and its bytes.
const PER_PAGE: u64 = 2_000;
const BYTES_PER_PAGE: u64 = 50_000;

/// The estimate of a whole request.
pub(crate) fn tokens(request: &Request, rule: &TokenRule) -> u64 {
    let system = request.system.iter().map(|text| (rule.text)(&text.text));
    let messages = request.messages.iter().map(|m| message(m, rule));
    let tools = request.tools.iter().map(|t| tool(t, rule));
    let hosted = request.hosted_tools.iter();
    let hosted = hosted.map(|tool| (rule.text)(tool.raw.as_str()));
    let schema = match &request.output {
        majordomo_llm::OutputFormat::Schema(output) => (rule.text)(output.schema.as_str()),
        _ => 0,
    };
    let parts = system.chain(messages).chain(tools).chain(hosted);
    parts.sum::<u64>() + schema
}

fn tool(tool: &Tool, rule: &TokenRule) -> u64 {
    let description = tool.description.as_deref().map_or(0, rule.text);
    let schema = tool.parameters.as_ref();
    let schema = schema.map_or(0, |schema| (rule.text)(schema.as_str()));
    PER_TOOL + (rule.text)(&tool.name) + description + schema
}

fn message(message: &Message, rule: &TokenRule) -> u64 {
    PER_MESSAGE + message.parts.iter().map(|p| part(p, rule)).sum::<u64>()
}

fn part(part: &Part, rule: &TokenRule) -> u64 {
    match part {
        Part::Text(text) | Part::Refusal(text) => (rule.text)(&text.text),
        Part::Reasoning(reasoning) => (rule.text)(&reasoning.text),
        Part::Image(image) => rule.image.of(image),
        Part::RemoteImage(_) => rule.image.unseen(),
        Part::ToolCall(call) => {
            PER_MESSAGE + (rule.text)(&call.name) + (rule.text)(&call.arguments)
        }
        Part::ToolResult(result) => {
            PER_MESSAGE
                + result
                    .parts
                    .iter()
                    .map(|p| self::part(p, rule))
                    .sum::<u64>()
        }
        Part::File(file) => match std::str::from_utf8(&file.data) {
            Ok(text) => (rule.text)(text),
            Err(_) => PER_PAGE * (file.data.len() as u64).div_ceil(BYTES_PER_PAGE),
        },
        // Blocks of a dialect may hold base64, which is never read as text.
        Part::Opaque(opaque) => (opaque.raw.as_str().len() as u64 / 4).min(PER_PAGE),
    }
}

#[cfg(test)]
mod tests {
    use majordomo_llm::{Json, ToolCall, ToolResult};

    use super::*;

    #[test]
    fn everything_that_is_sent_counts() {
        let estimate = |request: &Request| tokens(request, &TokenRule::default());
        let base = Request::user("How are you today?");
        let schema = || Json::parse(r#"{"type":"object","properties":{}}"#).unwrap();
        let call = ToolCall::new("call_0", "look", r#"{"at":"the sky"}"#);
        let result = ToolResult::new(&call, "It is blue.");
        let grown = [
            base.clone().system("Be brief."),
            base.clone().tool(Tool::new("look").parameters(schema())),
            base.clone().schema(schema(), "answer"),
            base.clone().part(Part::image("image/png", vec![0])),
            base.clone()
                .message(Message::assistant(Part::ToolCall(call))),
            base.clone()
                .message(Message::tool_results_message([result])),
        ];
        for request in grown {
            assert!(estimate(&request) > estimate(&base), "{request:?}");
        }
    }

    #[test]
    fn an_image_counts_by_its_pixels_and_never_by_its_bytes() {
        let image = |bytes: usize| {
            let mut data = b"GIF89a\x40\x00\x40\x00\x00\x00\x00".to_vec();
            data.resize(bytes, 0);
            Request::user(Part::image("image/gif", data))
        };
        let rule = TokenRule::default();
        assert_eq!(tokens(&image(20), &rule), tokens(&image(900_000), &rule));
    }
}
