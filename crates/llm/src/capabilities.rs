//! What a target accepts.
//!
//! Unknown means unlimited: a target is skipped only if it is known not to support the
//! request.

use serde::{Deserialize, Serialize};

/// What a target supports, as far as is known. The default is everything.
///
/// ```
/// use majordomo_llm::Capabilities;
///
/// let text_only = Capabilities::default().with_images(None);
/// assert!(!text_only.takes_images());
/// assert!(Capabilities::default().takes_images(), "unknown means supported");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Capabilities {
    /// Limits on images; `None` if the target accepts no images.
    pub images: Option<ImageLimits>,
    /// Supports tool calls.
    pub tools: bool,
    /// Supports structured output: responses constrained to a schema.
    pub structured: bool,
    /// Supports streaming.
    pub streaming: bool,
    /// Maximum tokens of prompt and response together.
    pub context_window: Option<u64>,
    /// Maximum tokens of the response.
    pub max_output: Option<u64>,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            images: Some(ImageLimits::default()),
            tools: true,
            structured: true,
            streaming: true,
            context_window: None,
            max_output: None,
        }
    }
}

impl Capabilities {
    /// Everything except images.
    pub fn text_only() -> Self {
        Self {
            images: None,
            ..Self::default()
        }
    }

    /// Returns `true` if the target accepts images.
    pub fn takes_images(&self) -> bool {
        self.images.is_some()
    }

    /// Sets [`images`](Self::images).
    #[must_use]
    pub fn with_images(mut self, images: Option<ImageLimits>) -> Self {
        self.images = images;
        self
    }

    /// Sets [`tools`](Self::tools).
    #[must_use]
    pub fn with_tools(mut self, tools: bool) -> Self {
        self.tools = tools;
        self
    }

    /// Sets [`structured`](Self::structured).
    #[must_use]
    pub fn with_structured(mut self, structured: bool) -> Self {
        self.structured = structured;
        self
    }

    /// Sets [`streaming`](Self::streaming).
    #[must_use]
    pub fn with_streaming(mut self, streaming: bool) -> Self {
        self.streaming = streaming;
        self
    }

    /// Sets [`context_window`](Self::context_window).
    #[must_use]
    pub fn with_context_window(mut self, context_window: Option<u64>) -> Self {
        self.context_window = context_window;
        self
    }

    /// Sets [`max_output`](Self::max_output).
    #[must_use]
    pub fn with_max_output(mut self, max_output: Option<u64>) -> Self {
        self.max_output = max_output;
        self
    }
}

/// Limits on images. `None` means no known limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ImageLimits {
    /// Maximum images in a request, including its history.
    pub max_count: Option<usize>,
    /// Maximum bytes of one image.
    pub max_bytes: Option<u64>,
    /// The unit of `max_bytes` and `max_total_bytes`.
    pub counted: ByteCount,
    /// Maximum bytes of all images together.
    pub max_total_bytes: Option<u64>,
    /// Maximum pixels on the longer side.
    pub max_px: Option<u32>,
    /// Limit on the number of square patches in an image.
    pub patches: Option<PatchLimit>,
    /// A tighter pixel limit for requests with many images.
    pub many: Option<ManyImages>,
    /// Accepted MIME types; empty means any.
    pub types: Vec<String>,
    /// The target applies the EXIF orientation.
    pub honours_orientation: bool,
    /// The target accepts animations, or extracts the first frame itself. `None` means
    /// unknown; animations are then forwarded.
    pub animations: Option<bool>,
}

impl ImageLimits {
    /// Returns `true` if the target accepts this MIME type.
    pub fn allows_type(&self, media_type: &str) -> bool {
        self.types.is_empty()
            || self
                .types
                .iter()
                .any(|allowed| allowed.eq_ignore_ascii_case(media_type))
    }

    /// Returns the limit on the longer side for a request with this many images.
    pub fn max_px_among(&self, images: usize) -> Option<u32> {
        let many = self
            .many
            .filter(|many| images > many.above)
            .map(|many| many.max_px);
        match (self.max_px, many) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Sets [`max_count`](Self::max_count).
    #[must_use]
    pub fn with_max_count(mut self, max_count: Option<usize>) -> Self {
        self.max_count = max_count;
        self
    }

    /// Sets [`max_bytes`](Self::max_bytes).
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: Option<u64>) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Sets [`counted`](Self::counted).
    #[must_use]
    pub fn with_counted(mut self, counted: ByteCount) -> Self {
        self.counted = counted;
        self
    }

    /// Sets [`max_total_bytes`](Self::max_total_bytes).
    #[must_use]
    pub fn with_max_total_bytes(mut self, max_total_bytes: Option<u64>) -> Self {
        self.max_total_bytes = max_total_bytes;
        self
    }

    /// Sets [`max_px`](Self::max_px).
    #[must_use]
    pub fn with_max_px(mut self, max_px: Option<u32>) -> Self {
        self.max_px = max_px;
        self
    }

    /// Sets [`patches`](Self::patches).
    #[must_use]
    pub fn with_patches(mut self, patches: Option<PatchLimit>) -> Self {
        self.patches = patches;
        self
    }

    /// Sets [`many`](Self::many).
    #[must_use]
    pub fn with_many(mut self, many: Option<ManyImages>) -> Self {
        self.many = many;
        self
    }

    /// Sets [`types`](Self::types).
    #[must_use]
    pub fn with_types(mut self, types: Vec<String>) -> Self {
        self.types = types;
        self
    }

    /// Sets [`honours_orientation`](Self::honours_orientation).
    #[must_use]
    pub fn with_honours_orientation(mut self, honours_orientation: bool) -> Self {
        self.honours_orientation = honours_orientation;
        self
    }

    /// Sets [`animations`](Self::animations).
    #[must_use]
    pub fn with_animations(mut self, animations: Option<bool>) -> Self {
        self.animations = animations;
        self
    }
}

/// How a provider measures the size of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ByteCount {
    /// The encoded image file.
    #[default]
    Raw,
    /// The base64 text of the file.
    Base64,
}

impl ByteCount {
    /// Converts a file size into this measure.
    pub fn of(self, raw: u64) -> u64 {
        match self {
            Self::Raw => raw,
            Self::Base64 => raw.div_ceil(3).saturating_mul(4),
        }
    }
}

/// A limit on `⌈width/size⌉ × ⌈height/size⌉`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PatchLimit {
    /// The side of a patch, in pixels.
    pub size: u32,
    /// The maximum number of patches.
    pub max: u64,
}

/// A tighter pixel limit for requests with many images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ManyImages {
    /// The limit applies to requests with more images than this.
    pub above: usize,
    /// Maximum pixels on the longer side.
    pub max_px: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_images_tighten_the_pixel_limit() {
        let limits = ImageLimits {
            max_px: Some(8000),
            many: Some(ManyImages {
                above: 20,
                max_px: 2000,
            }),
            ..ImageLimits::default()
        };
        assert_eq!(limits.max_px_among(20), Some(8000));
        assert_eq!(limits.max_px_among(21), Some(2000));
    }

    #[test]
    fn base64_size_includes_padding() {
        assert_eq!(ByteCount::Base64.of(4), 8);
        assert_eq!(ByteCount::Raw.of(4), 4);
    }

    #[test]
    fn an_empty_type_list_allows_any_type() {
        assert!(ImageLimits::default().allows_type("image/x-new"));
        let png = ImageLimits {
            types: vec!["image/png".into()],
            ..ImageLimits::default()
        };
        assert!(png.allows_type("IMAGE/PNG") && !png.allows_type("image/webp"));
    }
}
