//! Call ids in the alphabet that Anthropic accepts: `[a-zA-Z0-9_-]+`.
//!
//! Other providers' models generate ids like `functions.look:0` and expect them
//! back. Such ids are escaped on writing and unescaped on reading, so a
//! conversation can move between providers in both directions.

use std::borrow::Cow;

/// Prefix of an escaped id.
const ESCAPED: &str = "xid_";

/// Whether Anthropic accepts the id.
pub(super) fn is_valid(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !id.is_empty() && id.bytes().all(allowed)
}

/// Escapes an id if necessary. An empty id stays empty; the caller must
/// generate one.
pub(super) fn encode(id: &str) -> Cow<'_, str> {
    if id.is_empty() || is_valid(id) {
        return Cow::Borrowed(id);
    }
    let mut written = String::from(ESCAPED);
    for byte in id.bytes() {
        match byte {
            b'-' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => written.push(byte.into()),
            other => written.push_str(&format!("_{other:02x}")),
        }
    }
    Cow::Owned(written)
}

/// Recovers the original id.
pub(super) fn decode(written: &str) -> String {
    unescape(written)
        .filter(|id| encode(id) == written)
        .unwrap_or_else(|| written.to_owned())
}

fn unescape(written: &str) -> Option<String> {
    let mut segments = written.strip_prefix(ESCAPED)?.split('_');
    let mut bytes = segments.next()?.as_bytes().to_vec();
    for segment in segments {
        let (code, plain) = segment.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(plain.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_invalid_ids_are_escaped() {
        let rows = [
            ("toolu_01-aZ", "toolu_01-aZ"),
            ("", ""),
            ("functions.look:0", "xid_functions_2elook_3a0"),
            ("a_b.c", "xid_a_5fb_2ec"),
            ("é", "xid__c3_a9"),
        ];
        for (id, written) in rows {
            assert_eq!(encode(id), written);
            assert_eq!(decode(written), id);
        }
    }

    #[test]
    fn an_id_that_only_looks_escaped_is_unchanged() {
        for id in [
            "xid_",
            "xid_abc",
            "xid_a_5fb",
            "xid_a_zz",
            "xid_a_2",
            "call_1",
        ] {
            assert_eq!(decode(id), id);
        }
    }

    proptest! {
        #[test]
        fn every_id_round_trips(id in ".{0,20}") {
            prop_assert!(id.is_empty() || is_valid(&encode(&id)));
            prop_assert_eq!(decode(&encode(&id)), id);
        }
    }
}
