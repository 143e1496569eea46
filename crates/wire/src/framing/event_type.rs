//! The type of an event, without parsing it.

/// Returns the value of `type` if it is the object's first key, as dialects
/// with typed events write it. For taps: the SSE event name may be missing, and
/// some servers give every event the same name.
pub(crate) fn event_type(data: &[u8]) -> Option<&[u8]> {
    let value = data.strip_prefix(b"{\"type\":")?.trim_ascii_start();
    let text = value.strip_prefix(b"\"")?;
    let end = memchr::memchr2(b'"', b'\\', text)?;
    (text[end] == b'"').then_some(&text[..end])
}
