//! Images from a Gemini model: a chat request whose response may be an image.

use majordomo_llm::{
    Error, ErrorKind, FinishReason, ImageRequest, ImageResponse, ImageSize, Json, Native, Part,
    Prompt, Request, Response, Result,
};

use super::references;
use crate::loss::{LossVerb, Losses};
use crate::{Loss, Protocol};

/// Aspect ratios that the models take.
const RATIOS: [(u32, u32); 10] = [
    (1, 1),
    (2, 3),
    (3, 2),
    (3, 4),
    (4, 3),
    (4, 5),
    (5, 4),
    (9, 16),
    (16, 9),
    (21, 9),
];

/// The maximum deviation of a size from a ratio, in percent. The models' own sizes deviate by
/// up to 2.8, since their sides are multiples of 32, and neighbouring ratios are 6 apart.
const DEVIATION: u64 = 3;

/// Longest remark of a model that is quoted in an error.
const MOST_QUOTED: usize = 200;

/// The chat request for the image, with its losses.
///
/// # Errors
///
/// Fails if the request has images that only OpenAI can resolve.
pub fn chat_request(request: &ImageRequest) -> Result<(Request, Vec<Loss>)> {
    let prompt = request.prompt();
    if references(prompt) {
        let text = "it takes images as bytes, not by reference";
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    let mut losses = Losses::default();
    let dialect = Protocol::Gemini.dialect();
    // Fields of OpenAI's dialect have no counterpart.
    let _ = losses.own(prompt.native.as_deref(), &dialect);
    let missing = [
        ("mask", prompt.mask.is_some()),
        ("steps", prompt.steps.is_some()),
        ("guidance", prompt.guidance.is_some()),
        ("negative_prompt", prompt.negative_prompt.is_some()),
        ("sampler", prompt.sampler.is_some()),
    ];
    for (name, _) in missing.into_iter().filter(|(_, set)| *set) {
        losses.add(name, "Gemini has no such setting");
    }
    if prompt.n.is_some_and(|n| n.get() > 1) {
        losses.record(
            LossVerb::Adjusted,
            "n",
            "Gemini generates one image per call",
        );
    }
    let both = Json::from_validated(r#"["TEXT","IMAGE"]"#);
    let mut native = Native::new(dialect).with("generationConfig.responseModalities", both);
    if let Some(size) = prompt.size {
        if let Some((width, height)) = ratio_of(size) {
            let config = format!(r#"{{"aspectRatio":"{width}:{height}"}}"#);
            native.push(
                "generationConfig.imageConfig",
                Json::from_validated(&config),
            );
            losses.record(
                LossVerb::Adjusted,
                "size",
                format!("Gemini takes the aspect ratio, {width}:{height}"),
            );
        } else {
            losses.add("size", "Gemini does not take this aspect ratio");
        }
    }
    let images = prompt.images.iter().cloned().map(Part::Image);
    let mut chat = Request::user(&*prompt.prompt);
    let edited: &mut Prompt = chat.edit();
    edited.seed = prompt.seed;
    edited.native = native.into_option();
    if let Some(message) = edited.messages.first_mut() {
        message.parts.extend(images);
    }
    Ok((chat, losses.into_vec()))
}

/// The ratio that the models take for this size.
fn ratio_of(size: ImageSize) -> Option<(u32, u32)> {
    let (wide, high) = (u64::from(size.width()), u64::from(size.height()));
    RATIOS.into_iter().find(|(width, height)| {
        // Both sides as products, since 21:9 is not in lowest terms.
        let (ours, theirs) = (wide * u64::from(*height), high * u64::from(*width));
        ours.abs_diff(theirs) * 100 <= theirs * DEVIATION
    })
}

/// The images of a chat response.
///
/// # Errors
///
/// Fails if there is none, with the model's remark. The error holds the response, which is
/// billed nevertheless.
pub fn images_of(response: Response) -> Result<ImageResponse> {
    let images = response.parts.iter().filter_map(|part| match part {
        Part::Image(image) => Some(image.clone()),
        Part::Text(_)
        | Part::Refusal(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_)
        | Part::Opaque(_) => None,
    });
    let images: Vec<_> = images.collect();
    if images.is_empty() {
        return Err(no_image(response));
    }
    let (text, usage) = (response.text(), response.usage);
    Ok(ImageResponse::new(images).with_text(text).with_usage(usage))
}

/// Why a response has no image. Only an empty one is the target's fault.
fn no_image(response: Response) -> Error {
    let quoted: String = response.text().trim().chars().take(MOST_QUOTED).collect();
    let why = match quoted.is_empty() {
        true => format!("finish reason {}", response.finish.name()),
        false => quoted.clone(),
    };
    let text = format!("the response has no image: {why}");
    let error = match response.finish {
        FinishReason::ContentFilter | FinishReason::Refusal => {
            let forbidden = Error::new(ErrorKind::Provider, text).with_status(400);
            forbidden.with_code("content_policy_violation")
        }
        // The model answers this prompt with words; another one may draw.
        _ if !quoted.is_empty() => Error::new(ErrorKind::Unsupported, text),
        _ => Error::new(ErrorKind::Empty, text),
    };
    error.with_partial(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_becomes_the_aspect_ratio_that_it_is_close_to() {
        for (size, ratio) in [
            ("1024x1024", Some((1, 1))),
            ("1536x1024", Some((3, 2))),
            ("2520x1080", Some((21, 9))),
            ("1792x1024", Some((16, 9))),
            // Sizes that Gemini itself draws.
            ("864x1184", Some((3, 4))),
            ("896x1152", Some((4, 5))),
            ("768x1344", Some((9, 16))),
            ("1536x672", Some((21, 9))),
            ("1000x100", None),
            ("65535x1", None),
        ] {
            let request = ImageRequest::new("a pear").size(size.parse().unwrap());
            assert_eq!(ratio_of(request.prompt().size.unwrap()), ratio, "{size}");
            let (_, lost) = chat_request(&request).unwrap();
            assert_eq!(lost.len(), 1, "{size}: the change is listed");
        }
    }
}
