//! About how many tokens a request is.

use crate::{Message, Part, Request};

/// Guesses a request's tokens, well enough to choose a target by.
pub trait TokenEstimator: Send + Sync {
    /// The guess.
    fn estimate(&self, request: &Request) -> u64;
}

/// Four bytes a token, a thousand tokens an image, a few per message.
///
/// Providers know better and say so through `Model::estimate_tokens`; this one
/// is for targets about which nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeuristicEstimator;

const BYTES_PER_TOKEN: usize = 4;
const TOKENS_PER_MESSAGE: usize = 4;
const TOKENS_PER_IMAGE: usize = 1_000;

impl TokenEstimator for HeuristicEstimator {
    fn estimate(&self, request: &Request) -> u64 {
        let system: usize = request.system.iter().map(|t| text(&t.text)).sum();
        let messages: usize = request.messages.iter().map(message).sum();
        let tools: usize = request
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
        Part::File(file) => file.data.len() / BYTES_PER_TOKEN,
        Part::Opaque(opaque) => text(opaque.raw.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Json, Tool};

    #[test]
    fn everything_that_is_sent_counts() {
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
    fn images_count_by_kind_and_not_by_bytes() {
        let small = Request::user(Part::image("image/png", vec![0; 10]));
        let large = Request::user(Part::image("image/png", vec![0; 1_000_000]));
        assert_eq!(
            HeuristicEstimator.estimate(&small),
            HeuristicEstimator.estimate(&large)
        );
    }
}
