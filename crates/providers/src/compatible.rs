//! Services that speak Chat Completions, by name.

use majordomo_llm::{ByteCount, ImageLimits, PatchLimit, Result};
use std::sync::Arc;

use crate::openai::{OpenAi, local_images, types};
use crate::quirks::{self, Quirk};
use crate::{HttpProvider, Settings};

/// A service whose address, key and quirks are known.
#[derive(Clone, Copy, Debug)]
pub struct Compatible {
    /// The name that specs use.
    pub name: &'static str,
    /// Where it is.
    pub base_url: &'static str,
    /// The variables that hold its key; none for a server on this machine.
    pub key_variables: &'static [&'static str],
    pub(crate) images: fn() -> Option<ImageLimits>,
    pub(crate) legacy_max_tokens: bool,
    pub(crate) local: bool,
    pub(crate) tells: Tells,
    pub(crate) quirk: Quirk,
}

/// Where a server tells what its models take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tells {
    Nothing,
    /// llama.cpp's `/props`.
    Props,
    /// Its list of models, where that is short.
    List,
}

/// The services by name.
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
        tells: Tells::List,
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
            Tells::Nothing,
        )
    },
    local("vllm", "http://localhost:8000/v1", vllm_images, Tells::List),
    local(
        "llamacpp",
        "http://localhost:8080/v1",
        local_images,
        Tells::Props,
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
        tells: Tells::Nothing,
        quirk: quirks::none,
    }
}

const fn local(
    name: &'static str,
    base_url: &'static str,
    images: fn() -> Option<ImageLimits>,
    tells: Tells,
) -> Compatible {
    Compatible {
        name,
        base_url,
        key_variables: &[],
        images,
        legacy_max_tokens: true,
        local: true,
        tells,
        quirk: quirks::none,
    }
}

/// A service by name.
///
/// ```
/// use majordomo_providers::compatible;
///
/// assert_eq!(compatible("groq").unwrap().key_variables, ["GROQ_API_KEY"]);
/// assert!(compatible("nobody").is_none());
/// ```
pub fn compatible(name: &str) -> Option<&'static Compatible> {
    SERVICES.iter().find(|service| service.name == name)
}

impl Compatible {
    /// All of them.
    pub const ALL: &'static [Self] = SERVICES;

    /// The service as a provider.
    pub fn provider(&self, settings: Settings) -> Result<HttpProvider> {
        let recipe = OpenAi::compatible(self).with(&settings);
        HttpProvider::new(Arc::new(recipe), settings)
    }
}

fn any_images() -> Option<ImageLimits> {
    Some(ImageLimits::default())
}

fn no_images() -> Option<ImageLimits> {
    None
}

fn groq_images() -> Option<ImageLimits> {
    Some(ImageLimits {
        max_count: Some(5),
        max_total_bytes: Some(4_000_000),
        counted: ByteCount::Base64,
        // 33 million pixels.
        patches: Some(PatchLimit {
            size: 1,
            max: 33_000_000,
        }),
        types: types(&["image/jpeg", "image/png", "image/webp"]),
        ..ImageLimits::default()
    })
}

fn lmstudio_images() -> Option<ImageLimits> {
    Some(ImageLimits {
        types: types(&["image/jpeg", "image/png", "image/webp"]),
        ..ImageLimits::default()
    })
}

/// Whatever Pillow opens, up to its guard against bombs.
fn vllm_images() -> Option<ImageLimits> {
    Some(ImageLimits {
        patches: Some(PatchLimit {
            size: 1,
            max: 178_956_970,
        }),
        types: types(&["image/png", "image/jpeg", "image/webp", "image/gif"]),
        ..ImageLimits::default()
    })
}

fn xai_images() -> Option<ImageLimits> {
    Some(ImageLimits {
        max_bytes: Some(20 << 20),
        types: types(&["image/jpeg", "image/png"]),
        ..ImageLimits::default()
    })
}

fn mistral_images() -> Option<ImageLimits> {
    Some(ImageLimits {
        max_count: Some(8),
        max_bytes: Some(10_000_000),
        types: types(&["image/png", "image/jpeg", "image/webp", "image/gif"]),
        ..ImageLimits::default()
    })
}
