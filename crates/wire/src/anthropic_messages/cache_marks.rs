//! Prompt-cache breakpoints that the gateway sets for clients that set none.
//!
//! Works on a written body, however it was written. A breakpoint is put on the last tool and
//! on the last block of `system`, and the body's own `cache_control` lets the API put one on
//! the last block of the conversation: three of the four that are allowed. The messages keep
//! their bytes, so that every turn begins with the bytes of the turn before.

use bytes::{Bytes, BytesMut};
use majordomo_llm::Request;
use memchr::memmem;

use crate::json::{self, Cursor, JsonKind, Object, ReadResult};
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
    let Ok(text) = std::str::from_utf8(body) else {
        return named;
    };
    let mut found = false;
    let read = json::read_str(text, |cursor| {
        find_mark(cursor, &LISTS, DEEPEST, &mut found)
    });
    found || read.is_err() && named
}

/// Where the dialects have their tools and texts. Other clients than Anthropic's set the field,
/// too.
const LISTS: [&str; 7] = [
    "tools",
    "system",
    "messages",
    "instructions",
    "input",
    "contents",
    "systemInstruction",
];
/// Where the elements of those have parts of their own. Anywhere else, such as in the arguments
/// of a call, the word means something else.
const INNER: [&str; 5] = ["content", "parts", "source", "output", "function"];
/// More than a message with a result with a document with a text needs, each of them in a list.
const DEEPEST: usize = 16;

/// Searches a value and these members of it, to this depth.
fn find_mark(
    cursor: &mut Cursor<'_>,
    members: &[&str],
    depth: usize,
    found: &mut bool,
) -> ReadResult<()> {
    match cursor.peek()? {
        JsonKind::Array if depth > 0 => {
            cursor.array(|cursor| find_mark(cursor, &INNER, depth - 1, found))
        }
        JsonKind::Object if depth > 0 => cursor.loose_object(|key, cursor| match &**key {
            FIELD => {
                *found |= cursor.raw()? != "null";
                Ok(())
            }
            key if members.contains(&key) => find_mark(cursor, &INNER, depth - 1, found),
            _ => Ok(()),
        }),
        _ => cursor.raw().map(drop),
    }
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
    if is_blank(text) {
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
    block.starts_with('{') && text.is_none_or(|text| !is_blank(text))
}

/// Whether a JSON string is empty or consists of white space.
fn is_blank(text: &str) -> bool {
    let mut rest = text.strip_prefix('"').unwrap_or(text);
    loop {
        rest = rest.trim_start();
        let escaped = ["\\n", "\\r", "\\t"];
        let after = escaped.iter().find_map(|escape| rest.strip_prefix(escape));
        match after {
            Some(after) => rest = after,
            None => return rest.is_empty() || rest.starts_with('"'),
        }
    }
}
