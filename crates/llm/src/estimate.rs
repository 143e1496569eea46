//! Token estimates.

use crate::{Message, Part, Request};

/// Estimates a request's input tokens, precisely enough to select a target.
pub trait TokenEstimator: Send + Sync {
    /// Returns the estimate.
    fn estimate(&self, request: &Request) -> u64;
}

/// Estimates four bytes per token, a thousand tokens per image and a few per message.
///
/// The fallback for unknown targets; providers refine it in
/// [`ModelExtras::own_estimate`](crate::ModelExtras::own_estimate).
#[derive(Clone, Copy, Debug, Default)]
pub struct HeuristicEstimator;

const BYTES_PER_TOKEN: usize = 4;
const TOKENS_PER_MESSAGE: usize = 4;
const TOKENS_PER_IMAGE: usize = 1_000;

impl TokenEstimator for HeuristicEstimator {
    fn estimate(&self, request: &Request) -> u64 {
        let system: usize = request.prompt().system.iter().map(|t| text(&t.text)).sum();
        let messages: usize = request.prompt().messages.iter().map(message).sum();
        let tools: usize = request
            .prompt()
            .tools
            .iter()
            .map(|tool| {
                text(&tool.name)
                    + tool.description.as_deref().map_or(0, text)
                    + tool.parameters.as_ref().map_or(0, |p| text(p.as_str()))
            })
            .sum();
        (system + messages + tools) as u64
    }
}

fn text(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

fn message(message: &Message) -> usize {
    TOKENS_PER_MESSAGE + message.parts.iter().map(part).sum::<usize>()
}

fn part(part: &Part) -> usize {
    match part {
        Part::Text(p) | Part::Refusal(p) => text(&p.text),
        Part::Reasoning(p) => text(&p.text),
        Part::Image(_) | Part::RemoteImage(_) => TOKENS_PER_IMAGE,
        Part::ToolCall(call) => text(&call.name) + text(&call.arguments),
        Part::ToolResult(result) => result.parts.iter().map(self::part).sum(),
        Part::File(file) if file.is_image() => TOKENS_PER_IMAGE,
        Part::File(file) => file.data.len() / BYTES_PER_TOKEN,
        Part::Opaque(block) => {
            let images: usize = block.images().iter().map(ExactSizeIterator::len).sum();
            let others = block.raw.as_str().len().saturating_sub(images);
            others.div_ceil(BYTES_PER_TOKEN) + block.images().len() * TOKENS_PER_IMAGE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Json, Tool};

    #[test]
    fn every_part_of_a_request_counts() {
        let base = Request::user("x".repeat(400));
        let estimate = |request: &Request| HeuristicEstimator.estimate(request);
        assert_eq!(estimate(&base), 104);
        let grown = [
            base.clone().system("be brief and exact"),
            base.clone().part(Part::image("image/png", vec![0; 9_999])),
            base.clone()
                .tool(Tool::new("look").parameters(Json::parse("{\"a\":1}").unwrap())),
        ];
        for request in grown {
            assert!(estimate(&request) > 104);
        }
    }

    #[test]
    fn the_size_of_an_image_does_not_matter() {
        let small = Request::user(Part::image("image/png", vec![0; 10]));
        let large = Request::user(Part::image("image/png", vec![0; 1_000_000]));
        assert_eq!(
            HeuristicEstimator.estimate(&small),
            HeuristicEstimator.estimate(&large)
        );
    }
}
