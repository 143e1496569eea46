//! A target's limits, resolved for one image of one request.

use majordomo_llm::{ByteCount, ImageLimits, PatchLimit};

use crate::Format;

/// The limits that one image must satisfy for one target.
///
/// Targets with equal terms receive the same image, so this is half of the cache key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// Pixels on the longer side.
    pub max_px: Option<u32>,
    /// Raw bytes of the encoded image, whether the target counts raw or base64.
    pub max_bytes: Option<u64>,
    /// A limit on square patches.
    pub patches: Option<PatchLimit>,
    /// Accepted MIME types in lower case; empty for any.
    pub types: Vec<String>,
    /// Whether the target applies EXIF orientation.
    pub honours_orientation: bool,
    /// Whether the target accepts animations.
    pub animations: bool,
}

impl Terms {
    /// The terms for each of `images` images sent to one target.
    pub fn of(limits: &ImageLimits, images: usize) -> Self {
        // The limit on all images also limits a single one.
        let alone = limits.max_total_bytes.filter(|_| images == 1);
        let max_bytes = limits.max_bytes.into_iter().chain(alone).min();
        Self {
            max_px: limits.max_px_among(images),
            max_bytes: max_bytes.map(|bytes| raw_bytes(limits.counted, bytes)),
            patches: limits.patches.filter(|patches| patches.size > 0),
            types: limits
                .types
                .iter()
                .map(|t| t.to_ascii_lowercase())
                .collect(),
            honours_orientation: limits.honours_orientation,
            animations: limits.animations.unwrap_or(true),
        }
    }

    /// The same terms with at most this many bytes.
    pub(crate) fn within(&self, max_bytes: u64) -> Self {
        Self {
            max_bytes: Some(self.max_bytes.map_or(max_bytes, |own| own.min(max_bytes))),
            ..self.clone()
        }
    }

    /// Whether this MIME type is accepted.
    pub fn allows(&self, media_type: &str) -> bool {
        let same = |allowed: &String| {
            allowed.eq_ignore_ascii_case(media_type)
                || Format::of_media_type(allowed)
                    .is_some_and(|format| format.media_type() == media_type)
        };
        self.types.is_empty() || self.types.iter().any(same)
    }

    /// The accepted types, for errors.
    pub(crate) fn accepted(&self) -> String {
        self.types.join(", ")
    }

    /// Whether this size is accepted.
    pub fn holds(&self, width: u32, height: u32) -> bool {
        let sides = self.max_px.is_none_or(|max| width.max(height) <= max);
        let patches = self.patches.is_none_or(|patches| {
            let across = u64::from(width.div_ceil(patches.size));
            let down = u64::from(height.div_ceil(patches.size));
            across * down <= patches.max
        });
        sides && patches
    }

    /// The largest accepted size of the same aspect ratio; `None` if not even one pixel is.
    pub fn largest(&self, width: u32, height: u32) -> Option<(u32, u32)> {
        if self.holds(width, height) {
            return Some((width, height));
        }
        // Acceptance is monotonic in the longer side: binary search.
        let longer = width.max(height);
        let size = |side: u32| scaled(width, height, side);
        let holds = |side: u32| {
            let (width, height) = size(side);
            self.holds(width, height)
        };
        if !holds(1) {
            return None;
        }
        let (mut good, mut bad) = (1, longer);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if holds(middle) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        Some(size(good))
    }
}

/// The size with this longer side, the shorter one rounded but at least 1.
pub(crate) fn scaled(width: u32, height: u32, side: u32) -> (u32, u32) {
    let longer = u64::from(width.max(height)).max(1);
    let shrink = |length: u32| {
        let exact = (u64::from(length) * u64::from(side) + longer / 2) / longer;
        (exact as u32).max(1)
    };
    (shrink(width), shrink(height))
}

/// The maximum raw bytes that count as at most `counted`.
pub(crate) fn raw_bytes(how: ByteCount, counted: u64) -> u64 {
    match how {
        ByteCount::Raw => counted,
        ByteCount::Base64 => counted / 4 * 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(limits: ImageLimits) -> Terms {
        Terms::of(&limits, 1)
    }

    #[test]
    fn the_aspect_ratio_is_kept_and_no_side_becomes_zero() {
        let at_32 = terms(ImageLimits::default().with_max_px(Some(32)));
        assert_eq!(at_32.largest(100, 50), Some((32, 16)));
        assert_eq!(at_32.largest(16, 8), Some((16, 8)), "never up");
        assert_eq!(at_32.largest(65_535, 1), Some((32, 1)));
        assert_eq!(at_32.largest(1, 16_384), Some((1, 32)));
    }

    #[test]
    fn a_patch_limit_bounds_the_area() {
        let patches = terms(ImageLimits::default().with_patches(Some(PatchLimit {
            size: 28,
            max: 1568,
        })));
        let (width, height) = patches.largest(4000, 3000).unwrap();
        assert!(patches.holds(width, height));
        assert!(!patches.holds(width + 28, height + 21));
    }

    #[test]
    fn a_limit_on_base64_text_is_three_quarters_of_it() {
        for limit in 0..40 {
            let bytes = raw_bytes(ByteCount::Base64, limit);
            assert!(ByteCount::Base64.of(bytes) <= limit);
            assert!(ByteCount::Base64.of(bytes + 1) > limit);
        }
    }

    #[test]
    fn a_limit_on_all_images_binds_a_single_one() {
        let limits = ImageLimits::default()
            .with_max_bytes(Some(900))
            .with_max_total_bytes(Some(600));
        assert_eq!(Terms::of(&limits, 1).max_bytes, Some(600));
        assert_eq!(Terms::of(&limits, 2).max_bytes, Some(900));
    }

    #[test]
    fn image_jpg_is_an_alias_of_image_jpeg() {
        let jpg = terms(ImageLimits::default().with_types(vec!["image/JPG".into()]));
        assert!(jpg.allows("image/jpeg") && !jpg.allows("image/png"));
    }
}
