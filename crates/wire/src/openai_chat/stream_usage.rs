//! Usage in streams: Chat Completions reports it only on request, in a separate chunk.

use bytes::{Bytes, BytesMut};
use memchr::memmem;

use super::stream_reader::may_report_usage;
use crate::json::Object;
use crate::splice::{self, FieldAction, Rewrite};

const OPTIONS: &str = "stream_options";
const USAGE: &str = "include_usage";

/// Makes the body of a streamed Chat Completions request ask for usage. Returns `true` if it
/// did not ask before. All other bytes are unchanged.
///
/// ```
/// use majordomo_wire::ask_for_usage;
///
/// let (body, added) = ask_for_usage(r#"{"model":"m","stream":true}"#.into());
/// assert_eq!(body, r#"{"model":"m","stream":true,"stream_options":{"include_usage":true}}"#);
/// assert!(added);
/// assert!(!ask_for_usage(body).1);
/// ```
pub fn ask_for_usage(body: Bytes) -> (Bytes, bool) {
    let named = memmem::find(&body, OPTIONS.as_bytes()).is_some();
    if !named {
        return append(body);
    }
    let Ok(text) = std::str::from_utf8(&body) else {
        return (body, false);
    };
    let mut out = BytesMut::with_capacity(body.len() + 48);
    let mut asking = AskForUsage::default();
    if !splice::object(text, &mut out, &mut asking) || asking.asked {
        return (body, false);
    }
    (out.freeze(), true)
}

/// Adds the field to an object that does not have it, without reading it.
fn append(body: Bytes) -> (Bytes, bool) {
    let end = body.trim_ascii_end().len();
    let Some(end) = end.checked_sub(1).filter(|end| body[*end] == b'}') else {
        return (body, false);
    };
    let comma = match body[..end].trim_ascii() {
        b"{" => "",
        _ => ",",
    };
    let field = format!("{comma}\"{OPTIONS}\":{{\"{USAGE}\":true}}}}");
    // A body that was written for this attempt has no other owner and is not copied.
    let mut out = body.try_into_mut().unwrap_or_else(|body| {
        let mut out = BytesMut::with_capacity(body.len() + field.len());
        out.extend_from_slice(&body);
        out
    });
    out.truncate(end);
    out.extend_from_slice(field.as_bytes());
    (out.freeze(), true)
}

#[derive(Default)]
struct AskForUsage {
    asked: bool,
    written: bool,
}

impl Rewrite for AskForUsage {
    fn field(&mut self, key: &str, value: &str, out: &mut BytesMut) -> FieldAction {
        if key != OPTIONS {
            return FieldAction::Keep;
        }
        self.asked = splice::member(value, USAGE) == Some("true");
        if self.asked {
            return FieldAction::Keep;
        }
        self.written = true;
        let mut include = |key: &str, _: &str, _: &mut BytesMut| match key == USAGE {
            true => FieldAction::Remove,
            false => FieldAction::Keep,
        };
        let mut others = BytesMut::new();
        // A value other than an object counts as no options.
        let is_object = value.starts_with('{') && splice::object(value, &mut others, &mut include);
        let others = others
            .trim_ascii_start()
            .strip_prefix(b"{")
            .unwrap_or_default();
        let others = others.trim_ascii();
        out.extend_from_slice(format!("{{\"{USAGE}\":true").as_bytes());
        if is_object && others != b"}" {
            out.extend_from_slice(b",");
            out.extend_from_slice(others);
        } else {
            out.extend_from_slice(b"}");
        }
        FieldAction::Replace
    }

    fn end(&mut self, object: &mut Object<'_>) {
        if !self.asked && !self.written {
            object.object(OPTIONS, |options| options.bool(USAGE, true));
        }
    }
}

/// Whether a frame of a Chat Completions stream is the chunk that exists only to report
/// usage: it has no choices.
///
/// ```
/// use majordomo_wire::is_usage_chunk;
///
/// assert!(is_usage_chunk(b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n"));
/// assert!(!is_usage_chunk(b"data: {\"choices\":[{}],\"usage\":{\"prompt_tokens\":1}}\n\n"));
/// assert!(!is_usage_chunk(b"data: {\"choices\":[],\"usage\":null}\n\n"));
/// ```
pub fn is_usage_chunk(frame: &[u8]) -> bool {
    if !may_report_usage(frame) {
        return false;
    }
    let Ok(text) = std::str::from_utf8(frame) else {
        return false;
    };
    let Some(data) = text.trim().strip_prefix("data:") else {
        return false;
    };
    let data = data.trim();
    let choices = splice::member(data, "choices").and_then(splice::elements);
    let usage = splice::member(data, "usage").is_some_and(|usage| usage.starts_with('{'));
    usage && choices.is_none_or(|choices| choices.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_asks_for_usage_once_and_keeps_its_other_options() {
        let rows = [
            ("{ }", r#"{ "stream_options":{"include_usage":true}}"#),
            (
                r#"{"model":"m"} "#,
                r#"{"model":"m","stream_options":{"include_usage":true}}"#,
            ),
            (
                r#"{"stream_options":{"include_usage":false,"x":1},"model":"m"}"#,
                r#"{"stream_options":{"include_usage":true,"x":1},"model":"m"}"#,
            ),
            (
                r#"{"stream_options":{ "x": [2] },"model":"m"}"#,
                r#"{"stream_options":{"include_usage":true,"x": [2] },"model":"m"}"#,
            ),
            (
                r#"{"stream_options":null}"#,
                r#"{"stream_options":{"include_usage":true}}"#,
            ),
            (
                r#"{"stream_options":{}}"#,
                r#"{"stream_options":{"include_usage":true}}"#,
            ),
            (
                r#"{"user":"stream_options"}"#,
                r#"{"user":"stream_options","stream_options":{"include_usage":true}}"#,
            ),
        ];
        for (body, expected) in rows {
            let (written, added) = ask_for_usage(Bytes::copy_from_slice(body.as_bytes()));
            assert_eq!(written, expected);
            assert!(added, "{body}");
            assert_eq!(ask_for_usage(written.clone()), (written, false));
        }
    }

    #[test]
    fn a_request_that_asks_keeps_its_bytes() {
        let body = r#"{"stream_options" : {"include_usage":true} , "model":"m"}"#;
        assert_eq!(ask_for_usage(body.into()), (body.into(), false));
        for body in ["", "[]", "nonsense"] {
            assert_eq!(ask_for_usage(body.into()), (body.into(), false));
        }
    }
}
