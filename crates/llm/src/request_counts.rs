//! Counts the repeated elements of a request, to enforce limits on them.
//!
//! Every type is destructured field by field, so that a new list does not compile
//! until it is counted or explicitly ignored here.

use crate::{
    File, Image, Message, Native, Part, Prompt, Reasoning, RemoteImage, Request, Text, Tool,
    ToolCall, ToolResult,
};

/// The numbers of repeated elements in a request.
///
/// ```
/// use majordomo_llm::{RequestCounts, Part, Request};
///
/// let request = Request::user("look").part(Part::image("image/png", vec![1]));
/// let counts = RequestCounts::of(&request);
/// assert_eq!((counts.messages, counts.parts, counts.images), (1, 2, 1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Messages and system texts.
    pub messages: usize,
    /// Parts of messages and tool results.
    pub parts: usize,
    /// Images in any form, as [`Prompt::images`] finds them.
    pub images: usize,
    /// Tools, including those hosted by the provider.
    pub tools: usize,
    /// Stop sequences.
    pub stops: usize,
    /// Native fields at any level.
    pub fields: usize,
}

impl RequestCounts {
    /// Counts the elements of a request in one pass.
    pub fn of(request: &Request) -> Self {
        let mut counts = Self::default();
        counts.prompt(request.counted());
        counts
    }

    fn prompt(&mut self, prompt: &Prompt) {
        let Prompt {
            system,
            messages,
            tools,
            hosted_tools,
            tool_choice: _,
            parallel_tool_calls: _,
            output: _,
            max_tokens: _,
            temperature: _,
            top_p: _,
            top_k: _,
            presence_penalty: _,
            frequency_penalty: _,
            seed: _,
            stop,
            effort: _,
            reasoning_budget: _,
            prompt_cache: _,
            cache_key: _,
            user: _,
            native,
            // Counted with the images outside the messages.
            unread_images: _,
        } = prompt;
        self.messages += system.len();
        system.iter().for_each(|text| self.text(text));
        messages.iter().for_each(|message| self.message(message));
        tools.iter().for_each(|tool| self.tool(tool));
        self.tools += hosted_tools.len();
        self.stops += stop.len();
        self.native(native);
        self.images += prompt.native_images().count();
    }

    fn message(&mut self, message: &Message) {
        let Message {
            role: _,
            parts,
            native,
        } = message;
        self.messages += 1;
        self.images += message.image_count();
        self.parts(parts);
        self.native(native);
    }

    fn tool(&mut self, tool: &Tool) {
        let Tool {
            name: _,
            description: _,
            parameters: _,
            strict: _,
            native,
        } = tool;
        self.tools += 1;
        self.native(native);
    }

    fn parts(&mut self, parts: &[Part]) {
        self.parts += parts.len();
        parts.iter().for_each(|part| self.part(part));
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Text(text) | Part::Refusal(text) => self.text(text),
            Part::Image(Image {
                media_type: _,
                data: _,
                native,
            })
            | Part::RemoteImage(RemoteImage { url: _, native })
            | Part::Reasoning(Reasoning { text: _, native })
            | Part::ToolCall(ToolCall {
                id: _,
                name: _,
                arguments: _,
                native,
            })
            | Part::File(File {
                media_type: _,
                data: _,
                name: _,
                native,
            }) => self.native(native),
            Part::ToolResult(ToolResult {
                call_id: _,
                name: _,
                parts,
                is_error: _,
                native,
            }) => {
                self.parts(parts);
                self.native(native);
            }
            // Its images are counted with those of the message.
            Part::Opaque(_) => {}
        }
    }

    fn text(&mut self, text: &Text) {
        let Text { text: _, native } = text;
        self.native(native);
    }

    fn native(&mut self, native: &Option<Box<Native>>) {
        self.fields += native.as_ref().map_or(0, |native| native.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, Json, Opaque};

    #[test]
    fn elements_are_counted_at_every_level() {
        let native = || {
            Native::new(Dialect::new("x"))
                .with("a", Json::string("1"))
                .with("b", Json::string("2"))
                .into_option()
        };
        let call = ToolCall {
            native: native(),
            ..ToolCall::new("1", "look", "{}")
        };
        let mut result = ToolResult::new(&call, "seen");
        result.parts.push(Part::image("image/png", vec![1]));
        result.parts.push(Part::RemoteImage(RemoteImage {
            url: "https://pictures.example/1".into(),
            native: native(),
        }));
        let mut request = Request::user("hi")
            .system("be brief")
            .message(Message::assistant(Part::ToolCall(call)))
            .message(Message::tool_results_message([result]))
            .tool(Tool::new("look"))
            .stop("x")
            .stop("y");
        request.edit().hosted_tools.push(Opaque::new(
            Dialect::new("x"),
            "search",
            Json::string("search"),
        ));
        request.edit().native = native();
        let expected = RequestCounts {
            messages: 4,
            parts: 6,
            images: 2,
            tools: 2,
            stops: 2,
            fields: 6,
        };
        assert_eq!(RequestCounts::of(&request), expected);
    }
}
