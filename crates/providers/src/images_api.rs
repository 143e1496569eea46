//! The ways in which providers generate images and embed texts, for recipes to choose from.

use majordomo_llm::BatchLimits;
use majordomo_wire::EmbeddingProtocol;

/// How images are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImagesApi {
    /// OpenAI's images API below a prefix.
    OpenAi {
        prefix: &'static str,
        /// Whether the server takes the settings of diffusion models.
        diffusion: bool,
        /// Whether the server has to be asked for base64.
        ask_base64: bool,
    },
    /// The API of Stable Diffusion servers.
    Sdapi,
    /// A chat whose response may be an image.
    Gemini,
}

/// How texts are embedded.
#[derive(Clone, Debug)]
pub(crate) struct EmbeddingsApi {
    pub(crate) protocol: EmbeddingProtocol,
    pub(crate) path: String,
    pub(crate) limits: BatchLimits,
}

pub(crate) fn batch_limits(max_texts: usize, max_bytes: usize) -> BatchLimits {
    BatchLimits {
        max_texts,
        max_bytes,
    }
}
