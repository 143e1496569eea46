//! What a tool gives back.

use std::borrow::Cow;

use majordomo_llm::{Image, Part};
use serde::Serialize;
use serde_json::Value;

use super::clean::{LONGEST_RESULT, printable, shorten};

/// A tool's result: texts and images, in order.
///
/// Handlers may return any value that serde can write instead: a string goes to
/// the model as it is, everything else as JSON.
///
/// ```
/// use majordomo::agent::ToolOutput;
///
/// let output = ToolOutput::text("Here is the chart:").image("image/png", vec![0x89, 0x50]);
/// # let _ = output;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    pieces: Vec<Piece>,
}

/// Only what every provider can take as a result, so that no tool can put a
/// call or a piece of reasoning into the conversation.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Image(Image),
}

impl ToolOutput {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and_text(text)
    }

    /// A value as JSON; a string stays a plain text.
    pub fn json(value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        Ok(Self::text(match serde_json::to_value(value)? {
            Value::String(text) => text,
            value => value.to_string(),
        }))
    }

    /// What a program printed; bytes that are no text are replaced.
    pub fn bytes(bytes: &[u8]) -> Self {
        Self::text(String::from_utf8_lossy(bytes))
    }

    /// Adds a text.
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.pieces.push(Piece::Text(text.into()));
        self
    }

    /// Adds an image.
    #[must_use]
    pub fn image(mut self, media_type: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        let image = Image::new(media_type, data.into());
        self.pieces.push(Piece::Image(image));
        self
    }

    /// The parts for the conversation: printable, and within the bound.
    pub(super) fn into_parts(self) -> Vec<Part> {
        let mut left = LONGEST_RESULT;
        let mut parts: Vec<Part> = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces {
            parts.push(match piece {
                Piece::Image(image) => Part::Image(image),
                Piece::Text(text) => {
                    let short = shorten(Cow::Borrowed(&text), left);
                    left = left.saturating_sub(text.len());
                    Part::text(printable(&short))
                }
            });
        }
        if parts.is_empty() {
            // Some providers refuse a result without any content.
            parts.push(Part::text(""));
        }
        parts
    }
}

/// What a handler may return: a [`ToolOutput`], or anything that serde can write.
pub trait IntoToolOutput {
    /// The result, or why it cannot be written.
    fn into_tool_output(self) -> Result<ToolOutput, serde_json::Error>;
}

impl IntoToolOutput for ToolOutput {
    fn into_tool_output(self) -> Result<ToolOutput, serde_json::Error> {
        Ok(self)
    }
}

impl<T: Serialize> IntoToolOutput for T {
    fn into_tool_output(self) -> Result<ToolOutput, serde_json::Error> {
        ToolOutput::json(&self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(output: impl IntoToolOutput) -> String {
        let parts = output.into_tool_output().unwrap().into_parts();
        parts.iter().filter_map(Part::as_text).collect()
    }

    #[test]
    fn strings_pass_as_they_are_and_values_as_json() {
        assert_eq!(text_of("say \"hi\""), "say \"hi\"");
        assert_eq!(text_of(String::from("x")), "x");
        assert_eq!(text_of(3), "3");
        assert_eq!(text_of(vec![Some(1), None]), "[1,null]");
    }

    #[test]
    fn images_keep_their_place_between_texts() {
        let output = ToolOutput::text("a").image("image/png", [1]).and_text("b");
        let parts = output.into_parts();
        assert!(matches!(
            &parts[..],
            [Part::Text(_), Part::Image(_), Part::Text(_)]
        ));
    }

    #[test]
    fn the_bound_holds_for_all_texts_together() {
        let half = "x".repeat(LONGEST_RESULT / 2 + 1);
        let output = ToolOutput::text(&half).and_text(&half).and_text("late");
        let texts: Vec<String> = output
            .into_parts()
            .iter()
            .filter_map(|part| part.as_text().map(str::to_owned))
            .collect();
        assert_eq!(texts[0].len(), half.len());
        assert!(texts[1].contains("[truncated"));
        assert!(texts[2].starts_with("\n[truncated: the first 0 of 4 bytes"));
    }

    #[test]
    fn a02_bytes_that_are_no_text_are_replaced() {
        let parts = ToolOutput::bytes(b"ok \xff\xfe\x00").into_parts();
        assert_eq!(parts[0].as_text(), Some("ok \u{fffd}\u{fffd}"));
    }

    #[test]
    fn an_empty_output_still_has_a_part() {
        assert_eq!(ToolOutput::default().into_parts().len(), 1);
    }
}
