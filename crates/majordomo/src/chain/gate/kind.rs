//! The purpose of an attempt.

/// The purpose of an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AttemptKind {
    /// A response for the caller.
    #[default]
    Answer,
    /// A description of an image, for a target that takes none.
    Describe,
    /// Embeddings.
    Embed,
    /// A count of tokens.
    Count,
    /// Generated images.
    Image,
}

impl AttemptKind {
    /// The kind as one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Describe => "describe",
            Self::Embed => "embed",
            Self::Count => "count",
            Self::Image => "image",
        }
    }
}
