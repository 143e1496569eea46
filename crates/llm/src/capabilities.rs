//! What a target can take.
//!
//! Unknown means no declared limit: a target is only passed over for what it is
//! known not to do.

use serde::{Deserialize, Serialize};

/// What a target can do, as far as it is known.
///
/// ```
/// use majordomo_llm::{Capabilities, ImageLimits};
///
/// let text_only = Capabilities { images: None, ..Capabilities::default() };
/// assert!(!text_only.takes_images());
/// assert!(Capabilities::default().takes_images(), "unknown is not no");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capabilities {
    /// Limits for images; none means that the target takes no image at all.
    pub images: Option<ImageLimits>,
    /// Whether it can call tools.
    pub tools: bool,
    /// Whether it can bind its answer to a schema.
    pub structured: bool,
    /// Whether it can stream.
    pub streaming: bool,
    /// Tokens of prompt and answer together.
    pub context_window: Option<u64>,
    /// Tokens of answer.
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
    /// Everything but images.
    pub fn text_only() -> Self {
        Self {
            images: None,
            ..Self::default()
        }
    }

    /// Whether the target takes images.
    pub fn takes_images(&self) -> bool {
        self.images.is_some()
    }
}

/// What a target accepts as images. `None` everywhere is no declared limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageLimits {
    /// Images in one request, history included.
    pub max_count: Option<usize>,
    /// Bytes of one image.
    pub max_bytes: Option<u64>,
    /// How `max_bytes` and `max_total_bytes` are counted.
    pub counted: ByteCount,
    /// Bytes of all images together.
    pub max_total_bytes: Option<u64>,
    /// Pixels on the longer side.
    pub max_px: Option<u32>,
    /// A bound on the number of square patches that an image is cut into.
    pub patches: Option<PatchLimit>,
    /// A tighter bound when a request holds many images.
    pub many: Option<ManyImages>,
    /// Accepted MIME types; empty is any.
    pub types: Vec<String>,
    /// Whether the target turns pictures upright by their EXIF data.
    pub honours_orientation: bool,
    /// Whether the target takes animations (or takes their first frame itself);
    /// unset is not known, and then they are passed on.
    pub animations: Option<bool>,
}

impl ImageLimits {
    /// Whether the target accepts this MIME type.
    pub fn allows_type(&self, media_type: &str) -> bool {
        self.types.is_empty()
            || self
                .types
                .iter()
                .any(|allowed| allowed.eq_ignore_ascii_case(media_type))
    }

    /// The bound on the longer side for a request with so many images.
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

/// How a provider counts an image's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ByteCount {
    /// The encoded image.
    #[default]
    Raw,
    /// Its base64 text, a third longer.
    Base64,
}

impl ByteCount {
    /// The size of `raw` bytes as the provider counts it.
    pub fn of(self, raw: u64) -> u64 {
        match self {
            Self::Raw => raw,
            Self::Base64 => raw.div_ceil(3).saturating_mul(4),
        }
    }
}

/// A bound on `⌈width/size⌉ × ⌈height/size⌉`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PatchLimit {
    /// Side of a patch in pixels.
    pub size: u32,
    /// How many there may be.
    pub max: u64,
}

/// A tighter pixel bound for requests with many images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ManyImages {
    /// It holds for requests with more images than this.
    pub above: usize,
    /// Pixels on the longer side, then.
    pub max_px: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_images_tighten_the_pixel_bound() {
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
    fn base64_is_counted_with_its_padding() {
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
