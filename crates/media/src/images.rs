//! The images of a request, and their number.

use majordomo_llm::{Change, Image, ImageRef, Part, Prompt, Request};

/// The text that replaces an omitted image.
pub const OMITTED: &str = "[earlier image omitted to fit this model's per-request image limit]";

/// The images attached as bytes, with their numbers among all images, from one.
pub(crate) fn attached_images(prompt: &Prompt) -> Vec<(usize, &Image)> {
    let attached = |(number, image)| match image {
        ImageRef::Inline(image) => Some((number, image)),
        // Only a file's own dialect can read it, so it is not converted.
        ImageRef::File(_) | ImageRef::Remote(_) | ImageRef::Opaque { .. } => None,
    };
    (1..).zip(prompt.images()).filter_map(attached).collect()
}

/// Calls `edit` for every image that is a separate part, with its number.
pub(crate) fn edit_images(prompt: &mut Prompt, mut edit: impl FnMut(usize, &mut Image)) {
    let mut number = 0;
    for part in prompt.images_mut() {
        number += part.image_count();
        if let Part::Image(image) = part {
            edit(number, image);
        }
    }
}

/// Replaces the oldest images with [`OMITTED`], so that at most `max_count` remain.
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
    let mut left = surplus;
    for part in fewer.edit().images_mut() {
        part.replace_images(&mut || {
            left = left.checked_sub(1)?;
            Some(OMITTED.to_owned())
        });
    }
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
