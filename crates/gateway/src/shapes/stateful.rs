//! Handles requests that refer to what only the provider has: a stored conversation or
//! prompt, cached content, an encrypted summary, an uploaded image.
//!
//! The gateway stores none of it. Such references are passed on to their own dialect, and
//! other targets are skipped: a response to half a conversation would be worse than none.

use majordomo::chain::{Shape, Shaped, TargetView};
use majordomo::llm::Dialect;
use majordomo::{BoxFuture, Error, ErrorKind, Part, Request, Result};

/// Rejects targets that cannot resolve a reference of the request.
pub(crate) struct Stateful;

const NEEDS_MEMORY: [&str; 3] = ["previous_response_id", "conversation", "thread"];

/// An item that stands for one the provider has stored.
const ITEM_REFERENCE: &str = "item_reference";

/// Anthropic's tool runners send the whole conversation when they find this code.
const THREAD_UNSUPPORTED: &str = "thread_unsupported_request";

impl Shape for Stateful {
    fn concerns(&self, request: &Request, target: TargetView<'_>) -> bool {
        reference(request).is_some_and(|(_, origin)| target.dialect != Some(origin))
    }

    fn shape<'a>(
        &'a self,
        request: Request,
        _target: TargetView<'a>,
    ) -> BoxFuture<'a, Result<Shaped>> {
        let name = reference(&request).map_or(ITEM_REFERENCE, |(name, _)| name);
        let text = format!(
            "`{name}` refers to a conversation stored by the provider, but this target has \
             another dialect: send the whole conversation instead{}",
            way_out(name)
        );
        let error = Error::new(ErrorKind::Unsupported, text);
        Box::pin(std::future::ready(Err(match name {
            "thread" => error.with_code(THREAD_UNSUPPORTED),
            _ => error,
        })))
    }
}

/// How a client is made to send the whole conversation.
fn way_out(name: &str) -> &'static str {
    match name {
        "thread" => "",
        _ => ", which clients do with `store: false`",
    }
}

/// The first reference, and the dialect that can resolve it.
fn reference(request: &Request) -> Option<(&'static str, &Dialect)> {
    field(request).or_else(|| item(request))
}

fn field(request: &Request) -> Option<(&'static str, &Dialect)> {
    let native = request.prompt().native.as_ref()?;
    let set = |name: &&str| {
        native
            .get(name)
            .is_some_and(|value| value.as_str() != "null")
    };
    let name = NEEDS_MEMORY.into_iter().find(set)?;
    Some((name, native.dialect()))
}

fn item(request: &Request) -> Option<(&'static str, &Dialect)> {
    let messages = request.prompt().messages.iter();
    let mut parts = messages.flat_map(|message| &message.parts);
    parts.find_map(|part| match part {
        Part::Opaque(block) if block.kind == ITEM_REFERENCE => {
            Some((ITEM_REFERENCE, &block.origin))
        }
        Part::Text(_)
        | Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_)
        | Part::Opaque(_) => None,
    })
}
