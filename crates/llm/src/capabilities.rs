//! What a target accepts.
//!
//! Unknown means unlimited: a target is skipped only for what it is known not to
//! support.

use serde::{Deserialize, Serialize};

/// What a target supports, as far as is known. The default is everything.
///
/// ```
/// use majordomo_llm::{Capabilities, ImageLimits};
///
/// let text_only = Capabilities { images: None, ..Capabilities::default() };
/// assert!(!text_only.takes_images());
/// assert!(Capabilities::default().takes_images(), "unknown means supported");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
}

/// Limits on images. `None` means no known limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
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
