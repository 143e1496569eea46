//! `[providers.<name>.models."<id>"]`: capabilities of a model that differ from the
//! defaults.

use majordomo::Capabilities;
use majordomo::llm::ImageLimits;

use super::Span;
use super::reader::{ConfigField, Section};
use super::specs::SpecEntry;
use super::suggest::suggest;

/// Overrides for one model; unset fields keep the provider's defaults.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelEntry {
    /// The model's id at the provider.
    pub id: String,
    /// Image support.
    pub images: Option<ImageSupport>,
    /// Size of the context window in tokens, prompt and response together.
    pub context_window: Option<u64>,
    /// Maximum response tokens.
    pub max_output: Option<u64>,
    /// Whether it supports tools.
    pub tools: Option<bool>,
    /// Whether it supports structured output.
    pub structured: Option<bool>,
    /// The describer of images for it.
    pub describe: Option<SpecEntry>,
    /// Position in the file.
    pub span: Span,
}

/// The images a model accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageSupport {
    /// No images.
    None,
    /// The provider's default limits, or no limits.
    Any,
    /// Images within these limits; unset ones keep the provider's defaults.
    Within {
        /// Images per request.
        max: Option<usize>,
        /// Bytes per image.
        max_bytes: Option<u64>,
        /// Pixels on the longer side.
        max_px: Option<u32>,
        /// MIME types.
        types: Option<Vec<String>>,
    },
}

impl ModelEntry {
    /// Whether it overrides any capability.
    pub fn corrects_capabilities(&self) -> bool {
        self.images.is_some()
            || self.context_window.is_some()
            || self.max_output.is_some()
            || self.tools.is_some()
            || self.structured.is_some()
    }

    /// Applies the overrides to the provider's defaults.
    pub fn apply(&self, capabilities: &mut Capabilities) {
        if let Some(images) = &self.images {
            images.apply(&mut capabilities.images);
        }
        capabilities.context_window = self.context_window.or(capabilities.context_window);
        capabilities.max_output = self.max_output.or(capabilities.max_output);
        capabilities.tools = self.tools.unwrap_or(capabilities.tools);
        capabilities.structured = self.structured.unwrap_or(capabilities.structured);
    }
}

impl ImageSupport {
    fn apply(&self, limits: &mut Option<ImageLimits>) {
        match self {
            Self::None => *limits = None,
            Self::Any => {
                limits.get_or_insert_default();
            }
            Self::Within {
                max,
                max_bytes,
                max_px,
                types,
            } => {
                let limits = limits.get_or_insert_default();
                limits.max_count = max.or(limits.max_count);
                limits.max_bytes = max_bytes.or(limits.max_bytes);
                limits.max_px = max_px.or(limits.max_px);
                if let Some(types) = types {
                    limits.types.clone_from(types);
                }
            }
        }
    }
}

pub(super) fn read_models(section: Section<'_>) -> Vec<ModelEntry> {
    let entries = section.entries();
    let read = |field: &ConfigField<'_>| {
        let title = format!("the model `{}`", field.key);
        Some(entry(field, field.section(title)?))
    };
    entries.iter().filter_map(read).collect()
}

fn entry(field: &ConfigField<'_>, mut section: Section<'_>) -> ModelEntry {
    let entry = ModelEntry {
        id: field.key.clone(),
        images: section.take("images").and_then(|field| images(&field)),
        context_window: section.number("context_window", 1, u64::MAX),
        max_output: section.number("max_output", 1, u64::MAX),
        tools: section.flag("tools"),
        structured: section.flag("structured"),
        describe: section
            .take("describe")
            .and_then(|field| SpecEntry::describer(&field)),
        span: field.key_span.clone(),
    };
    if let (Some(window), Some(output)) = (entry.context_window, entry.max_output)
        && output > window
    {
        section.reader.report(
            field.key_span.clone(),
            format!("`max_output` ({output}) is more than `context_window` ({window})"),
            "the context window covers prompt and response together",
        );
    }
    section.finish();
    entry
}

fn images(field: &ConfigField<'_>) -> Option<ImageSupport> {
    use toml::de::DeValue;
    match field.value {
        DeValue::Boolean(true) => Some(ImageSupport::Any),
        DeValue::Boolean(false) => Some(ImageSupport::None),
        DeValue::Table(_) => limits(field.section("`images`")?),
        _ => {
            field.report(
                "`images` must be true, false or a table of limits",
                "write `images = false` or `images = { max = 5, max_bytes = \"4MB\" }`",
            );
            None
        }
    }
}

fn limits(mut section: Section<'_>) -> Option<ImageSupport> {
    let max = section.take("max");
    let none = max.as_ref().filter(|field| field.shown() == "0");
    let max = match none {
        Some(field) => {
            field.report("`max = 0` allows no image", "write `images = false`");
            None
        }
        None => max.and_then(|field| field.number(1, 10_000)),
    };
    let images = ImageSupport::Within {
        max: max.and_then(|max| usize::try_from(max).ok()),
        max_bytes: section.size("max_bytes"),
        max_px: section
            .number("max_px", 16, 100_000)
            .and_then(|px| u32::try_from(px).ok()),
        types: section.take("types").and_then(|field| types(&field)),
    };
    section.finish();
    Some(images)
}

/// Types that a model can accept. Images are converted to one of the first four; images of the
/// other types are passed on if the model takes them.
pub(super) const TYPES: [&str; 9] = [
    "image/jpeg",
    "image/png",
    "image/gif",
    "image/webp",
    "image/heic",
    "image/heif",
    "image/avif",
    "image/bmp",
    "image/tiff",
];

fn types(field: &ConfigField<'_>) -> Option<Vec<String>> {
    let mut types = Vec::new();
    for text in field.texts()? {
        if TYPES.contains(&text.value.as_str()) {
            types.push(text.value);
            continue;
        }
        let message = format!("{} is not a supported image type", text.shown());
        let hint = suggest(&text.value, &TYPES);
        field.reader.report(text.span.clone(), message, hint);
    }
    if types.is_empty() {
        field.report(
            "`types` is empty",
            "list some types, or omit it to allow all",
        );
        return None;
    }
    Some(types)
}
