//! Dispatches to the header parser of a format.

use crate::header::Header;
use crate::{Format, HeaderError, gif, jpeg, png, sniff, webp};

/// Parses the header of a JPEG, PNG, GIF or WebP.
///
/// ```
/// let gif = b"GIF89a\x20\x00\x10\x00\x00\x00\x00;";
/// let header = majordomo_image_header::measure(gif).unwrap();
/// assert_eq!((header.width, header.height), (32, 16));
/// ```
pub fn measure(data: &[u8]) -> Result<Header, HeaderError> {
    if data.is_empty() {
        return Err(HeaderError::Empty);
    }
    let format = sniff(data).ok_or(HeaderError::Unrecognised)?;
    let header = match format {
        Format::Jpeg => jpeg::measure(data),
        Format::Png => png::measure(data),
        Format::Gif => gif::measure(data),
        Format::Webp => webp::measure(data),
        other => return Err(HeaderError::NotParsed(other)),
    };
    let header = header.ok_or(HeaderError::Damaged(format))?;
    if header.pixels() == 0 {
        return Err(HeaderError::NoPixels);
    }
    Ok(header)
}

/// Where the image ends in `data`, if its end is there; more may follow.
///
/// ```
/// let gif = b"GIF89a\x20\x00\x10\x00\x00\x00\x00;";
/// let padded = [&gif[..], &[0; 9]].concat();
/// assert_eq!(majordomo_image_header::end(&padded), Some(gif.len()));
/// ```
pub fn end(data: &[u8]) -> Option<usize> {
    match sniff(data)? {
        Format::Jpeg => jpeg::end(data),
        Format::Png => png::end(data),
        Format::Gif => gif::end(data),
        Format::Webp => webp::end(data),
        _ => None,
    }
}
