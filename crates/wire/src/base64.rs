//! Base64 (RFC 4648) for images and files, in data URLs (RFC 2397) and on its own.
//!
//! Uses the crate's SIMD engine, selected at run time. It decodes about seven times
//! as fast as the scalar engine, which alone would cost more than parsing the
//! megabyte of JSON around it.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig, Simd};
use bytes::{Bytes, BytesMut};

/// Ignores padding and trailing bits: encoders disagree on both.
static ENGINE: LazyLock<Simd> = LazyLock::new(|| {
    Simd::standard(
        GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    )
});

/// Decodes base64 text; `None` if it is invalid.
pub(crate) fn decode(text: &str) -> Option<Bytes> {
    ENGINE.decode(text).ok().map(Bytes::from)
}

/// Like [`decode`], for dialects that also accept the URL-safe alphabet.
pub(crate) fn decode_either(text: &str) -> Option<Bytes> {
    decode(text).or_else(|| {
        if !text.contains(['-', '_']) {
            return None;
        }
        decode(&text.replace('-', "+").replace('_', "/"))
    })
}

/// Appends bytes as base64 text, without an intermediate copy.
pub(crate) fn encode_into(data: &[u8], out: &mut BytesMut) {
    let start = out.len();
    let length = data.len().div_ceil(3) * 4;
    out.resize(start + length, b'=');
    // The buffer has the exact size, so this cannot fail.
    let _ = ENGINE.encode_slice(data, &mut out[start..]);
}

/// Splits `data:image/png;base64,…` into media type and bytes.
pub(crate) fn decode_data_url(url: &str) -> Option<(&str, Bytes)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?;
    Some((media_type, decode(data)?))
}

/// Writes a data URL as a JSON string.
pub(crate) fn write_data_url(media_type: &str, data: &[u8], out: &mut BytesMut) {
    let mut head = format!("data:{media_type};base64,");
    head.retain(|c| c != '"' && c != '\\' && !c.is_control());
    out.extend_from_slice(b"\"");
    out.extend_from_slice(head.as_bytes());
    encode_into(data, out);
    out.extend_from_slice(b"\"");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn malformed_data_urls_are_rejected() {
        type DataUrlCase<'a> = (&'a str, Option<(&'a str, &'a [u8])>);
        let rows: [DataUrlCase<'_>; 12] = [
            (
                "data:image/png;base64,AQID",
                Some(("image/png", &[1, 2, 3])),
            ),
            ("data:;base64,AQ==", Some(("", &[1]))),
            ("data:image/png;base64,AQ", Some(("image/png", &[1]))),
            ("data:a/b;x=y;base64,AQ==", Some(("a/b;x=y", &[1]))),
            ("data:text/plain,hello", None),
            ("data:image/png;base64,??", None),
            ("data:image/png;base64,AQ ID", None),
            ("data:image/png;base64,AQ\r\nID", None),
            ("data:image/png;base64,AQ\0ID", None),
            ("data:image/png;base64,_-8=", None),
            ("data:image/png;charset=utf-8,AQID", None),
            ("https://x.example/a.png", None),
        ];
        for (url, expected) in rows {
            let expected = expected.map(|(t, d)| (t, Bytes::copy_from_slice(d)));
            assert_eq!(decode_data_url(url), expected, "{url}");
        }
    }

    #[test]
    fn the_url_safe_alphabet_is_opt_in() {
        assert_eq!(decode("_-8="), None);
        for text in ["_-8=", "_-8", "/+8="] {
            assert_eq!(decode_either(text).unwrap(), [0xff, 0xef][..], "{text}");
        }
        assert_eq!(decode_either("_?"), None);
    }

    proptest! {
        #[test]
        fn base64_round_trips(data in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut out = BytesMut::new();
            encode_into(&data, &mut out);
            prop_assert_eq!(decode(std::str::from_utf8(&out).unwrap()).unwrap(), data);
        }
    }
}
