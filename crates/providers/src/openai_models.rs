//! Limits and token rules of OpenAI's models, by id.
//!
//! An unknown id is treated as one of the newest models.

use majordomo_llm::{Effort, ImageLimits, PatchLimit};

use crate::estimate::ImageTokenRule;
use crate::image_types::media_types;

/// How a model sizes images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImageSizing {
    /// Unscaled; more than 30,000 patches are rejected.
    Native,
    /// Downscaled to a number of patches.
    ScaledPatches { patches: u64, longest: u32 },
    /// Small models: downscaled, with more than one token per patch.
    ScaledSmall { percent: u64 },
    /// Tiles of 512 px, in the oldest models.
    Tiles { base: u64, each: u64 },
}

fn image_sizing(model: &str) -> ImageSizing {
    let has = |name: &str| model.starts_with(name);
    let small = |name: &str| model.contains(name);
    match model {
        _ if has("gpt-4o-mini") => ImageSizing::Tiles {
            base: 2_833,
            each: 5_667,
        },
        _ if has("o4-mini") => ImageSizing::ScaledSmall { percent: 172 },
        _ if has("gpt-4.1-mini") || has("gpt-5-mini") || small("codex-mini") => {
            ImageSizing::ScaledSmall { percent: 162 }
        }
        _ if has("gpt-4.1-nano") || has("gpt-5-nano") => ImageSizing::ScaledSmall { percent: 246 },
        _ if has("gpt-5.2") => ImageSizing::ScaledSmall { percent: 100 },
        _ if has("gpt-5.4") && small("-mini") => ImageSizing::ScaledSmall { percent: 162 },
        _ if has("gpt-5.4") && small("-nano") => ImageSizing::ScaledSmall { percent: 246 },
        _ if has("gpt-5.4") => ImageSizing::ScaledPatches {
            patches: 2_500,
            longest: 2_048,
        },
        _ if has("gpt-5.5") => ImageSizing::ScaledPatches {
            patches: 10_000,
            longest: 6_000,
        },
        _ if has("gpt-4o") || has("gpt-4.1") || has("gpt-4-") => ImageSizing::Tiles {
            base: 85,
            each: 170,
        },
        _ if model == "gpt-5" || has("gpt-5-") => ImageSizing::Tiles {
            base: 70,
            each: 140,
        },
        _ if has("o1") || has("o3") => ImageSizing::Tiles {
            base: 75,
            each: 150,
        },
        _ => ImageSizing::Native,
    }
}

/// Whether a model is known to think.
pub(crate) fn takes_effort(model: &str) -> bool {
    if ["o1", "o3", "o4"]
        .iter()
        .any(|name| model.starts_with(name))
    {
        return true;
    }
    let Some(version) = model.strip_prefix("gpt-") else {
        return false;
    };
    let major = version.split(|c: char| !c.is_ascii_digit()).next();
    let major = major.and_then(|major| major.parse::<u32>().ok());
    major.is_some_and(|major| major >= 5) && !version.contains("-chat")
}

/// The least effort of a model that is known to think always: thinking can be turned off from
/// GPT-5.1 on.
pub(crate) fn least_effort(model: &str) -> Option<Effort> {
    match model {
        "gpt-5" => Some(Effort::Minimal),
        _ if model.starts_with("gpt-5-codex") => Some(Effort::Low),
        _ if model.starts_with("gpt-5-") => Some(Effort::Minimal),
        _ if model.starts_with("o1") || model.starts_with("o3") || model.starts_with("o4") => {
            Some(Effort::Low)
        }
        _ => None,
    }
}

/// Whether a model is known to reject an effort, since it does not think. Of an id that is
/// not OpenAI's nothing is known.
pub(crate) fn rejects_effort(model: &str) -> bool {
    let is_old = ["gpt-3.5", "gpt-4", "chatgpt-4o"];
    let is_chat = model.starts_with("gpt-") && model.contains("-chat");
    is_chat || is_old.iter().any(|name| model.starts_with(name))
}

/// The image limits of a model.
pub(crate) fn image_limits(model: &str) -> ImageLimits {
    let patches = (image_sizing(model) == ImageSizing::Native).then_some(PatchLimit {
        size: 32,
        max: 30_000,
    });
    ImageLimits::default()
        .with_max_count(Some(1_500))
        .with_patches(patches)
        .with_types(media_types(&[
            "image/png",
            "image/jpeg",
            "image/webp",
            "image/gif",
        ]))
}

/// The image token rule of a model.
pub(crate) fn image_token_rule(model: &str) -> ImageTokenRule {
    let patches = |most, longest, percent| ImageTokenRule::Patches {
        size: 32,
        longest,
        most,
        percent,
    };
    match image_sizing(model) {
        ImageSizing::Native => patches(30_000, 65_535, 100),
        ImageSizing::ScaledPatches {
            patches: most,
            longest,
        } => patches(most, longest, 100),
        ImageSizing::ScaledSmall { percent } => patches(1_536, 2_048, percent),
        ImageSizing::Tiles { base, each } => ImageTokenRule::Tiles { base, each },
    }
}

/// The text token counter of a model.
#[cfg(not(feature = "exact-tokens"))]
pub(crate) fn text_counter(_model: &str) -> fn(&str) -> u64 {
    crate::estimate::estimate_text
}

/// The text token counter of a model.
#[cfg(feature = "exact-tokens")]
pub(crate) fn text_counter(model: &str) -> fn(&str) -> u64 {
    crate::estimate::exact_counter(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_that_think_take_an_effort() {
        for (model, takes, rejects) in [
            ("gpt-6-sol", true, false),
            ("gpt-5.5", true, false),
            ("o4-mini", true, false),
            ("gpt-5-chat-latest", false, true),
            ("gpt-4.1", false, true),
            ("gpt-4o", false, true),
            ("gpt-3.5-turbo", false, true),
            ("gpt-oss-120b", false, false),
            ("llama-4-scout", false, false),
        ] {
            assert_eq!(takes_effort(model), takes, "{model}");
            assert_eq!(rejects_effort(model), rejects, "{model}");
        }
    }

    #[test]
    fn models_before_gpt_5_1_always_think() {
        for (model, least) in [
            ("gpt-5", Some(Effort::Minimal)),
            ("gpt-5-mini-2025-08-07", Some(Effort::Minimal)),
            ("gpt-5-codex", Some(Effort::Low)),
            ("o4-mini", Some(Effort::Low)),
            ("gpt-5.1", None),
            ("gpt-5.5-mini", None),
            ("gpt-6-sol", None),
            ("llama-4-scout", None),
        ] {
            assert_eq!(least_effort(model), least, "{model}");
        }
    }

    #[test]
    fn only_the_newest_models_reject_many_patches() {
        for (model, rejects) in [
            ("gpt-6-sol", true),
            ("gpt-5.6-luna", true),
            ("something-new", true),
            ("gpt-5.5", false),
            ("gpt-5", false),
            ("gpt-4o-2024-08-06", false),
            ("o4-mini", false),
        ] {
            assert_eq!(image_limits(model).patches.is_some(), rejects, "{model}");
        }
    }
}
