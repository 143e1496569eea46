//! Limits on the number of repeated elements in a request.
//!
//! Bytes are limited while a body is read. A body of tiny elements still costs many times
//! its size in memory and work, so their numbers are limited as well: once, for every
//! front, right after decoding.

use majordomo::Request;
use majordomo::llm::RequestCounts;

use crate::json_values;
use crate::refusal::RequestRefusal;

/// Maximum numbers per request, set in `[server]`.
///
/// ```
/// use majordomo_gateway::config::MaxCounts;
///
/// assert!(MaxCounts::default().tools > 200);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxCounts {
    /// Messages and instructions.
    pub messages: usize,
    /// Parts of messages and of tool results.
    pub parts: usize,
    /// Images, as bytes or as URLs.
    pub images: usize,
    /// Tools.
    pub tools: usize,
    /// Stop sequences.
    pub stops: usize,
    /// Unknown fields of all objects together.
    pub fields: usize,
    /// JSON values of any kind in the body.
    pub values: usize,
}

impl Default for MaxCounts {
    /// Several times what the longest agent sessions need.
    fn default() -> Self {
        Self {
            messages: 20_000,
            parts: 100_000,
            images: 2_000,
            tools: 2_000,
            stops: 256,
            fields: 30_000,
            values: 1_000_000,
        }
    }
}

impl MaxCounts {
    /// Rejects a body with too many JSON values, before any of them is decoded.
    pub(crate) fn check_body(&self, body: &[u8]) -> Result<(), RequestRefusal> {
        if !json_values::exceed(body, self.values) {
            return Ok(());
        }
        let text = format!(
            "the request has more than {} JSON values (`max_values` in [server])",
            self.values
        );
        Err(RequestRefusal::new(400, text))
    }

    /// Rejects a request beyond the limits; the error names the setting.
    pub(crate) fn check(&self, request: &Request) -> Result<(), RequestRefusal> {
        let RequestCounts {
            messages,
            parts,
            images,
            tools,
            stops,
            fields,
        } = RequestCounts::of(request);
        let rows = [
            ("messages", messages, self.messages, "max_messages"),
            ("parts", parts, self.parts, "max_parts"),
            ("images", images, self.images, "max_images"),
            ("tools", tools, self.tools, "max_tools"),
            ("stop sequences", stops, self.stops, "max_stops"),
            ("unknown fields", fields, self.fields, "max_fields"),
        ];
        for (what, count, most, setting) in rows {
            if count > most {
                let text = format!(
                    "the request has {count} {what}, and the limit is {most} (`{setting}` in [server])"
                );
                return Err(RequestRefusal::new(400, text));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use majordomo::{Message, Tool};

    use super::*;

    #[test]
    fn a_request_at_the_limit_is_accepted_and_one_beyond_it_names_the_setting() {
        let most = MaxCounts {
            messages: 3,
            tools: 1,
            ..MaxCounts::default()
        };
        let full = Request::user("a")
            .system("b")
            .message(Message::user("c"))
            .tool(Tool::new("t"));
        assert!(most.check(&full).is_ok());
        for (request, words) in [
            (
                full.clone().message(Message::user("d")),
                "4 messages, and the limit is 3 (`max_messages`",
            ),
            (
                full.tool(Tool::new("u")),
                "2 tools, and the limit is 1 (`max_tools`",
            ),
        ] {
            let error = most.check(&request).unwrap_err();
            assert_eq!(error.status(), 400);
            assert!(error.message().contains(words), "{error}");
        }
    }
}
