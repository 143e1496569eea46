//! Pictures: base64 without a type, which the bytes themselves tell.

use majordomo_llm::{Image, Opaque, Part};

use super::OLLAMA;
use crate::base64::{decode, decode_data_url, encode_into};
use crate::json::{Array, Cursor, ReadResult, keep};

/// The kind of what came as a picture and is none, such as sound.
const KIND: &str = "images";

/// Reads one element of `images`. What is no known picture stays as it is.
pub(super) fn read(cursor: &mut Cursor<'_>) -> ReadResult<Part> {
    let (text, raw) = cursor.with_raw(Cursor::string)?;
    let data = match decode_data_url(&text) {
        Some((_, data)) => Some(data),
        None => decode(&text),
    };
    let typed = data.and_then(|data| Some((sniff(&data)?, data)));
    Ok(match typed {
        Some((media_type, data)) => Part::Image(Image::new(media_type, data)),
        None => Part::Opaque(Opaque {
            origin: OLLAMA,
            kind: KIND.to_owned(),
            raw: keep(raw),
        }),
    })
}

/// Whether a part has its place in `images`.
pub(super) fn belongs(part: &Part) -> bool {
    match part {
        Part::Image(_) => true,
        Part::Opaque(block) => block.origin == OLLAMA && block.kind == KIND,
        _ => false,
    }
}

/// Writes one element of `images`.
pub(super) fn write(part: &Part, array: &mut Array<'_>) {
    match part {
        Part::Image(image) => {
            let out = array.value();
            out.extend_from_slice(b"\"");
            encode_into(&image.data, out);
            out.extend_from_slice(b"\"");
        }
        Part::Opaque(block) => array.raw(block.raw.as_str()),
        _ => {}
    }
}

/// The type of a picture by its first bytes.
pub(super) fn sniff(data: &[u8]) -> Option<&'static str> {
    const STARTS: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"II*\0", "image/tiff"),
        (b"MM\0*", "image/tiff"),
        (b"BM", "image/bmp"),
    ];
    let start = STARTS.iter().find(|(magic, _)| data.starts_with(magic));
    start.map(|(_, media_type)| *media_type).or_else(|| {
        match (data.get(..4)?, data.get(4..8)?, data.get(8..12)?) {
            (b"RIFF", _, b"WEBP") => Some("image/webp"),
            (_, b"ftyp", b"avif" | b"avis") => Some("image/avif"),
            (_, b"ftyp", b"heic" | b"heix" | b"hevc" | b"hevx") => Some("image/heic"),
            (_, b"ftyp", b"mif1" | b"msf1") => Some("image/heif"),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_known_by_their_first_bytes() {
        let rows: [(&[u8], Option<&str>); 10] = [
            (b"\x89PNG\r\n\x1a\n....", Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a..", Some("image/gif")),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\x10\0\0\0WAVEfmt ", None),
            (b"\0\0\0\x18ftypheic....", Some("image/heic")),
            (b"\0\0\0\x18ftypmp42....", None),
            (b"II*\0....", Some("image/tiff")),
            (b"BM", Some("image/bmp")),
            (b"", None),
        ];
        for (data, expected) in rows {
            assert_eq!(sniff(data), expected, "{data:?}");
        }
    }
}
