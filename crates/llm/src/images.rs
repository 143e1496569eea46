//! The walk over the images of a conversation.
//!
//! Rules, limits, estimates, shapes and the vision proxy all use this one walk, so they
//! agree on what an image is. It names every kind of [`Part`]: a new kind does not compile
//! until it is decided here whether it holds images.

use std::slice;

use crate::{File, Image, Message, Opaque, Part, Prompt, RemoteImage, Text};

/// One image, in the form in which the conversation holds it.
///
/// Exhaustive, like [`Part`].
#[derive(Clone, Copy, Debug)]
pub enum ImageRef<'a> {
    /// An image, as bytes.
    Inline(&'a Image),
    /// An image given by URL.
    Remote(&'a RemoteImage),
    /// An image attached as a file.
    File(&'a File),
    /// An image inside a block that only one dialect understands.
    Opaque {
        /// The block.
        block: &'a Opaque,
        /// The image's index in [`Opaque::images`].
        index: usize,
    },
}

/// The images that one part can hold.
enum Holds<'a> {
    Nothing,
    Image(ImageRef<'a>),
    Parts(&'a [Part]),
    Block(&'a Opaque),
}

impl<'a> Holds<'a> {
    fn of(part: &'a Part) -> Self {
        match part {
            Part::Image(image) => Self::Image(ImageRef::Inline(image)),
            Part::RemoteImage(remote) => Self::Image(ImageRef::Remote(remote)),
            Part::File(file) if file.is_image() => Self::Image(ImageRef::File(file)),
            Part::ToolResult(result) => Self::Parts(&result.parts),
            Part::Opaque(block) => Self::Block(block),
            Part::Text(_)
            | Part::Refusal(_)
            | Part::Reasoning(_)
            | Part::ToolCall(_)
            | Part::File(_) => Self::Nothing,
        }
    }
}

/// The images of some parts, in order. Created by `images()` of [`Prompt`], [`Message`] and
/// [`Part`].
#[derive(Clone, Debug)]
pub struct Images<'a> {
    parts: slice::Iter<'a, Part>,
    /// The parts that follow the tool results being walked.
    outer: Vec<slice::Iter<'a, Part>>,
    /// The block being walked, and the index of its next image.
    block: Option<(&'a Opaque, usize)>,
}

impl<'a> Images<'a> {
    fn of(parts: &'a [Part]) -> Self {
        Self {
            parts: parts.iter(),
            outer: Vec::new(),
            block: None,
        }
    }
}

impl<'a> Iterator for Images<'a> {
    type Item = ImageRef<'a>;

    fn next(&mut self) -> Option<ImageRef<'a>> {
        loop {
            if let Some((block, index)) = self.block.take()
                && index < block.images().len()
            {
                self.block = Some((block, index + 1));
                return Some(ImageRef::Opaque { block, index });
            }
            let Some(part) = self.parts.next() else {
                self.parts = self.outer.pop()?;
                continue;
            };
            match Holds::of(part) {
                Holds::Nothing => {}
                Holds::Image(image) => return Some(image),
                Holds::Parts(parts) => {
                    let rest = std::mem::replace(&mut self.parts, parts.iter());
                    self.outer.push(rest);
                }
                Holds::Block(block) => self.block = Some((block, 0)),
            }
        }
    }
}

/// The parts that hold images, in the order of [`Images`]. Created by `images_mut()` of
/// [`Prompt`] and [`Message`].
///
/// Yields parts rather than images, since an image can become a text
/// ([`Part::replace_images`]), and one opaque block can hold several.
#[derive(Debug)]
pub struct ImagesMut<'a> {
    parts: slice::IterMut<'a, Part>,
    outer: Vec<slice::IterMut<'a, Part>>,
}

impl<'a> Iterator for ImagesMut<'a> {
    type Item = &'a mut Part;

    fn next(&mut self) -> Option<&'a mut Part> {
        loop {
            let Some(part) = self.parts.next() else {
                self.parts = self.outer.pop()?;
                continue;
            };
            match part {
                Part::ToolResult(result) => {
                    let rest = std::mem::replace(&mut self.parts, result.parts.iter_mut());
                    self.outer.push(rest);
                }
                Part::Image(_) | Part::RemoteImage(_) | Part::File(_) | Part::Opaque(_) => {
                    if part.image_count() > 0 {
                        return Some(part);
                    }
                }
                Part::Text(_) | Part::Refusal(_) | Part::Reasoning(_) | Part::ToolCall(_) => {}
            }
        }
    }
}

fn count(parts: &[Part]) -> usize {
    parts.iter().map(Part::image_count).sum()
}

impl Part {
    /// Iterates over the images of the part.
    pub fn images(&self) -> Images<'_> {
        Images::of(slice::from_ref(self))
    }

    /// Counts the images of the part.
    pub fn image_count(&self) -> usize {
        match Holds::of(self) {
            Holds::Nothing => 0,
            Holds::Image(_) => 1,
            Holds::Parts(parts) => count(parts),
            Holds::Block(block) => block.images().len(),
        }
    }

    /// Replaces the images of the part with texts, in the order of [`images`](Self::images).
    /// An image for which `text` returns `None` stays.
    ///
    /// A text keeps the image's mark for the provider's prompt cache.
    ///
    /// ```
    /// use majordomo_llm::Part;
    ///
    /// let mut part = Part::image("image/png", vec![1]);
    /// part.replace_images(&mut || Some("[image]".to_owned()));
    /// assert_eq!(part, Part::text("[image]"));
    /// ```
    pub fn replace_images(&mut self, text: &mut dyn FnMut() -> Option<String>) {
        match self {
            Self::Image(_) | Self::RemoteImage(_) => self.become_text(text()),
            Self::File(file) => {
                if file.is_image() {
                    self.become_text(text());
                }
            }
            Self::ToolResult(result) => {
                let parts = result.parts.iter_mut();
                parts.for_each(|part| part.replace_images(text));
            }
            Self::Opaque(block) => {
                if let Some(other) = block.with_images_replaced(text) {
                    *self = other;
                }
            }
            Self::Text(_) | Self::Refusal(_) | Self::Reasoning(_) | Self::ToolCall(_) => {}
        }
    }

    fn become_text(&mut self, text: Option<String>) {
        if let Some(text) = text {
            let native = self.native().and_then(|native| native.only(CACHE_MARK));
            *self = Self::Text(Text { text, native });
        }
    }
}

/// The field that blocks of any kind may have: the end of the provider's prompt cache.
const CACHE_MARK: &str = "cache_control";

impl Message {
    /// Iterates over the images, including those of tool results, files and opaque blocks.
    pub fn images(&self) -> Images<'_> {
        Images::of(&self.parts)
    }

    /// Iterates over the parts that hold images.
    pub fn images_mut(&mut self) -> ImagesMut<'_> {
        ImagesMut {
            parts: self.parts.iter_mut(),
            outer: Vec::new(),
        }
    }

    /// Counts the images, including those of tool results, files and opaque blocks.
    pub fn image_count(&self) -> usize {
        count(&self.parts)
    }
}

impl Prompt {
    /// Iterates over the images of all messages, including those of tool results, files and
    /// opaque blocks, and then over those that decoders found elsewhere: in the system
    /// prompt, in tools and in unknown fields.
    ///
    /// ```
    /// use majordomo_llm::{ImageRef, Part, Request};
    ///
    /// let request = Request::user("look").part(Part::image("image/png", vec![1]));
    /// let images: Vec<_> = request.prompt().images().collect();
    /// assert!(matches!(images[..], [ImageRef::Inline(_)]));
    /// ```
    pub fn images(&self) -> impl Iterator<Item = ImageRef<'_>> {
        let messages = self.messages.iter().flat_map(Message::images);
        messages.chain(self.native_images())
    }

    /// Iterates over the parts that hold images; those outside the messages' parts are
    /// replaced by [`replace_native_images`](Self::replace_native_images).
    pub fn images_mut(&mut self) -> impl Iterator<Item = &mut Part> {
        self.messages.iter_mut().flat_map(Message::images_mut)
    }

    /// Counts all images; see [`images`](Self::images).
    pub fn image_count(&self) -> usize {
        let messages = self.messages.iter().map(Message::image_count);
        messages.sum::<usize>() + self.native_images().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, Json, Native, OpaqueImages, Request, Role, ToolCall, ToolResult};

    const DIALECT: Dialect = Dialect::new("x");

    fn block(raw: &str) -> Part {
        let spans = raw.match_indices("{i}").map(|(at, _)| at..at + 3);
        let images = OpaqueImages::new(spans.collect(), Some("text"));
        let raw = Json::parse(raw.replace("{i}", "[1]")).unwrap();
        Part::Opaque(Opaque::new(DIALECT, "block", raw).with_images(images))
    }

    fn file(media_type: &str) -> Part {
        Part::File(File {
            media_type: media_type.into(),
            data: vec![1].into(),
            name: None,
            native: None,
        })
    }

    fn remote() -> Part {
        Part::RemoteImage(RemoteImage {
            url: "https://pictures.example/1".into(),
            native: None,
        })
    }

    /// Every kind of part, images at two depths of tool results among them.
    fn request() -> Request {
        let call = ToolCall::new("1", "look", "{}");
        let mut inner = ToolResult::new(&call, "inner");
        inner.parts.push(Part::image("image/png", vec![2]));
        let mut result = ToolResult::new(&call, "outer");
        result.parts.push(Part::ToolResult(inner));
        result.parts.push(block("[{i},2,{i}]"));
        let parts = vec![
            Part::text("see"),
            Part::image("image/png", vec![1]),
            file("application/pdf"),
            file("IMAGE/gif"),
            Part::ToolResult(result),
            remote(),
        ];
        Request::from(vec![
            Message::new(Role::User, parts),
            Message::assistant(Part::ToolCall(call)),
            Message::user(block("{i}")),
        ])
    }

    fn names(request: &Request) -> Vec<&'static str> {
        let name = |image| match image {
            ImageRef::Inline(_) => "inline",
            ImageRef::Remote(_) => "remote",
            ImageRef::File(_) => "file",
            ImageRef::Opaque { .. } => "opaque",
        };
        request.prompt().images().map(name).collect()
    }

    #[test]
    fn images_of_every_form_and_container_are_found_in_order() {
        let expected = [
            "inline", "file", "inline", "opaque", "opaque", "remote", "opaque",
        ];
        assert_eq!(names(&request()), expected);
        assert_eq!(request().prompt().image_count(), expected.len());
    }

    #[test]
    fn the_parts_that_hold_images_are_found_in_the_same_order() {
        let mut request = request();
        let counts = request.edit().images_mut().map(|part| part.image_count());
        assert_eq!(counts.collect::<Vec<_>>(), [1, 1, 1, 2, 1, 1]);
    }

    #[test]
    fn replacing_all_images_leaves_none() {
        let mut request = request();
        let mut number = 0;
        let mut text = || {
            number += 1;
            Some(format!("[{number}]"))
        };
        for part in request.edit().images_mut() {
            part.replace_images(&mut text);
        }
        assert_eq!(number, 7);
        assert_eq!(names(&request), [""; 0]);
        assert_eq!(request.prompt().messages[2].parts[0], Part::text("[7]"));
        let Part::ToolResult(result) = &request.prompt().messages[0].parts[4] else {
            panic!("{:?}", request.prompt().messages[0].parts[4]);
        };
        let Part::Opaque(block) = &result.parts[2] else {
            panic!("{:?}", result.parts[2]);
        };
        let texts = r#"[{"type":"text","text":"[4]"},2,{"type":"text","text":"[5]"}]"#;
        assert_eq!(block.raw.as_str(), texts);
    }

    #[test]
    fn an_image_without_a_text_stays() {
        let mut part = block("[{i},{i},{i}]");
        let mut number = 0;
        part.replace_images(&mut || {
            number += 1;
            (number == 2).then(|| "two".to_owned())
        });
        assert_eq!(part.image_count(), 2);
        part.replace_images(&mut || Some("rest".to_owned()));
        let Part::Opaque(block) = part else {
            panic!("the block is kept");
        };
        let word = |text| format!(r#"{{"type":"text","text":"{text}"}}"#);
        let expected = format!("[{},{},{}]", word("rest"), word("two"), word("rest"));
        assert_eq!(block.raw.as_str(), expected);
    }

    #[test]
    fn only_the_cache_mark_of_an_image_outlives_it() {
        let native = Native::new(DIALECT)
            .with("detail", Json::string("high"))
            .with(CACHE_MARK, Json::string("here"));
        let mut part = Part::Image(Image {
            native: native.into_option(),
            ..Image::new("image/png", vec![1])
        });
        part.replace_images(&mut || Some("x".to_owned()));
        let kept: Vec<_> = part.native().unwrap().fields().map(|(n, _)| n).collect();
        assert_eq!(kept, [CACHE_MARK]);
    }
}
