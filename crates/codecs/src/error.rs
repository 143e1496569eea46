//! Why an image is not decoded, scaled or encoded.

use majordomo_image_header::Format;

/// Why an image is not decoded, scaled or encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The data is truncated or violates its format.
    #[error("the {0} data is damaged or incomplete")]
    Damaged(Format),
    /// No decoder for this format.
    #[error("{0} is not decoded")]
    Unsupported(Format),
    /// The [`Stop`](crate::Stop) flag is set.
    #[error("the work was stopped")]
    Stopped,
    /// A codec panicked or failed on valid input.
    #[error("the codec failed")]
    Failed,
}
