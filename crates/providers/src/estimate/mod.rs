//! Token estimates, accurate enough to choose a target and to size a context
//! window.
//!
//! [`text`] estimates by character class, [`image`] implements the providers' rules
//! for pixels, and `exact` counts with OpenAI's encodings (feature `exact-tokens`).

#[cfg(feature = "exact-tokens")]
mod exact;
mod image;
mod text;

use majordomo_image_header::measure;
use majordomo_llm::{Message, Part, Request, Tool};

#[cfg(feature = "exact-tokens")]
pub use exact::count_text;
#[cfg(feature = "exact-tokens")]
pub(crate) use exact::exact_counter;
pub(crate) use image::ImageTokenRule;
pub(crate) use text::estimate_text;

/// How a provider counts tokens.
#[derive(Clone, Copy)]
pub(crate) struct TokenRule {
    /// Counts the tokens of a text.
    pub(crate) text: fn(&str) -> u64,
    /// The rule for images.
    pub(crate) image: ImageTokenRule,
}

impl Default for TokenRule {
    fn default() -> Self {
        Self {
            text: estimate_text,
            image: ImageTokenRule::Unknown,
        }
    }
}

/// Role and separators of a message.
const PER_MESSAGE: u64 = 4;
/// Overhead of a tool definition.
const PER_TOOL: u64 = 8;
/// Tokens and bytes of an average document page, including its image.
const PER_PAGE: u64 = 2_000;
const BYTES_PER_PAGE: u64 = 50_000;

/// Estimates the tokens of a request.
pub(crate) fn estimate_tokens(request: &Request, rule: &TokenRule) -> u64 {
    let system = request
        .prompt()
        .system
        .iter()
        .map(|text| (rule.text)(&text.text));
    let messages = request
        .prompt()
        .messages
        .iter()
        .map(|m| message_tokens(m, rule));
    let tools = request.prompt().tools.iter().map(|t| tool_tokens(t, rule));
    let hosted = request.prompt().hosted_tools.iter();
    let hosted = hosted.map(|tool| (rule.text)(tool.raw.as_str()));
    let schema = match &request.prompt().output {
        majordomo_llm::OutputFormat::Schema(output) => (rule.text)(output.schema.as_str()),
        _ => 0,
    };
    let parts = system.chain(messages).chain(tools).chain(hosted);
    parts.sum::<u64>() + schema
}

fn tool_tokens(tool: &Tool, rule: &TokenRule) -> u64 {
    let description = tool.description.as_deref().map_or(0, rule.text);
    let schema = tool.parameters.as_ref();
    let schema = schema.map_or(0, |schema| (rule.text)(schema.as_str()));
    PER_TOOL + (rule.text)(&tool.name) + description + schema
}

fn message_tokens(message: &Message, rule: &TokenRule) -> u64 {
    PER_MESSAGE
        + message
            .parts
            .iter()
            .map(|p| part_tokens(p, rule))
            .sum::<u64>()
}

fn part_tokens(part: &Part, rule: &TokenRule) -> u64 {
    match part {
        Part::Text(text) | Part::Refusal(text) => (rule.text)(&text.text),
        Part::Reasoning(reasoning) => (rule.text)(&reasoning.text),
        Part::Image(image) => rule.image.of(image.data.header()),
        Part::RemoteImage(_) => rule.image.of_unknown_size(),
        Part::ToolCall(call) => {
            PER_MESSAGE + (rule.text)(&call.name) + (rule.text)(&call.arguments)
        }
        Part::ToolResult(result) => {
            PER_MESSAGE
                + result
                    .parts
                    .iter()
                    .map(|p| part_tokens(p, rule))
                    .sum::<u64>()
        }
        Part::File(file) if file.is_image() => rule.image.of(measure(&file.data)),
        Part::File(file) => match std::str::from_utf8(&file.data) {
            Ok(text) => (rule.text)(text),
            Err(_) => PER_PAGE * (file.data.len() as u64).div_ceil(BYTES_PER_PAGE),
        },
        // An opaque part may contain base64, which is not billed as text.
        Part::Opaque(block) => {
            let images = block.images();
            let pixels: usize = images.iter().map(ExactSizeIterator::len).sum();
            let others = block.raw.as_str().len().saturating_sub(pixels) as u64;
            (others / 4).min(PER_PAGE) + images.len() as u64 * rule.image.of_unknown_size()
        }
    }
}

#[cfg(test)]
mod tests {
    use majordomo_llm::{Json, ToolCall, ToolResult};

    use super::*;

    #[test]
    fn every_part_of_a_request_counts() {
        let estimate = |request: &Request| estimate_tokens(request, &TokenRule::default());
        let base = Request::user("How are you today?");
        let schema = || Json::parse(r#"{"type":"object","properties":{}}"#).unwrap();
        let call = ToolCall::new("call_0", "look", r#"{"at":"the sky"}"#);
        let result = ToolResult::new(&call, "It is blue.");
        let grown = [
            base.clone().system("Be brief."),
            base.clone().tool(Tool::new("look").parameters(schema())),
            base.clone().schema(schema(), "reply"),
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
        assert_eq!(
            estimate_tokens(&image(20), &rule),
            estimate_tokens(&image(900_000), &rule)
        );
    }
}
