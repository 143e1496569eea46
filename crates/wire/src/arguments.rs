//! The arguments of a tool call, as a text and as an object.
//!
//! Models do write invalid JSON. Dialects whose arguments are a string carry it unchanged; all
//! others get it as a string inside an object.

use std::borrow::Cow;

use crate::json::{self, Cursor, JsonKind, ReadResult, is_complete};
use crate::loss::{LossVerb, Losses};
use bytes::BytesMut;
use majordomo_llm::Part;

/// The arguments of a call without any.
pub(crate) const NO_ARGUMENTS: &str = "{}";

/// Reads arguments: a JSON text, or the value itself. Null is empty, and so is an
/// empty list, the form in which PHP writes an empty object.
pub(crate) fn read_arguments<'a>(cursor: &mut Cursor<'a>) -> ReadResult<Cow<'a, str>> {
    if cursor.peek()? == JsonKind::String {
        return cursor.string();
    }
    let raw = cursor.raw()?;
    Ok(Cow::Borrowed(match json::is_empty(raw) {
        true => "",
        false => raw,
    }))
}

/// Returns the arguments of a complete call. Absent, null and empty arguments all
/// mean none.
pub(crate) fn arguments_or_none(arguments: Cow<'_, str>) -> String {
    match arguments.trim().is_empty() {
        true => NO_ARGUMENTS.to_owned(),
        false => arguments.into_owned(),
    }
}

/// Completes the arguments of all calls.
pub(crate) fn complete_arguments(parts: &mut [Part]) {
    for part in parts {
        if let Part::ToolCall(call) = part {
            call.arguments = arguments_or_none(std::mem::take(&mut call.arguments).into());
        }
    }
}

/// Returns the arguments as an object. Anything else becomes a string inside one.
pub(crate) fn object_arguments<'a>(arguments: &'a str, losses: &mut Losses) -> Cow<'a, str> {
    let text = arguments.trim();
    if text.is_empty() {
        return Cow::Borrowed(NO_ARGUMENTS);
    }
    if text.starts_with('{') && is_complete(text) {
        return Cow::Borrowed(text);
    }
    losses.record(
        LossVerb::Wrapped,
        "arguments",
        "not a JSON object, written as the string `arguments` inside one",
    );
    let mut out = BytesMut::with_capacity(text.len() + 16);
    json::object(&mut out, |o| o.string("arguments", arguments));
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_no_object_are_wrapped_and_listed() {
        for (given, written, wrapped) in [
            ("", "{}", false),
            (" \n", "{}", false),
            (" {\"a\":1} ", "{\"a\":1}", false),
            ("{\"a\": 1", r#"{"arguments":"{\"a\": 1"}"#, true),
            ("[1]", r#"{"arguments":"[1]"}"#, true),
            ("null", r#"{"arguments":"null"}"#, true),
        ] {
            let mut losses = Losses::default();
            assert_eq!(object_arguments(given, &mut losses), written);
            let verbs: Vec<_> = losses.into_vec().iter().map(|loss| loss.verb).collect();
            let expected: &[LossVerb] = if wrapped { &[LossVerb::Wrapped] } else { &[] };
            assert_eq!(verbs, expected, "{given}");
        }
    }
}
