//! One sniffer: every crate identifies the same bytes as the same format.

use std::path::Path;

use bytes::Bytes;
use majordomo_image_header::{Format, HeaderError};
use majordomo_llm::Part;
use majordomo_media::{Problem, measure, sniff};
use majordomo_wire::Protocol;

use crate::mediagen::*;

/// A bitmap header of 40 bytes after the file header of 14.
fn bitmap() -> Bytes {
    let mut data = b"BM".to_vec();
    data.extend_from_slice(&[0; 12]);
    data.extend_from_slice(&[40, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 24, 0]);
    data.resize(70, 0);
    data.into()
}

/// Files and their formats; text that starts like a bitmap is not one.
fn samples() -> Vec<(Bytes, Option<Format>)> {
    vec![
        (jpeg(4, 4, smooth), Some(Format::Jpeg)),
        (png(4, 4, smooth), Some(Format::Png)),
        (gif(4, 4, &[[1, 2, 3]]), Some(Format::Gif)),
        (webp::file(webp::LOSSY), Some(Format::Webp)),
        (bitmap(), Some(Format::Bmp)),
        (Bytes::from_static(b"BM"), None),
        (
            Bytes::from_static(b"BMW is a car, not a bitmap of any kind"),
            None,
        ),
        (Bytes::from_static(b"II*\0\x08\0\0\0"), Some(Format::Tiff)),
        (
            Bytes::from_static(b"\0\0\0\x18ftypavif\0\0\0\0"),
            Some(Format::Avif),
        ),
        (
            Bytes::from_static(b"\0\0\0\x18ftypheic\0\0\0\0"),
            Some(Format::Heic),
        ),
        (
            Bytes::from_static(b"\0\0\0\x18ftypmif1\0\0\0\0"),
            Some(Format::Heif),
        ),
        (Bytes::from_static(b"<html></html>"), None),
    ]
}

/// The Ollama codec's reading of an element of `images`, which has no declared type.
fn ollama_type(data: &[u8]) -> Option<String> {
    let images = base64(data);
    let body = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"","images":["{images}"]}}]}}"#
    );
    let incoming = Protocol::Ollama.codec().read_request(body.into()).unwrap();
    let parts = incoming.request.prompt().messages[0].parts.iter();
    parts
        .filter_map(|part| match part {
            Part::Image(image) => Some(image.media_type.clone()),
            _ => None,
        })
        .next()
}

fn base64(data: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = data.chunks(3).map(|group| {
        let bits = group
            .iter()
            .chain([&0; 2])
            .take(3)
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let digit = |at: usize| match at <= group.len() {
            true => DIGITS[(bits >> (18 - 6 * at)) as usize & 63] as char,
            false => '=',
        };
        [0, 1, 2, 3].map(digit)
    });
    groups.flatten().collect()
}

#[test]
fn every_crate_identifies_the_same_format() {
    for (data, format) in samples() {
        let name = data.escape_ascii().to_string();
        assert_eq!(majordomo_image_header::sniff(&data), format, "{name}");
        assert_eq!(sniff(&data), format, "{name}");
        let media_type = format.map(|format| format.media_type().to_owned());
        assert_eq!(ollama_type(&data), media_type, "{name}");
    }
}

#[test]
fn every_crate_measures_the_same_header() {
    for (data, _) in samples() {
        let header = majordomo_image_header::measure(&data);
        assert_eq!(measure(&data), header.map_err(Problem::from));
    }
    assert_eq!(Problem::from(HeaderError::Empty), Problem::Empty);
}

/// Measuring must not cost a build of the codecs.
#[test]
fn wire_and_providers_do_not_depend_on_the_codecs() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["wire", "providers", "image-header"] {
        let manifest = std::fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
        for dependency in ["majordomo-media", "majordomo-codecs"] {
            assert!(!manifest.contains(dependency), "{name} uses {dependency}");
        }
    }
}
