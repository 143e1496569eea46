//! Prompt-cache breakpoints that the gateway sets for clients that set none.
//!
//! Works on a written body, however it was written. A breakpoint is put on the last tool and
//! on the last block of `system`, and the body's own `cache_control` lets the API put one on
//! the last block of the conversation: three of the four that are allowed. The messages keep
//! their bytes, so that every turn begins with the bytes of the turn before.

use bytes::{Bytes, BytesMut};
use majordomo_llm::Request;
use memchr::memmem;

use super::MESSAGES;
use crate::json::Object;
use crate::splice::{self, FieldAction, Rewrite};

const FIELD: &str = "cache_control";
const MARK: &str = r#"{"type":"ephemeral"}"#;

/// Sets prompt-cache breakpoints in the body of a Messages request. Returns the marked parts,
/// such as `tools, system, last turn`; `None` if all of them were marked already.
///
/// ```
/// use majordomo_wire::mark_prompt_cache;
///
/// let body = r#"{"system":"Be terse.","messages":[{"role":"user","content":"hi"}]}"#;
/// let (body, marked) = mark_prompt_cache(body.into());
/// assert_eq!(marked.as_deref(), Some("system, last turn"));
/// assert!(body.starts_with(br#"{"system":[{"type":"text","text":"Be terse.","cache_control""#));
/// ```
pub fn mark_prompt_cache(body: Bytes) -> (Bytes, Option<String>) {
    let Ok(text) = std::str::from_utf8(&body) else {
        return (body, None);
    };
    let mut out = BytesMut::with_capacity(body.len() + 160);
    let mut marking = Marking::default();
    if !splice::object(text, &mut out, &mut marking) || marking.marked.is_empty() {
        return (body, None);
    }
    (out.freeze(), Some(marking.marked.join(", ")))
}

/// Whether a client set its own breakpoints, anywhere in its request.
pub fn sets_cache_marks(request: &Request) -> bool {
    let Some(source) = request.source() else {
        return false;
    };
    let body = source.bytes();
    // A key can be written with escapes.
    let named = memmem::find(body, FIELD.as_bytes()).is_some();
    if !named && memmem::find(body, b"\\u").is_none() {
        return false;
    }
    if *source.dialect() != MESSAGES {
        return named;
    }
    // Anywhere else, such as in the arguments of a call, the word means something else.
    let Ok(text) = std::str::from_utf8(body) else {
        return named;
    };
    let lists = ["tools", "system", "messages"];
    let inside = |list: &str| splice::member(text, list).is_some_and(|list| any_marked(list, 2));
    is_marked(text) || lists.into_iter().any(inside)
}

/// Whether an element of a list, or of its `content`, is marked, to this depth.
fn any_marked(list: &str, depth: usize) -> bool {
    let elements = list.starts_with('[').then(|| splice::elements(list));
    let mut elements = elements.flatten().into_iter().flatten();
    elements.any(|element| {
        let content = || splice::member(element, "content");
        is_marked(element)
            || depth > 0 && content().is_some_and(|inner| any_marked(inner, depth - 1))
    })
}

fn is_marked(object: &str) -> bool {
    splice::member(object, FIELD).is_some_and(|mark| mark != "null")
}

/// Marks a body while it is copied.
#[derive(Default)]
struct Marking {
    marked: Vec<&'static str>,
    has_own: bool,
}

impl Rewrite for Marking {
    fn field(&mut self, key: &str, value: &str, out: &mut BytesMut) -> FieldAction {
        let marked = match key {
            "tools" => mark_last(value, out, is_loaded).then_some("tools"),
            "system" if value.starts_with('"') => mark_text(value, out).then_some("system"),
            "system" => mark_last(value, out, has_text).then_some("system"),
            FIELD if value == "null" => return FieldAction::Remove,
            FIELD => {
                self.has_own = true;
                None
            }
            _ => None,
        };
        let Some(marked) = marked else {
            return FieldAction::Keep;
        };
        self.marked.push(marked);
        FieldAction::Replace
    }

    fn end(&mut self, object: &mut Object<'_>) {
        if !self.has_own {
            object.raw(FIELD, MARK);
            self.marked.push("last turn");
        }
    }
}

/// Writes a text as a list with one marked block.
fn mark_text(text: &str, out: &mut BytesMut) -> bool {
    if text[1..].trim_start().starts_with('"') {
        return false;
    }
    let block = format!(r#"[{{"type":"text","text":{text},"{FIELD}":{MARK}}}]"#);
    out.extend_from_slice(block.as_bytes());
    true
}

/// Copies a list and marks the last markable element; writes nothing if there is none.
fn mark_last(list: &str, out: &mut BytesMut, can_be: impl Fn(&str) -> bool) -> bool {
    let elements = list.starts_with('[').then(|| splice::elements(list));
    let elements = elements.flatten().unwrap_or_default();
    let Some(last) = elements.iter().rfind(|element| can_be(element)) else {
        return false;
    };
    // An element is a part of the list's own text.
    let start = last.as_ptr() as usize - list.as_ptr() as usize;
    out.extend_from_slice(&list.as_bytes()[..start]);
    splice::object(last, out, &mut MarkBlock);
    out.extend_from_slice(&list.as_bytes()[start + last.len()..]);
    true
}

/// Adds the mark to an object.
struct MarkBlock;

impl Rewrite for MarkBlock {
    fn field(&mut self, key: &str, _: &str, _: &mut BytesMut) -> FieldAction {
        match key {
            FIELD => FieldAction::Remove,
            _ => FieldAction::Keep,
        }
    }

    fn end(&mut self, object: &mut Object<'_>) {
        object.raw(FIELD, MARK);
    }
}

/// A tool that the model must search for first is not part of the prefix.
fn is_loaded(tool: &str) -> bool {
    tool.starts_with('{') && splice::member(tool, "defer_loading") != Some("true")
}

/// The API rejects a mark on an empty text.
fn has_text(block: &str) -> bool {
    let text = splice::member(block, "text");
    block.starts_with('{') && text.is_none_or(|text| !text.trim_matches('"').trim().is_empty())
}
