//! Named services with an OpenAI-compatible Chat Completions API.
//!
//! # Wire shapes
//!
//! Those of Chat Completions, see `openai.rs`. The differences were checked on
//! 2026-11-15 against recorded exchanges and the sources of vLLM and llama.cpp
//! (2026-08-22):
//!
//! | service | differs in |
//! |---|---|
//! | OpenRouter | `reasoning` and `reasoning_details`; usage in the last chunk with a choice; errors with an integer code |
//! | DeepSeek | `reasoning_content`, which must be sent back after tool calls; `prompt_cache_hit_tokens` |
//! | xAI | `reasoning_content`; `completion_tokens` without reasoning; a bad key is a 400 |
//! | Mistral | `content` may be a list with `thinking`; a call arrives whole; errors as `{"detail"}` |
//! | Groq | `reasoning`; usage in `x_groq`; 400 `tool_use_failed` for a call that breaks its schema |
//! | vLLM | `reasoning`; error codes are integers |
//! | llama.cpp | `reasoning_content`; `timings`; 503 while loading |
//! | LM Studio | only `json_schema` output |
//! | some servers | a call's `id`, `index`, `type` or `arguments` missing, null or empty |

use majordomo_llm::{ByteCount, ImageLimits, PatchLimit, Result};
use std::sync::Arc;

use crate::discovery::DiscoverySource;
use crate::image_types::{local_images, media_types};
use crate::openai::OpenAi;
use crate::quirks::{self, Quirk};
use crate::{HttpProvider, Settings};

/// A service with known endpoint, key variables and quirks.
#[derive(Clone, Copy, Debug)]
pub struct Compatible {
    /// The provider name in specs.
    pub name: &'static str,
    /// The default base URL.
    pub base_url: &'static str,
    /// Environment variables that may hold the key; none for local servers.
    pub key_variables: &'static [&'static str],
    images: fn() -> Option<ImageLimits>,
    legacy_max_tokens: bool,
    local: bool,
    discovery: DiscoverySource,
    quirk: Quirk,
}

/// All known services.
const SERVICES: &[Compatible] = &[
    hosted(
        "openrouter",
        "https://openrouter.ai/api/v1",
        &["OPENROUTER_API_KEY"],
        any_images,
        false,
    ),
    hosted(
        "groq",
        "https://api.groq.com/openai/v1",
        &["GROQ_API_KEY"],
        groq_images,
        false,
    ),
    Compatible {
        quirk: quirks::deepseek,
        ..hosted(
            "deepseek",
            "https://api.deepseek.com/v1",
            &["DEEPSEEK_API_KEY"],
            no_images,
            true,
        )
    },
    Compatible {
        quirk: quirks::xai,
        ..hosted(
            "xai",
            "https://api.x.ai/v1",
            &["XAI_API_KEY"],
            xai_images,
            false,
        )
    },
    Compatible {
        discovery: DiscoverySource::ModelList,
        quirk: quirks::mistral,
        ..hosted(
            "mistral",
            "https://api.mistral.ai/v1",
            &["MISTRAL_API_KEY"],
            mistral_images,
            true,
        )
    },
    hosted(
        "together",
        "https://api.together.xyz/v1",
        &["TOGETHER_API_KEY"],
        any_images,
        true,
    ),
    hosted(
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        &["FIREWORKS_API_KEY"],
        any_images,
        true,
    ),
    Compatible {
        quirk: quirks::lmstudio,
        ..local(
            "lmstudio",
            "http://localhost:1234/v1",
            lmstudio_images,
            DiscoverySource::None,
        )
    },
    local(
        "vllm",
        "http://localhost:8000/v1",
        vllm_images,
        DiscoverySource::ModelList,
    ),
    local(
        "llamacpp",
        "http://localhost:8080/v1",
        local_images,
        DiscoverySource::LlamaCppProps,
    ),
];

const fn hosted(
    name: &'static str,
    base_url: &'static str,
    key_variables: &'static [&'static str],
    images: fn() -> Option<ImageLimits>,
    legacy_max_tokens: bool,
) -> Compatible {
    Compatible {
        name,
        base_url,
        key_variables,
        images,
        legacy_max_tokens,
        local: false,
        discovery: DiscoverySource::None,
        quirk: quirks::none,
    }
}

const fn local(
    name: &'static str,
    base_url: &'static str,
    images: fn() -> Option<ImageLimits>,
    discovery: DiscoverySource,
) -> Compatible {
    Compatible {
        name,
        base_url,
        key_variables: &[],
        images,
        legacy_max_tokens: true,
        local: true,
        discovery,
        quirk: quirks::none,
    }
}

/// Looks up a service by name.
///
/// ```
/// use majordomo_providers::compatible;
///
/// assert_eq!(compatible("groq").unwrap().key_variables, ["GROQ_API_KEY"]);
/// assert!(compatible("unknown").is_none());
/// ```
pub fn compatible(name: &str) -> Option<&'static Compatible> {
    SERVICES.iter().find(|service| service.name == name)
}

impl Compatible {
    /// All known services.
    pub const ALL: &'static [Self] = SERVICES;

    /// Creates a provider for the service.
    pub fn provider(&self, settings: Settings) -> Result<HttpProvider> {
        let recipe = self.recipe().with_settings(&settings);
        HttpProvider::new(Arc::new(recipe), settings)
    }

    fn recipe(&self) -> OpenAi {
        OpenAi {
            base_url: Some(self.base_url),
            key_variables: self.key_variables,
            images: self.images,
            own_models: false,
            discovery: self.discovery,
            legacy_max_tokens: self.legacy_max_tokens,
            loads_models: self.local,
            quirk: self.quirk,
            ..OpenAi::chat()
        }
    }
}

fn any_images() -> Option<ImageLimits> {
    Some(ImageLimits::default())
}

fn no_images() -> Option<ImageLimits> {
    None
}

fn groq_images() -> Option<ImageLimits> {
    Some(
        ImageLimits::default()
            .with_max_count(Some(5))
            .with_max_total_bytes(Some(4_000_000))
            .with_counted(ByteCount::Base64)
            // 33 megapixels.
            .with_patches(Some(PatchLimit {
                size: 1,
                max: 33_000_000,
            }))
            .with_types(media_types(&["image/jpeg", "image/png", "image/webp"])),
    )
}

fn lmstudio_images() -> Option<ImageLimits> {
    Some(ImageLimits::default().with_types(media_types(&["image/jpeg", "image/png", "image/webp"])))
}

/// The formats of Pillow, up to its decompression-bomb limit.
fn vllm_images() -> Option<ImageLimits> {
    Some(
        ImageLimits::default()
            .with_patches(Some(PatchLimit {
                size: 1,
                max: 178_956_970,
            }))
            .with_types(media_types(&[
                "image/png",
                "image/jpeg",
                "image/webp",
                "image/gif",
            ])),
    )
}

fn xai_images() -> Option<ImageLimits> {
    Some(
        ImageLimits::default()
            .with_max_bytes(Some(20 << 20))
            .with_types(media_types(&["image/jpeg", "image/png"])),
    )
}

fn mistral_images() -> Option<ImageLimits> {
    Some(
        ImageLimits::default()
            .with_max_count(Some(8))
            .with_max_bytes(Some(10_000_000))
            .with_types(media_types(&[
                "image/png",
                "image/jpeg",
                "image/webp",
                "image/gif",
            ])),
    )
}
