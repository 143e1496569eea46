//! Token counts of images, by each provider's rule.

use majordomo_image_header::{Header, HeaderError};

/// A provider's rule. All sizes apply after the provider's own downscaling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ImageTokenRule {
    /// Square patches of one token each, scaled by `percent`.
    Patches {
        /// Side length of a patch, in pixels.
        size: u32,
        /// Maximum length of the longer side.
        longest: u32,
        /// Maximum number of patches.
        most: u64,
        /// Tokens per hundred patches.
        percent: u64,
    },
    /// Tiles of 512 px, after fitting into 2048 × 2048 px and 768 px on the shorter
    /// side.
    Tiles {
        /// Tokens per image.
        base: u64,
        /// Tokens per tile.
        each: u64,
    },
    /// Gemini up to 2.5: 258 tokens for a small image, or per tile of 768 px.
    GeminiTiles,
    /// The same for every image.
    Fixed(u64),
    /// Local models: patches of 28 px, which are the most common.
    Unknown,
}

/// Assumed side length of an image whose size is unknown.
const DEFAULT_SIDE: u32 = 1_024;

impl ImageTokenRule {
    /// The tokens of an image with this header.
    pub(crate) fn of(self, header: Result<Header, HeaderError>) -> u64 {
        match header {
            Ok(header) => self.of_size(header.width, header.height),
            Err(_) => self.of_unknown_size(),
        }
    }

    /// The tokens of an image of unknown size.
    pub(crate) fn of_unknown_size(self) -> u64 {
        self.of_size(DEFAULT_SIDE, DEFAULT_SIDE)
    }

    fn of_size(self, width: u32, height: u32) -> u64 {
        let (wide, high) = (f64::from(width), f64::from(height));
        match self {
            Self::Fixed(tokens) => tokens,
            Self::Patches {
                size,
                longest,
                most,
                percent,
            } => patches(wide, high, size, longest, most) * percent / 100,
            Self::Unknown => patches(wide, high, 28, 1_568, 1_568),
            Self::Tiles { base, each } => {
                let scale = (2_048.0 / wide.max(high)).min(1.0);
                let scale = scale * (768.0 / (wide.min(high) * scale)).min(1.0);
                base + each * squares(wide * scale, high * scale, 512.0)
            }
            Self::GeminiTiles if width <= 384 && height <= 384 => 258,
            Self::GeminiTiles => 258 * squares(wide, high, 768.0),
        }
    }
}

fn patches(wide: f64, high: f64, size: u32, longest: u32, most: u64) -> u64 {
    let scale = (f64::from(longest) / wide.max(high)).min(1.0);
    squares(wide * scale, high * scale, f64::from(size)).min(most)
}

/// The number of squares that cover an image.
fn squares(wide: f64, high: f64, side: f64) -> u64 {
    // Scaling may exceed a whole number by a rounding error.
    let across = |length: f64| ((length / side - 1e-6).ceil() as u64).max(1);
    across(wide) * across(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_matches_its_providers_documentation() {
        let claude = ImageTokenRule::Patches {
            size: 28,
            longest: 2_576,
            most: 4_784,
            percent: 100,
        };
        let mini = ImageTokenRule::Patches {
            size: 32,
            longest: 2_048,
            most: 1_536,
            percent: 162,
        };
        let tiles = ImageTokenRule::Tiles {
            base: 85,
            each: 170,
        };
        for (rule, width, height, tokens) in [
            (claude, 28, 28, 1),
            (claude, 1_000, 1_000, 36 * 36),
            (claude, 8_000, 8_000, 4_784),
            (mini, 1_024, 1_024, 1_024 * 162 / 100),
            (mini, 4_096, 4_096, 1_536 * 162 / 100),
            (tiles, 1_024, 1_024, 85 + 4 * 170),
            (tiles, 2_048, 4_096, 85 + 6 * 170),
            (tiles, 100, 100, 85 + 170),
            (ImageTokenRule::GeminiTiles, 384, 384, 258),
            (ImageTokenRule::GeminiTiles, 1_536, 768, 2 * 258),
            (ImageTokenRule::Fixed(1_120), 9_000, 1, 1_120),
            (ImageTokenRule::Unknown, 280, 280, 100),
        ] {
            assert_eq!(
                rule.of_size(width, height),
                tokens,
                "{rule:?} {width}×{height}"
            );
        }
    }

    #[test]
    fn extreme_sizes_are_counted() {
        for rule in [
            ImageTokenRule::Unknown,
            ImageTokenRule::GeminiTiles,
            ImageTokenRule::Tiles { base: 1, each: 1 },
        ] {
            assert!(rule.of_size(1, u32::MAX) > 0 && rule.of_size(u32::MAX, u32::MAX) > 0);
        }
    }
}
