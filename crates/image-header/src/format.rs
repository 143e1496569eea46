//! Image formats, identified by magic bytes rather than by the declared type.

use std::fmt;

/// An image format that [`sniff`] recognises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// JPEG.
    Jpeg,
    /// PNG, including APNG.
    Png,
    /// GIF.
    Gif,
    /// WebP: lossy, lossless or animated.
    Webp,
    /// HEIC: HEVC in an ISO base media file.
    Heic,
    /// HEIF with any other codec.
    Heif,
    /// AVIF.
    Avif,
    /// Windows bitmap.
    Bmp,
    /// TIFF.
    Tiff,
    /// SVG.
    Svg,
    /// PDF, which some clients attach as if it were an image.
    Pdf,
}

impl Format {
    const ALL: [Self; 11] = [
        Self::Jpeg,
        Self::Png,
        Self::Gif,
        Self::Webp,
        Self::Heic,
        Self::Heif,
        Self::Avif,
        Self::Bmp,
        Self::Tiff,
        Self::Svg,
        Self::Pdf,
    ];

    /// The registered MIME type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Heic => "image/heic",
            Self::Heif => "image/heif",
            Self::Avif => "image/avif",
            Self::Bmp => "image/bmp",
            Self::Tiff => "image/tiff",
            Self::Svg => "image/svg+xml",
            Self::Pdf => "application/pdf",
        }
    }

    /// Parses a MIME type; ignores case and parameters, and accepts `image/jpg`.
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        if essence.eq_ignore_ascii_case("image/jpg") {
            return Some(Self::Jpeg);
        }
        Self::ALL
            .into_iter()
            .find(|format| format.media_type().eq_ignore_ascii_case(essence))
    }

    /// Whether [`measure`](crate::measure) parses headers of this format, and
    /// `majordomo-codecs` decodes it.
    pub fn decodes(self) -> bool {
        matches!(self, Self::Jpeg | Self::Png | Self::Gif | Self::Webp)
    }
}

/// The lower-case name used in changes and errors.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jpeg => "jpeg",
            Self::Png => "png",
            Self::Gif => "gif",
            Self::Webp => "webp",
            Self::Heic => "heic",
            Self::Heif => "heif",
            Self::Avif => "avif",
            Self::Bmp => "bmp",
            Self::Tiff => "tiff",
            Self::Svg => "svg",
            Self::Pdf => "pdf",
        })
    }
}

/// Identifies the format by its magic bytes.
///
/// ```
/// use majordomo_image_header::{Format, sniff};
///
/// assert_eq!(sniff(b"GIF89a..."), Some(Format::Gif));
/// assert_eq!(sniff(b"<html>"), None);
/// ```
pub fn sniff(data: &[u8]) -> Option<Format> {
    let starts = |magic: &[u8]| data.starts_with(magic);
    if starts(b"\xFF\xD8\xFF") {
        Some(Format::Jpeg)
    } else if starts(b"\x89PNG\r\n\x1A\n") {
        Some(Format::Png)
    } else if starts(b"GIF87a") || starts(b"GIF89a") {
        Some(Format::Gif)
    } else if starts(b"RIFF") && data.get(8..12) == Some(b"WEBP") {
        Some(Format::Webp)
    } else if data.get(4..8) == Some(b"ftyp") {
        sniff_iso(data)
    } else if starts(b"BM") && data.len() >= 26 && is_bitmap_header(data) {
        Some(Format::Bmp)
    } else if starts(b"II*\0") || starts(b"MM\0*") {
        Some(Format::Tiff)
    } else if starts(b"%PDF-") {
        Some(Format::Pdf)
    } else if is_svg(data) {
        Some(Format::Svg)
    } else {
        None
    }
}

/// The major brand of an ISO base media file, or the first compatible brand that is
/// an image (ISO/IEC 14496-12, section 4.3).
fn sniff_iso(data: &[u8]) -> Option<Format> {
    let size = u32::from_be_bytes(*data.first_chunk()?) as usize;
    let end = size.clamp(12, 256).min(data.len());
    let brands = data.get(8..end)?.chunks_exact(4).enumerate();
    // The second word is the minor version, not a brand.
    brands
        .filter(|(at, _)| *at != 1)
        .find_map(|(_, brand)| match brand {
            b"avif" | b"avis" => Some(Format::Avif),
            b"heic" | b"heix" | b"hevc" | b"hevx" | b"heim" | b"heis" => Some(Format::Heic),
            b"mif1" | b"msf1" | b"heif" => Some(Format::Heif),
            _ => None,
        })
}

/// `BM` alone is weak evidence: the DIB header that follows must have a known size.
fn is_bitmap_header(data: &[u8]) -> bool {
    let length = data.get(14..18).map(|bytes| bytes[0]);
    matches!(length, Some(12 | 16 | 40 | 52 | 56 | 64 | 108 | 124))
        && data.get(15..18) == Some(&[0; 3])
}

fn is_svg(data: &[u8]) -> bool {
    let head = &data[..data.len().min(1024)];
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let head = head.trim_ascii_start();
    let has_tag = || head.windows(4).any(|window| window == b"<svg");
    head.starts_with(b"<svg")
        || ((head.starts_with(b"<?xml") || head.starts_with(b"<!--")) && has_tag())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_identified_by_their_magic_bytes() {
        let bitmap: Vec<u8> = [b"BM".as_slice(), &[0; 12], &[40, 0, 0, 0], &[0; 40]].concat();
        let table: [(&[u8], Option<Format>); 17] = [
            (b"\xFF\xD8\xFF\xE0", Some(Format::Jpeg)),
            (b"\x89PNG\r\n\x1A\n", Some(Format::Png)),
            (b"GIF87a", Some(Format::Gif)),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some(Format::Webp)),
            (b"\0\0\0\x18ftypheic\0\0\0\0", Some(Format::Heic)),
            (b"\0\0\0\x18ftypmif1\0\0\0\0", Some(Format::Heif)),
            (b"\0\0\0\x18ftypavif\0\0\0\0", Some(Format::Avif)),
            (b"\0\0\0\x18ftypisom\0\0\0\0avif", Some(Format::Avif)),
            (b"\0\0\0\x18ftypisom\0\0\0\0mp42", None),
            (&bitmap, Some(Format::Bmp)),
            (b"BMW is a car, not a bitmap of any kind", None),
            (b"II*\0\x08\0\0\0", Some(Format::Tiff)),
            (b"%PDF-1.7", Some(Format::Pdf)),
            (b" <svg xmlns='x'/>", Some(Format::Svg)),
            (b"<?xml version='1.0'?><svg/>", Some(Format::Svg)),
            (b"<html><svg/></html>", None),
            (b"", None),
        ];
        for (bytes, format) in table {
            assert_eq!(sniff(bytes), format, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn media_types_parse_in_any_case_with_parameters_and_aliases() {
        for (name, format) in [
            ("image/jpg", Some(Format::Jpeg)),
            ("IMAGE/PNG", Some(Format::Png)),
            ("image/webp; q=1", Some(Format::Webp)),
            ("image/svg+xml", Some(Format::Svg)),
            ("text/html", None),
            ("", None),
        ] {
            assert_eq!(Format::of_media_type(name), format, "{name}");
        }
    }
}
