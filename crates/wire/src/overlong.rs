//! The phrases by which clients recognise a request that is too long.
//!
//! Agents compact their conversation when they find such a phrase, and most look at the
//! message rather than at a code. Each dialect's error uses its vendor's own words.

use majordomo_llm::Class;

use crate::ClientError;

/// A vendor's words for a request that is too long.
pub(crate) struct OverlongWords {
    /// The phrase that every such message of this vendor contains.
    pub(crate) mark: &'static str,
    /// The prefix for a message without these words.
    pub(crate) sentence: &'static str,
}

/// Chat Completions.
pub(crate) const CHAT: OverlongWords = OverlongWords {
    mark: "reduce the length of the messages",
    sentence: "This model's maximum context length is exceeded. Please reduce the length of the \
               messages. ",
};

/// Responses.
pub(crate) const RESPONSES: OverlongWords = OverlongWords {
    mark: "exceeds the context window",
    sentence: "Your input exceeds the context window of this model. ",
};

/// Anthropic Messages.
pub(crate) const MESSAGES: OverlongWords = OverlongWords {
    mark: "prompt is too long",
    sentence: "prompt is too long: ",
};

/// Gemini.
pub(crate) const GEMINI: OverlongWords = OverlongWords {
    mark: "exceeds the maximum number of tokens",
    sentence: "The input token count exceeds the maximum number of tokens allowed. ",
};

/// Ollama.
pub(crate) const OLLAMA: OverlongWords = OverlongWords {
    mark: "exceeds the context length",
    sentence: "the input length exceeds the context length: ",
};

/// The error's text, with the vendor's words if the request is too long.
pub(crate) fn message(error: &ClientError, words: &OverlongWords) -> String {
    let text = &error.message;
    match error.class {
        Class::ContextLength if !text.contains(words.mark) => format!("{}{text}", words.sentence),
        _ => text.clone(),
    }
}
