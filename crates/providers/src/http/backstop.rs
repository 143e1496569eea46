//! Refuses what a target is known not to take, before anything is sent.
//!
//! A chain shapes requests first and seldom gets here; this keeps honest those
//! who ask a model directly. Some servers answer a request that they do not
//! understand with a 200, so being silent here would lose images in silence.

use majordomo_llm::{
    Capabilities, Error, ErrorKind, Image, ImageLimits, Output, Part, Request, Result,
};

pub(super) fn check(request: &Request, can: &Capabilities) -> Result<()> {
    if !can.tools && !request.tools.is_empty() {
        return Err(unsupported("it calls no tools"));
    }
    if !can.structured && matches!(request.output, Output::Schema(_)) {
        return Err(unsupported("it binds its answer to no schema"));
    }
    let count = request.image_count();
    match &can.images {
        _ if count == 0 => Ok(()),
        None => Err(unsupported("it takes no images")),
        Some(limits) => check_images(request, limits, count),
    }
}

fn check_images(request: &Request, limits: &ImageLimits, count: usize) -> Result<()> {
    if let Some(most) = limits.max_count.filter(|most| count > *most) {
        let text = format!("{count} images are too many: it takes {most}");
        return Err(unsupported(&text));
    }
    let mut total = 0;
    let mut number = 0;
    let parts = request.messages.iter().flat_map(|m| &m.parts);
    for image in images(parts) {
        number += 1;
        let bytes = limits.counted.of(image.data.len() as u64);
        total += bytes;
        if !limits.allows_type(&image.media_type) {
            let text = format!(
                "image {number} is {}, which it does not take",
                image.media_type
            );
            return Err(unsupported(&text));
        }
        if let Some(most) = limits.max_bytes.filter(|most| bytes > *most) {
            let text = format!("image {number} has {bytes} bytes: it takes {most}");
            return Err(unsupported(&text));
        }
    }
    match limits.max_total_bytes.filter(|most| total > *most) {
        Some(most) => {
            let text = format!("the images have {total} bytes together: it takes {most}");
            Err(unsupported(&text))
        }
        None => Ok(()),
    }
}

/// Every image of bytes, those inside tool results included.
fn images<'a>(parts: impl Iterator<Item = &'a Part>) -> Vec<&'a Image> {
    let mut found = Vec::new();
    for part in parts {
        match part {
            Part::Image(image) => found.push(image),
            Part::ToolResult(result) => found.extend(images(result.parts.iter())),
            _ => {}
        }
    }
    found
}

fn unsupported(text: &str) -> Error {
    Error::new(ErrorKind::Unsupported, text)
}

#[cfg(test)]
mod tests {
    use majordomo_llm::{ByteCount, Json, Message, Tool, ToolCall, ToolResult};

    use super::*;

    fn png(bytes: usize) -> Part {
        Part::image("image/png", vec![0; bytes])
    }

    fn limits(limits: ImageLimits) -> Capabilities {
        Capabilities {
            images: Some(limits),
            ..Capabilities::default()
        }
    }

    #[test]
    fn each_limit_is_refused_with_its_name() {
        let two = Request::user(png(10)).part(png(20));
        let tools = Request::user("hi").tool(Tool::new("look"));
        let schema = Request::user("hi").schema(Json::parse("{}").unwrap(), "x");
        let none = ImageLimits::default;
        let rows = [
            (
                tools,
                Capabilities {
                    tools: false,
                    ..Capabilities::default()
                },
                "no tools",
            ),
            (
                schema,
                Capabilities {
                    structured: false,
                    ..Capabilities::default()
                },
                "no schema",
            ),
            (two.clone(), Capabilities::text_only(), "takes no images"),
            (
                two.clone(),
                limits(ImageLimits {
                    max_count: Some(1),
                    ..none()
                }),
                "2 images are too many",
            ),
            (
                two.clone(),
                limits(ImageLimits {
                    max_bytes: Some(19),
                    ..none()
                }),
                "image 2 has 20 bytes",
            ),
            (
                two.clone(),
                limits(ImageLimits {
                    max_bytes: Some(25),
                    counted: ByteCount::Base64,
                    ..none()
                }),
                "image 2 has 28 bytes",
            ),
            (
                two.clone(),
                limits(ImageLimits {
                    max_total_bytes: Some(29),
                    ..none()
                }),
                "30 bytes together",
            ),
            (
                two.clone(),
                limits(ImageLimits {
                    types: vec!["image/jpeg".into()],
                    ..none()
                }),
                "image 1 is image/png",
            ),
        ];
        for (request, can, part) in rows {
            let error = check(&request, &can).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.message().contains(part), "{error}");
        }
        assert!(check(&two, &Capabilities::default()).is_ok());
    }

    #[test]
    fn images_inside_tool_results_are_checked() {
        let call = ToolCall::new("call_0", "look", "{}");
        let mut result = ToolResult::new(&call, "see");
        result.parts.push(png(10));
        let request = Request::from(vec![Message::tool_results_message([result])]);
        let can = limits(ImageLimits {
            max_bytes: Some(9),
            ..ImageLimits::default()
        });
        assert!(check(&request, &can).is_err());
    }
}
