//! Limits on how many repeated elements one request may have.
//!
//! Bytes are bounded while a body is read. A body of tiny elements still costs
//! many times its size in memory and work, so their numbers are bounded, too:
//! once, for every front, right after the request was read.

use majordomo::{Error, ErrorKind, Request, RequestCounts, Result};

use crate::json_values;

/// The most of each kind that one request may have; `[server]` sets them.
///
/// ```
/// use majordomo_gateway::config::MaxCounts;
///
/// assert!(MaxCounts::default().tools > 200);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxCounts {
    /// Messages, and texts of the instructions.
    pub messages: usize,
    /// Parts of messages and of tool results.
    pub parts: usize,
    /// Images, as bytes or as addresses.
    pub images: usize,
    /// Tools.
    pub tools: usize,
    /// Stop sequences.
    pub stops: usize,
    /// Fields that the gateway does not know, in all objects together.
    pub fields: usize,
    /// JSON values in the body, whatever they are.
    pub values: usize,
}

impl Default for MaxCounts {
    /// Several times what the longest sessions of agents have.
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
    /// Refuses a body that holds more JSON values, before any of them is read.
    pub(crate) fn check_body(&self, body: &[u8]) -> Result<()> {
        if !json_values::exceed(body, self.values) {
            return Ok(());
        }
        let text = format!(
            "the request holds more than {} JSON values (`max_values` in the gateway's \
             `[server]` section)",
            self.values
        );
        Err(Error::new(ErrorKind::Local, text).with_status(400))
    }

    /// Refuses a request that has more, with the name of the setting.
    pub(crate) fn check(&self, request: &Request) -> Result<()> {
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
                    "the request has {count} {what}, and this gateway takes {most} \
                     (`{setting}` in its `[server]` section)"
                );
                return Err(Error::new(ErrorKind::Local, text).with_status(400));
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
    fn a_request_at_the_limit_is_taken_and_one_above_it_names_the_setting() {
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
                "4 messages, and this gateway takes 3 (`max_messages`",
            ),
            (
                full.tool(Tool::new("u")),
                "2 tools, and this gateway takes 1 (`max_tools`",
            ),
        ] {
            let error = most.check(&request).unwrap_err();
            assert_eq!(error.status(), Some(400));
            assert!(error.message().contains(words), "{error}");
        }
    }
}
