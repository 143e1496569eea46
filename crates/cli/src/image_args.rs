//! The arguments of `majordomo image`.

use std::path::PathBuf;

use clap::Args;
use majordomo::ImageSize;

use crate::setup::ConfigArg;

const IMAGE_EXAMPLES: &str = "\
Examples:
  majordomo image demo/image \"a red apple\" -o apple.png
  majordomo image box/sdxl,openai/gpt-image-2 \"a red apple\" -o apple.png --size 1024x1024
  majordomo image box/sdxl \"a red apple\" -o apple.png --n 4 --seed 7 --steps 20
  majordomo image openai/gpt-image-2 \"make it green\" --image apple.png -o green.png

Several images are numbered: apple-1.png, apple-2.png. SPEC may also be a route or an alias of the
configuration, which is the one that `majordomo serve` uses. Settings that the serving target does
not support are listed on stderr.";

#[derive(Debug, Args)]
#[command(after_help = IMAGE_EXAMPLES)]
pub(crate) struct ImageArgs {
    /// Comma-separated targets (`provider/model`), tried in order, or a route or alias
    pub(crate) spec: String,
    /// Description of the image, or of the edit
    pub(crate) prompt: String,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Overwrite files that exist
    #[arg(long)]
    pub(crate) force: bool,
    /// Image to edit, or to use as a reference; may be given more than once
    #[arg(long = "image", value_name = "FILE")]
    pub(crate) images: Vec<PathBuf>,
    /// Number of images
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=128))]
    pub(crate) n: Option<u32>,
    /// Size in pixels
    #[arg(long, value_name = "WIDTHxHEIGHT")]
    pub(crate) size: Option<ImageSize>,
    /// Seed, for repeatable images
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) seed: Option<i64>,
    /// Number of diffusion steps
    #[arg(long, value_name = "NUMBER")]
    pub(crate) steps: Option<u32>,
    /// How closely to follow the prompt
    #[arg(long, value_name = "NUMBER")]
    pub(crate) guidance: Option<f64>,
    /// What the image must not show
    #[arg(long, value_name = "TEXT")]
    pub(crate) negative: Option<String>,
    /// Diffusion sampler, by the server's name for it
    #[arg(long, value_name = "NAME")]
    pub(crate) sampler: Option<String>,
    #[command(flatten)]
    pub(crate) config: ConfigArg,
}

impl ImageArgs {
    /// The number of images requested.
    pub(crate) fn count(&self) -> usize {
        self.n.map_or(1, |n| usize::try_from(n).unwrap_or(1))
    }
}
