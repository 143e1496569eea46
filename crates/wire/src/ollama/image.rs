//! Images: base64 without a media type, which is sniffed from the bytes.

use majordomo_image_header::Format;
use majordomo_llm::{Image, Json, Opaque, OpaqueImages, Part};

use super::OLLAMA;
use crate::base64::{decode, decode_data_url, encode_into};
use crate::json::{Array, Cursor, ReadResult, keep};

/// The kind of an `images` element that is not an image, such as audio.
const KIND: &str = "images";

/// Reads one element of `images`. Anything but a known image stays opaque.
pub(super) fn read(cursor: &mut Cursor<'_>) -> ReadResult<Part> {
    let (text, raw) = cursor.with_raw(Cursor::string)?;
    let data = match decode_data_url(&text) {
        Some((_, data)) => Some(data),
        None => decode(&text),
    };
    let typed = data.and_then(|data| Some((sniff(&data)?, data)));
    Ok(match typed {
        Some((media_type, data)) => Part::Image(Image::new(media_type, data)),
        None => Part::Opaque(unrecognized(keep(raw))),
    })
}

/// An element that may be an image of an unknown format counts as one.
fn unrecognized(raw: Json) -> Opaque {
    let whole = 0..raw.as_str().len();
    Opaque::new(OLLAMA, KIND, raw).with_images(OpaqueImages::new(vec![whole], None))
}

/// The `images` of a request that has messages, which no server reads there.
pub(super) fn unread(raw: &str) -> Option<Opaque> {
    let inner = raw.strip_prefix('[')?.trim_start();
    (!inner.starts_with(']')).then(|| unrecognized(keep(raw)))
}

/// Whether a part is written to `images`.
pub(super) fn belongs(part: &Part) -> bool {
    match part {
        Part::Image(_) => true,
        Part::Opaque(block) => block.origin == OLLAMA && block.kind == KIND,
        Part::Text(_)
        | Part::Refusal(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_) => false,
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
        Part::Text(_)
        | Part::Refusal(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_) => {}
    }
}

/// The media type of an image, by its magic bytes.
pub(super) fn sniff(data: &[u8]) -> Option<&'static str> {
    match majordomo_image_header::sniff(data)? {
        // Documents, which no Ollama model reads from `images`.
        Format::Svg | Format::Pdf => None,
        format => Some(format.media_type()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_identified_by_their_magic_bytes() {
        let bitmap = [b"BM".as_slice(), &[0; 12], &[40, 0, 0, 0], &[0; 40]].concat();
        let rows: [(&[u8], Option<&str>); 13] = [
            (b"\x89PNG\r\n\x1a\n....", Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a..", Some("image/gif")),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\x10\0\0\0WAVEfmt ", None),
            (b"\0\0\0\x18ftypheic....", Some("image/heic")),
            (b"\0\0\0\x18ftypmp42....", None),
            (b"II*\0....", Some("image/tiff")),
            (&bitmap, Some("image/bmp")),
            (b"BM", None),
            (b"<svg/>", None),
            (b"%PDF-1.7", None),
            (b"", None),
        ];
        for (data, expected) in rows {
            assert_eq!(sniff(data), expected, "{data:?}");
        }
    }
}
