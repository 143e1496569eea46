//! The images of a request, in messages and in tool results.

use majordomo_llm::{Change, Image, Part, Prompt, Request, Text};

/// The text that replaces an omitted image.
pub const OMITTED: &str = "[earlier image omitted to fit this model's per-request image limit]";

/// The images attached as bytes, with their numbers among all images, from one.
pub(crate) fn attached_images(prompt: &Prompt) -> Vec<(usize, &Image)> {
    let mut found = Vec::new();
    let mut number = 0;
    for message in &prompt.messages {
        collect(&message.parts, &mut number, &mut found);
    }
    found
}

fn collect<'a>(parts: &'a [Part], number: &mut usize, found: &mut Vec<(usize, &'a Image)>) {
    for part in parts {
        match part {
            Part::Image(image) => {
                *number += 1;
                found.push((*number, image));
            }
            Part::RemoteImage(_) => *number += 1,
            Part::ToolResult(result) => collect(&result.parts, number, found),
            _ => {}
        }
    }
}

/// Calls `edit` for every image part, in order.
pub(crate) fn edit_images(prompt: &mut Prompt, mut edit: impl FnMut(usize, &mut Part)) {
    let mut number = 0;
    for message in &mut prompt.messages {
        edit_parts(&mut message.parts, &mut number, &mut edit);
    }
}

fn edit_parts(parts: &mut [Part], number: &mut usize, edit: &mut impl FnMut(usize, &mut Part)) {
    for part in parts {
        match part {
            Part::Image(_) | Part::RemoteImage(_) => {
                *number += 1;
                edit(*number, part);
            }
            Part::ToolResult(result) => edit_parts(&mut result.parts, number, edit),
            _ => {}
        }
    }
}

/// Replaces the oldest images by [`OMITTED`], so that at most `max_count` remain.
///
/// A chain calls this when none of its targets accepts as many images as the
/// conversation has. A request within the limit keeps sharing its prompt.
///
/// ```
/// use majordomo_llm::{Part, Request};
///
/// let request = Request::user(Part::image("image/png", vec![1]))
///     .part(Part::image("image/png", vec![2]));
/// let (fewer, changes) = majordomo_media::omit_oldest(&request, 1);
/// assert_eq!(fewer.prompt().image_count(), 1);
/// assert_eq!(changes[0].to_string(), "image:1 omitted");
/// ```
pub fn omit_oldest(request: &Request, max_count: usize) -> (Request, Vec<Change>) {
    let surplus = request.prompt().image_count().saturating_sub(max_count);
    if surplus == 0 {
        return (request.clone(), Vec::new());
    }
    let mut fewer = request.clone();
    edit_images(fewer.edit(), |number, part| {
        if number <= surplus {
            *part = Part::Text(Text::new(OMITTED));
        }
    });
    let which = if surplus == 1 {
        "image 1".to_owned()
    } else {
        format!("images 1 to {surplus}")
    };
    let change = Change::new("image", "omitted")
        .times(surplus)
        .detail(format!(
            "{which}: the oldest, since at most {max_count} are accepted"
        ));
    (fewer, vec![change])
}
