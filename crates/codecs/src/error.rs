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
    /// No decoder for this variant of a known format.
    #[error("this variant of {0} is not decoded")]
    UnsupportedKind(Format),
    /// The next buffer would exceed the [`Memory`](crate::Memory) budget.
    #[error("the work needs {needed} bytes of memory at a time, and at most {allowed} are allowed")]
    OverMemory {
        /// The bytes that would be held.
        needed: u64,
        /// The budget.
        allowed: u64,
    },
    /// The [`Stop`](crate::Stop) flag is set.
    #[error("the work was stopped")]
    Stopped,
    /// A codec panicked or failed on valid input.
    #[error("the codec failed")]
    Failed,
}
