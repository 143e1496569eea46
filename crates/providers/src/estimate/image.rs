//! Tokens of an image by its pixels, as each provider counts them.

use majordomo_image_header::measure;
use majordomo_llm::Image;

/// A provider's rule. Sizes are what is left after the provider's own scaling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ImageTokens {
    /// A token per square patch, `percent` of one where a model counts otherwise.
    Patches {
        /// Side of a patch.
        size: u32,
        /// The longer side is scaled down to this.
        longest: u32,
        /// The picture is scaled down to so many patches.
        most: u64,
        /// Tokens per hundred patches.
        percent: u64,
    },
    /// Tiles of 512 px after fitting into 2048 px and 768 px on the shorter side.
    Tiles {
        /// Tokens of every picture.
        base: u64,
        /// Tokens of each tile.
        each: u64,
    },
    /// Gemini up to 2.5: 258 for a small picture, and for each tile of 768 px.
    GeminiTiles,
    /// The same for every picture.
    Fixed(u64),
    /// Local models: patches of 28 px are the most common, up to a bound.
    Unknown,
}

/// What a picture without a readable header is taken for.
const USUAL_SIDE: u32 = 1_024;

impl ImageTokens {
    /// The tokens of an image; only its header is looked at.
    pub(crate) fn of(self, image: &Image) -> u64 {
        match measure(&image.data) {
            Ok(header) => self.sized(header.width, header.height),
            Err(_) => self.unseen(),
        }
    }

    /// The tokens of an image that is somewhere else.
    pub(crate) fn unseen(self) -> u64 {
        self.sized(USUAL_SIDE, USUAL_SIDE)
    }

    fn sized(self, width: u32, height: u32) -> u64 {
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

/// Squares that cover a picture.
fn squares(wide: f64, high: f64, side: f64) -> u64 {
    // Scaling may leave a hair above a whole number.
    let across = |length: f64| ((length / side - 1e-6).ceil() as u64).max(1);
    across(wide) * across(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_counts_as_its_provider_says() {
        let claude = ImageTokens::Patches {
            size: 28,
            longest: 2_576,
            most: 4_784,
            percent: 100,
        };
        let mini = ImageTokens::Patches {
            size: 32,
            longest: 2_048,
            most: 1_536,
            percent: 162,
        };
        let tiles = ImageTokens::Tiles {
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
            (ImageTokens::GeminiTiles, 384, 384, 258),
            (ImageTokens::GeminiTiles, 1_536, 768, 2 * 258),
            (ImageTokens::Fixed(1_120), 9_000, 1, 1_120),
            (ImageTokens::Unknown, 280, 280, 100),
        ] {
            assert_eq!(
                rule.sized(width, height),
                tokens,
                "{rule:?} {width}×{height}"
            );
        }
    }

    #[test]
    fn sides_of_any_length_are_counted() {
        for rule in [
            ImageTokens::Unknown,
            ImageTokens::GeminiTiles,
            ImageTokens::Tiles { base: 1, each: 1 },
        ] {
            assert!(rule.sized(1, u32::MAX) > 0 && rule.sized(u32::MAX, u32::MAX) > 0);
        }
    }
}
