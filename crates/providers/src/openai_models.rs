//! What is known of OpenAI's own models by their ids.
//!
//! Only what the ids say for sure: an unknown one is taken for one of the newest.

use majordomo_llm::{ImageLimits, PatchLimit};

use crate::estimate::ImageTokens;
use crate::openai::types;

/// How a model treats pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    /// Takes every size as it is and refuses more than 30,000 patches.
    Original,
    /// Scales down to so many patches.
    Scales { patches: u64, longest: u32 },
    /// Small models: scales down, and counts a patch as more than a token.
    Small { percent: u64 },
    /// The oldest: tiles of 512 px.
    Tiles { base: u64, each: u64 },
}

fn sight(model: &str) -> Sight {
    let has = |name: &str| model.starts_with(name);
    let small = |name: &str| model.contains(name);
    match model {
        _ if has("gpt-4o-mini") => Sight::Tiles {
            base: 2_833,
            each: 5_667,
        },
        _ if has("o4-mini") => Sight::Small { percent: 172 },
        _ if has("gpt-4.1-mini") || has("gpt-5-mini") || small("codex-mini") => {
            Sight::Small { percent: 162 }
        }
        _ if has("gpt-4.1-nano") || has("gpt-5-nano") => Sight::Small { percent: 246 },
        _ if has("gpt-5.2") => Sight::Small { percent: 100 },
        _ if has("gpt-5.4") && small("-mini") => Sight::Small { percent: 162 },
        _ if has("gpt-5.4") && small("-nano") => Sight::Small { percent: 246 },
        _ if has("gpt-5.4") => Sight::Scales {
            patches: 2_500,
            longest: 2_048,
        },
        _ if has("gpt-5.5") => Sight::Scales {
            patches: 10_000,
            longest: 6_000,
        },
        _ if has("gpt-4o") || has("gpt-4.1") || has("gpt-4-") => Sight::Tiles {
            base: 85,
            each: 170,
        },
        _ if model == "gpt-5" || has("gpt-5-") => Sight::Tiles {
            base: 70,
            each: 140,
        },
        _ if has("o1") || has("o3") => Sight::Tiles {
            base: 75,
            each: 150,
        },
        _ => Sight::Original,
    }
}

/// What pictures a model takes.
pub(crate) fn image_limits(model: &str) -> ImageLimits {
    let patches = (sight(model) == Sight::Original).then_some(PatchLimit {
        size: 32,
        max: 30_000,
    });
    ImageLimits {
        max_count: Some(1_500),
        patches,
        types: types(&["image/png", "image/jpeg", "image/webp", "image/gif"]),
        ..ImageLimits::default()
    }
}

/// How a model counts pictures.
pub(crate) fn image_tokens(model: &str) -> ImageTokens {
    let patches = |most, longest, percent| ImageTokens::Patches {
        size: 32,
        longest,
        most,
        percent,
    };
    match sight(model) {
        Sight::Original => patches(30_000, 65_535, 100),
        Sight::Scales {
            patches: most,
            longest,
        } => patches(most, longest, 100),
        Sight::Small { percent } => patches(1_536, 2_048, percent),
        Sight::Tiles { base, each } => ImageTokens::Tiles { base, each },
    }
}

/// How a model counts text.
#[cfg(not(feature = "exact-tokens"))]
pub(crate) fn text_tokens(_model: &str) -> fn(&str) -> u64 {
    crate::estimate::guess
}

/// How a model counts text.
#[cfg(feature = "exact-tokens")]
pub(crate) fn text_tokens(model: &str) -> fn(&str) -> u64 {
    crate::estimate::counter(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_models_refuse_many_patches() {
        for (model, refuses) in [
            ("gpt-6-sol", true),
            ("gpt-5.6-luna", true),
            ("something-new", true),
            ("gpt-5.5", false),
            ("gpt-5", false),
            ("gpt-4o-2024-08-06", false),
            ("o4-mini", false),
        ] {
            assert_eq!(image_limits(model).patches.is_some(), refuses, "{model}");
        }
    }
}
