//! Tool output.

use std::borrow::Cow;

use majordomo_llm::{Image, Part};
use serde::Serialize;
use serde_json::Value;

use super::sanitize::{MAX_RESULT_LEN, printable, shorten};

/// The output of a tool: texts and images, in order.
///
/// Handlers may return any serializable value instead: a string is sent to the model
/// unchanged, anything else as JSON.
///
/// ```
/// use majordomo::agent::ToolOutput;
///
/// let output = ToolOutput::text("Here is the chart:").image("image/png", vec![0x89, 0x50]);
/// # let _ = output;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    items: Vec<OutputItem>,
}

/// One text or image. Only what every provider accepts as a tool result: in particular, a
/// tool cannot inject calls or reasoning into the conversation.
#[derive(Clone, Debug, PartialEq)]
enum OutputItem {
    Text(String),
    Image(Image),
}

impl ToolOutput {
    /// Creates an output with one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and_text(text)
    }

    /// Creates an output from a value: a string unchanged, anything else as JSON.
    pub fn json(value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        Ok(Self::text(match serde_json::to_value(value)? {
            Value::String(text) => text,
            value => value.to_string(),
        }))
    }

    /// Creates an output from the bytes that a program printed. Invalid UTF-8 is replaced.
    pub fn bytes(bytes: &[u8]) -> Self {
        Self::text(String::from_utf8_lossy(bytes))
    }

    /// Appends a text.
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.items.push(OutputItem::Text(text.into()));
        self
    }

    /// Appends an image.
    #[must_use]
    pub fn image(mut self, media_type: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        let image = Image::new(media_type, data.into());
        self.items.push(OutputItem::Image(image));
        self
    }

    /// Converts the output into parts, sanitized and truncated to [`MAX_RESULT_LEN`].
    pub(super) fn into_parts(self) -> Vec<Part> {
        let mut left = MAX_RESULT_LEN;
        let mut parts: Vec<Part> = Vec::with_capacity(self.items.len());
        for item in self.items {
            parts.push(match item {
                OutputItem::Image(image) => Part::Image(image),
                OutputItem::Text(text) => {
                    let short = shorten(Cow::Borrowed(&text), left);
                    left = left.saturating_sub(text.len());
                    Part::text(printable(&short))
                }
            });
        }
        if parts.is_empty() {
            // Some providers reject a result without content.
            parts.push(Part::text(""));
        }
        parts
    }
}

/// A value that a handler may return: a [`ToolOutput`], or any serializable value.
pub trait IntoToolOutput {
    /// Converts the value into an output.
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
    fn strings_are_unchanged_and_other_values_become_json() {
        assert_eq!(text_of("say \"hi\""), "say \"hi\"");
        assert_eq!(text_of(String::from("x")), "x");
        assert_eq!(text_of(3), "3");
        assert_eq!(text_of(vec![Some(1), None]), "[1,null]");
    }

    #[test]
    fn texts_and_images_keep_their_order() {
        let output = ToolOutput::text("a").image("image/png", [1]).and_text("b");
        let parts = output.into_parts();
        assert!(matches!(
            &parts[..],
            [Part::Text(_), Part::Image(_), Part::Text(_)]
        ));
    }

    #[test]
    fn the_limit_applies_to_all_texts_together() {
        let half = "x".repeat(MAX_RESULT_LEN / 2 + 1);
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
    fn invalid_utf8_is_replaced() {
        let parts = ToolOutput::bytes(b"ok \xff\xfe\x00").into_parts();
        assert_eq!(parts[0].as_text(), Some("ok \u{fffd}\u{fffd}"));
    }

    #[test]
    fn an_empty_output_has_an_empty_text() {
        assert_eq!(ToolOutput::default().into_parts().len(), 1);
    }
}
