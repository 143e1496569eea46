//! Call ids in the letters that Anthropic accepts: `[a-zA-Z0-9_-]+`.
//!
//! Models of other providers give ids like `functions.look:0` and expect them
//! back. Such an id is written in another form and read as what it was, so a
//! conversation can move between providers in both directions.

use std::borrow::Cow;

/// Marks an id that is written in another form.
const ESCAPED: &str = "xid_";

/// Whether the id can be written as it is.
pub(super) fn fits(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !id.is_empty() && id.bytes().all(allowed)
}

/// The id as it is written. An empty one stays empty: somebody must make one up.
pub(super) fn write(id: &str) -> Cow<'_, str> {
    if id.is_empty() || fits(id) {
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

/// The id as it was before it was written.
pub(super) fn read(written: &str) -> String {
    unescape(written)
        .filter(|id| write(id) == written)
        .unwrap_or_else(|| written.to_owned())
}

fn unescape(written: &str) -> Option<String> {
    let mut pieces = written.strip_prefix(ESCAPED)?.split('_');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (code, plain) = piece.split_at_checked(2)?;
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
    fn only_ids_that_would_be_refused_are_written_in_another_form() {
        let rows = [
            ("toolu_01-aZ", "toolu_01-aZ"),
            ("", ""),
            ("functions.look:0", "xid_functions_2elook_3a0"),
            ("a_b.c", "xid_a_5fb_2ec"),
            ("é", "xid__c3_a9"),
        ];
        for (id, written) in rows {
            assert_eq!(write(id), written);
            assert_eq!(read(written), id);
        }
    }

    #[test]
    fn an_id_that_only_looks_escaped_is_left_alone() {
        for id in [
            "xid_",
            "xid_abc",
            "xid_a_5fb",
            "xid_a_zz",
            "xid_a_2",
            "call_1",
        ] {
            assert_eq!(read(id), id);
        }
    }

    proptest! {
        #[test]
        fn every_id_survives(id in ".{0,20}") {
            prop_assert!(id.is_empty() || fits(&write(&id)));
            prop_assert_eq!(read(&write(&id)), id);
        }
    }
}
