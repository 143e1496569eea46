//! Handles requests that refer to what only the provider has: a stored conversation or
//! prompt, cached content, an encrypted summary, an uploaded image.
//!
//! The gateway stores none of it. Such references are passed on to their own dialect, and
//! other targets are skipped: a response to half a conversation would be worse than none.

use majordomo::chain::{Shape, Shaped, TargetView};
use majordomo::llm::{Dialect, ImageRef, Opaque};
use majordomo::{BoxFuture, Error, ErrorKind, Part, Request, Result};
use majordomo_wire::{Protocol, read_opaque_image};

/// Rejects targets that cannot resolve a reference of the request.
pub(crate) struct Stateful;

/// One way to refer to what the provider has.
struct ReferenceForm {
    protocol: Protocol,
    /// The field, or the type of the item.
    name: &'static str,
    /// Completes "refers to …".
    stored: &'static str,
    /// What the client can send to any target.
    instead: &'static str,
}

const CONVERSATION: &str = "a conversation stored by the provider";
const NOT_STORED: &str = "the whole conversation instead, which clients do with `store: false`";

const fn conversation(name: &'static str) -> ReferenceForm {
    ReferenceForm {
        protocol: Protocol::Responses,
        name,
        stored: CONVERSATION,
        instead: NOT_STORED,
    }
}

const fn compacted(name: &'static str) -> ReferenceForm {
    ReferenceForm {
        protocol: Protocol::Responses,
        name,
        stored: "a conversation encrypted by the provider",
        instead: "the items that it stands for",
    }
}

/// Fields of a request.
const FIELDS: [ReferenceForm; 6] = [
    conversation("previous_response_id"),
    conversation("conversation"),
    ReferenceForm {
        protocol: Protocol::Responses,
        name: "prompt",
        stored: "a prompt stored by the provider",
        instead: "its text instead",
    },
    ReferenceForm {
        protocol: Protocol::Messages,
        name: "thread",
        stored: CONVERSATION,
        instead: "the whole conversation instead",
    },
    ReferenceForm {
        protocol: Protocol::Gemini,
        name: "cachedContent",
        stored: "content cached by the provider",
        instead: "the content itself",
    },
    ReferenceForm {
        protocol: Protocol::Ollama,
        name: "context",
        stored: "a conversation that only an Ollama server can read",
        instead: "the whole conversation to /api/chat instead",
    },
];

/// Items of a conversation.
const ITEMS: [ReferenceForm; 4] = [
    conversation("item_reference"),
    compacted("compaction"),
    compacted("compaction_summary"),
    compacted("context_compaction"),
];

/// An image that only the provider can open; its protocol is that of its block.
const IMAGE: (&str, &str) = (
    "an image that only its provider can open",
    "its bytes instead",
);

/// Anthropic's tool runners send the whole conversation when they find this code.
const THREAD_UNSUPPORTED: &str = "thread_unsupported_request";

/// A reference, and the dialect that can resolve it.
struct Reference<'a> {
    name: &'a str,
    stored: &'static str,
    instead: &'static str,
    origin: &'a Dialect,
}

impl Shape for Stateful {
    fn concerns(&self, request: &Request, target: TargetView<'_>) -> bool {
        find(request).is_some_and(|found| target.dialect != Some(found.origin))
    }

    fn shape<'a>(
        &'a self,
        request: Request,
        _target: TargetView<'a>,
    ) -> BoxFuture<'a, Result<Shaped>> {
        let refusal = find(&request).map(|found| refusal(&found));
        Box::pin(std::future::ready(match refusal {
            Some(error) => Err(error),
            None => Ok(Shaped {
                request,
                changes: Vec::new(),
            }),
        }))
    }
}

fn refusal(found: &Reference<'_>) -> Error {
    let Reference {
        name,
        stored,
        instead,
        ..
    } = found;
    let text =
        format!("`{name}` refers to {stored}, but this target has another dialect: send {instead}");
    let error = Error::new(ErrorKind::Unsupported, text);
    match *name {
        "thread" => error.with_code(THREAD_UNSUPPORTED),
        _ => error,
    }
}

/// Whether a request has no conversation and refers to none.
pub(crate) fn lacks_conversation(request: &Request) -> bool {
    request.prompt().messages.is_empty() && field(request).is_none()
}

/// The first reference of a request.
fn find(request: &Request) -> Option<Reference<'_>> {
    field(request)
        .or_else(|| item(request))
        .or_else(|| image(request))
}

fn field(request: &Request) -> Option<Reference<'_>> {
    let native = request.prompt().native.as_deref()?;
    let origin = native.dialect();
    let is_set = |form: &&ReferenceForm| {
        let value = native.get(form.name).map(|value| value.as_str());
        value.is_some_and(|value| !matches!(value, "null" | "\"\"" | "[]"))
    };
    let mut own = FIELDS
        .iter()
        .filter(|form| form.protocol.dialect() == *origin);
    own.find(is_set).map(|form| form.reference(origin))
}

fn item(request: &Request) -> Option<Reference<'_>> {
    let messages = request.prompt().messages.iter();
    let mut parts = messages.flat_map(|message| &message.parts);
    parts.find_map(|part| match part {
        Part::Opaque(block) => {
            let is_form = |form: &&ReferenceForm| {
                form.name == block.kind && form.protocol.dialect() == block.origin
            };
            let form = ITEMS.iter().find(is_form)?;
            Some(form.reference(&block.origin))
        }
        Part::Text(_)
        | Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_) => None,
    })
}

/// Images of messages and of tool results, not those inside documents, which are dropped
/// with them.
fn image(request: &Request) -> Option<Reference<'_>> {
    let mut images = request.prompt().messages.iter().flat_map(|m| m.images());
    images.find_map(|image| match image {
        ImageRef::Opaque { block, index } if is_stored_image(block, index) => Some(Reference {
            name: &block.kind,
            stored: IMAGE.0,
            instead: IMAGE.1,
            origin: &block.origin,
        }),
        _ => None,
    })
}

/// Whether the block is an image, and nothing else, of which only its provider has the bytes.
fn is_stored_image(block: &Opaque, index: usize) -> bool {
    let whole = block.raw.as_str().trim().len();
    let is_whole = block
        .images()
        .get(index)
        .is_some_and(|span| span.len() == whole);
    is_whole && read_opaque_image(block, index).is_none()
}

impl ReferenceForm {
    fn reference<'a>(&self, origin: &'a Dialect) -> Reference<'a> {
        Reference {
            name: self.name,
            stored: self.stored,
            instead: self.instead,
            origin,
        }
    }
}
