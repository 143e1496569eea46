//! Rejects requests that a target is known not to support, before anything is sent.
//!
//! A chain shapes its requests, so this matters only for direct calls of a model. Some servers
//! respond with 200 to a request that they do not support and would drop images silently.

use majordomo_llm::{
    Capabilities, Error, ErrorKind, Image, ImageLimits, ImageRef, OutputFormat, Request, Result,
};
use majordomo_wire::Codec;

pub(super) fn check_request(request: &Request, can: &Capabilities, stream: bool) -> Result<()> {
    if stream && !can.streaming {
        return Err(unsupported("it does not support streaming"));
    }
    if !can.tools && !request.prompt().tools.is_empty() {
        return Err(unsupported("it calls no tools"));
    }
    if !can.structured && matches!(request.prompt().output, OutputFormat::Schema(_)) {
        return Err(unsupported("it does not support structured output"));
    }
    let count = request.prompt().image_count();
    match &can.images {
        _ if count == 0 => Ok(()),
        None => Err(takes_no_images()),
        Some(limits) => check_images(request, limits, count),
    }
}

/// Rejects images given by URLs that the target's dialect cannot express: they would be
/// dropped, and the model would respond to an incomplete request.
pub(super) fn check_image_urls(request: &Request, codec: &dyn Codec) -> Result<()> {
    let own = request
        .source()
        .is_some_and(|source| *source.dialect() == codec.dialect());
    let expressible = |image| match image {
        ImageRef::Remote(remote) => codec.takes_image_url(&remote.url),
        ImageRef::Inline(_) | ImageRef::File(_) | ImageRef::Opaque { .. } => true,
    };
    if own || request.prompt().images().all(expressible) {
        return Ok(());
    }
    Err(unsupported("it takes no image by URL: attach its bytes"))
}

fn check_images(request: &Request, limits: &ImageLimits, count: usize) -> Result<()> {
    if let Some(max) = limits.max_count.filter(|max| count > *max) {
        let text = format!("{count} images are too many: it takes {max}");
        return Err(unsupported(&text));
    }
    let mut total = 0;
    for (number, image) in (1..).zip(request.prompt().images()) {
        let ImageRef::Inline(image) = image else {
            continue;
        };
        let bytes = limits.counted.of(image.data.len() as u64);
        total += bytes;
        if !limits.allows_type(&image.media_type) {
            let text = format!(
                "image {number} is {}, which it does not accept",
                image.media_type
            );
            return Err(unsupported(&text));
        }
        if let Some(max) = limits.max_bytes.filter(|max| bytes > *max) {
            let text = format!("image {number} has {bytes} bytes: it takes {max}");
            return Err(unsupported(&text));
        }
        if let Some(why) = too_large(image, limits, count) {
            return Err(unsupported(&format!("image {number} {why}")));
        }
    }
    match limits.max_total_bytes.filter(|max| total > *max) {
        Some(max) => {
            let text = format!("the images have {total} bytes together: it takes {max}");
            Err(unsupported(&text))
        }
        None => Ok(()),
    }
}

/// The pixel limit that an image exceeds. An image without a readable header has no
/// known size and is left to the target.
fn too_large(image: &Image, limits: &ImageLimits, count: usize) -> Option<String> {
    let max_px = limits.max_px_among(count);
    if max_px.is_none() && limits.patches.is_none() {
        return None;
    }
    let header = image.data.header().ok()?;
    let (width, height) = (header.width, header.height);
    if let Some(max) = max_px.filter(|max| header.longer_side() > *max) {
        return Some(format!("is {width}×{height}: it takes {max} px a side"));
    }
    let patches = limits.patches.filter(|patches| patches.size > 0)?;
    let across = |side: u32| u64::from(side.div_ceil(patches.size));
    let (needed, max) = (across(width) * across(height), patches.max);
    (needed > max).then(|| match patches.size {
        1 => format!("has {needed} pixels: it takes {max}"),
        size => format!("is {needed} patches of {size} px: it takes {max}"),
    })
}

pub(super) fn takes_no_images() -> Error {
    unsupported("it takes no images")
}

fn unsupported(text: &str) -> Error {
    Error::new(ErrorKind::Unsupported, text)
}

#[cfg(test)]
mod tests {
    use majordomo_llm::{
        ByteCount, Json, ManyImages, Message, Part, PatchLimit, RemoteImage, Tool, ToolCall,
        ToolResult,
    };

    use majordomo_wire::Protocol;

    use super::*;

    fn png(bytes: usize) -> Part {
        Part::image("image/png", vec![0; bytes])
    }

    fn limits(limits: ImageLimits) -> Capabilities {
        Capabilities::default().with_images(Some(limits))
    }

    #[test]
    fn each_exceeded_limit_is_named() {
        let two = Request::user(png(10)).part(png(20));
        let tools = Request::user("hi").tool(Tool::new("look"));
        let schema = Request::user("hi").schema(Json::parse("{}").unwrap(), "x");
        let none = ImageLimits::default;
        let rows = [
            (tools, Capabilities::default().with_tools(false), "no tools"),
            (
                schema,
                Capabilities::default().with_structured(false),
                "structured output",
            ),
            (two.clone(), Capabilities::text_only(), "takes no images"),
            (
                two.clone(),
                limits(none().with_max_count(Some(1))),
                "2 images are too many",
            ),
            (
                two.clone(),
                limits(none().with_max_bytes(Some(19))),
                "image 2 has 20 bytes",
            ),
            (
                two.clone(),
                limits(
                    none()
                        .with_max_bytes(Some(25))
                        .with_counted(ByteCount::Base64),
                ),
                "image 2 has 28 bytes",
            ),
            (
                two.clone(),
                limits(none().with_max_total_bytes(Some(29))),
                "30 bytes together",
            ),
            (
                two.clone(),
                limits(none().with_types(vec!["image/jpeg".into()])),
                "image 1 is image/png",
            ),
        ];
        for (request, can, part) in rows {
            let error = check_request(&request, &can, false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.message().contains(part), "{error}");
        }
        assert!(check_request(&two, &Capabilities::default(), true).is_ok());
    }

    #[test]
    fn an_image_by_url_is_unsupported_where_the_dialect_has_no_urls() {
        let request = |url: &str| {
            let remote = RemoteImage {
                url: url.to_owned(),
                native: None,
            };
            let call = ToolCall::new("call_0", "look", "{}");
            let mut result = ToolResult::new(&call, "see");
            result.parts.push(Part::RemoteImage(remote));
            Request::from(vec![Message::tool_results_message([result])])
        };
        for (protocol, url, taken) in [
            (Protocol::Ollama, "https://pictures.example/1", false),
            (Protocol::Messages, "https://pictures.example/1", true),
            (Protocol::Messages, "gs://pictures/1", false),
            (Protocol::Chat, "https://pictures.example/1", true),
            (Protocol::Responses, "https://pictures.example/1", true),
            (Protocol::Gemini, "gs://pictures/1", true),
        ] {
            let checked = check_image_urls(&request(url), protocol.codec());
            let kind = checked.err().map(|error| error.kind());
            let expected = (!taken).then_some(ErrorKind::Unsupported);
            assert_eq!(kind, expected, "{protocol:?} {url}");
        }
    }

    #[test]
    fn images_inside_tool_results_are_checked() {
        let call = ToolCall::new("call_0", "look", "{}");
        let mut result = ToolResult::new(&call, "see");
        result.parts.push(png(10));
        let request = Request::from(vec![Message::tool_results_message([result])]);
        let can = limits(ImageLimits::default().with_max_bytes(Some(9)));
        assert!(check_request(&request, &can, false).is_err());
    }

    #[test]
    fn a_target_without_streaming_takes_only_buffered_requests() {
        let can = Capabilities::default().with_streaming(false);
        assert!(check_request(&Request::user("hi"), &can, false).is_ok());
        let error = check_request(&Request::user("hi"), &can, true).unwrap_err();
        assert_eq!(error.message(), "it does not support streaming");
    }

    /// A GIF that consists only of its header.
    fn gif(width: u16, height: u16) -> Part {
        let mut data = b"GIF89a".to_vec();
        data.extend(width.to_le_bytes());
        data.extend(height.to_le_bytes());
        data.extend(*b"\0\0\0;");
        Part::image("image/gif", data)
    }

    #[test]
    fn pixels_are_measured_without_decoding() {
        let most = limits(
            ImageLimits::default()
                .with_max_px(Some(8_000))
                .with_many(Some(ManyImages {
                    above: 1,
                    max_px: 2_000,
                })),
        );
        let patches =
            |size, max| limits(ImageLimits::default().with_patches(Some(PatchLimit { size, max })));
        let one = Request::user(gif(3_000, 10));
        let two = one.clone().part(gif(10, 10));
        for (request, can, refused) in [
            (&one, &most, None),
            (
                &two,
                &most,
                Some("image 1 is 3000×10: it takes 2000 px a side"),
            ),
            (&one, &patches(32, 94), None),
            (
                &one,
                &patches(32, 93),
                Some("image 1 is 94 patches of 32 px: it takes 93"),
            ),
            (
                &one,
                &patches(1, 29_999),
                Some("image 1 has 30000 pixels: it takes 29999"),
            ),
        ] {
            let error = check_request(request, can, false).err();
            assert_eq!(error.as_ref().map(Error::message), refused);
        }
        let unreadable = Request::user(png(10));
        assert!(check_request(&unreadable, &most, false).is_ok());
    }
}
