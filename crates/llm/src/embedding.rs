//! Embeddings: texts in, one vector per text out.

use std::time::Duration;

use crate::{AttemptLog, BoxFuture, Error, ErrorKind, Result, Usage};

/// Texts to embed.
///
/// ```
/// use majordomo_llm::EmbeddingRequest;
///
/// let request = EmbeddingRequest::new(["a red apple", "a green pear"]).dimensions(256);
/// assert_eq!(request.texts.len(), 2);
/// assert_eq!(EmbeddingRequest::from("one text").texts, ["one text"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct EmbeddingRequest {
    /// The texts, in the order of the vectors.
    pub texts: Vec<String>,
    /// The dimension of the vectors; `None` for the model's own.
    pub dimensions: Option<u32>,
    /// The maximum number of texts per call; `None` for the provider's limit.
    pub max_batch: Option<usize>,
    /// The timeout for all attempts together.
    pub timeout: Option<Duration>,
}

impl EmbeddingRequest {
    /// Creates a request.
    pub fn new<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self {
            texts: texts.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Sets the dimension of the vectors.
    #[must_use]
    pub fn dimensions(mut self, dimensions: u32) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Sets the maximum number of texts per call, for a server with a lower limit than its
    /// kind.
    #[must_use]
    pub fn max_batch(mut self, texts: usize) -> Self {
        self.max_batch = Some(texts);
        self
    }

    /// Sets the timeout for all attempts together.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The end of the batch that starts at a text: as many texts as the limits allow, and at
    /// least one.
    pub fn batch_end(&self, start: usize, limits: BatchLimits) -> usize {
        let most = self.max_batch.unwrap_or(usize::MAX).min(limits.max_texts);
        let mut bytes = 0_usize;
        let mut end = start;
        for text in self.texts.iter().skip(start).take(most.max(1)) {
            bytes = bytes.saturating_add(text.len());
            if end > start && bytes > limits.max_bytes {
                break;
            }
            end += 1;
        }
        end
    }
}

impl From<&str> for EmbeddingRequest {
    fn from(text: &str) -> Self {
        Self::new([text])
    }
}

impl From<String> for EmbeddingRequest {
    fn from(text: String) -> Self {
        Self::new([text])
    }
}

impl<T: Into<String>> From<Vec<T>> for EmbeddingRequest {
    fn from(texts: Vec<T>) -> Self {
        Self::new(texts)
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for EmbeddingRequest {
    fn from(texts: [T; N]) -> Self {
        Self::new(texts)
    }
}

/// The limits of one call of an [`EmbeddingModel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// The maximum number of texts.
    pub max_texts: usize,
    /// The maximum bytes of all texts together. A longer text is sent alone.
    pub max_bytes: usize,
}

/// Embeds texts.
///
/// A [`Model`](crate::Model) that embeds texts returns itself from
/// [`own_embedding_model`](crate::ModelExtras::own_embedding_model).
pub trait EmbeddingModel: Send + Sync {
    /// Returns the limits of one call.
    fn batch_limits(&self) -> BatchLimits;

    /// Embeds some of a request's texts, within [`batch_limits`](Self::batch_limits), in
    /// one call.
    fn embed_batch<'a>(
        &'a self,
        texts: &'a [String],
        request: &'a EmbeddingRequest,
    ) -> BoxFuture<'a, Result<EmbeddingResponse>>;
}

/// The vectors of one model, in the order of the texts.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct EmbeddingResponse {
    /// One vector per text, all of the same dimension.
    pub vectors: Vec<Vec<f32>>,
    /// Token usage; zero where the provider reports none.
    pub usage: Usage,
    /// The target that served, as `provider/model`. Set by a chain.
    pub model: String,
    /// The targets tried. Set by a chain.
    pub attempt_log: AttemptLog,
}

impl EmbeddingResponse {
    /// Creates a response of these vectors.
    pub fn new(vectors: Vec<Vec<f32>>) -> Self {
        Self {
            vectors,
            ..Self::default()
        }
    }

    /// Sets [`usage`](Self::usage).
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Returns the dimension of the vectors.
    pub fn dimension(&self) -> usize {
        self.vectors.first().map_or(0, Vec::len)
    }

    /// Appends the vectors of the next batch, which had this many texts.
    ///
    /// # Errors
    ///
    /// Fails if a vector is missing, empty, of another dimension or not finite.
    pub fn append(&mut self, next: Self, texts: usize) -> Result<()> {
        let bad = |text: String| Err(Error::new(ErrorKind::BadResponse, text));
        if next.vectors.len() != texts {
            let found = next.vectors.len();
            return bad(format!("it returned {found} vectors for {texts} texts"));
        }
        let first = self.vectors.first().or(next.vectors.first());
        let dimension = first.map_or(0, Vec::len);
        for vector in &next.vectors {
            if vector.is_empty() || vector.len() != dimension {
                let found = vector.len();
                return bad(format!(
                    "it returned vectors of {dimension} and of {found} dimensions"
                ));
            }
            if !vector.iter().all(|value| value.is_finite()) {
                return bad("it returned a vector that is not finite".to_owned());
            }
        }
        self.vectors.extend(next.vectors);
        self.usage += next.usage;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BatchLimits = BatchLimits {
        max_texts: 3,
        max_bytes: 10,
    };

    fn batches(request: &EmbeddingRequest) -> Vec<Vec<&str>> {
        let (mut start, mut all) = (0, Vec::new());
        while start < request.texts.len() {
            let end = request.batch_end(start, LIMITS);
            all.push(request.texts[start..end].iter().map(|t| &**t).collect());
            start = end;
        }
        all
    }

    #[test]
    fn texts_are_split_by_number_and_size_in_order() {
        let rows: [(&[&str], &[&[&str]]); 5] = [
            (&["a", "b", "c", "d"], &[&["a", "b", "c"], &["d"]]),
            (&["12345", "67890", "a"], &[&["12345", "67890"], &["a"]]),
            (
                &["longer than the limit", "b"],
                &[&["longer than the limit"], &["b"]],
            ),
            (&["a", "longer than it"], &[&["a"], &["longer than it"]]),
            (&[], &[]),
        ];
        for (texts, expected) in rows {
            let request = EmbeddingRequest::new(texts.iter().copied());
            assert_eq!(batches(&request), expected, "{texts:?}");
        }
        let one_by_one = EmbeddingRequest::new(["a", "b"]).max_batch(1);
        assert_eq!(batches(&one_by_one), [["a"], ["b"]]);
        let none = EmbeddingRequest::new(["a", "b"]).max_batch(0);
        assert_eq!(batches(&none).len(), 2, "a batch holds at least one text");
    }

    #[test]
    fn vectors_that_do_not_belong_together_are_rejected() {
        let of = |vectors: &[&[f32]]| {
            EmbeddingResponse::new(vectors.iter().map(|v| v.to_vec()).collect())
        };
        for (first, next, texts) in [
            (of(&[]), of(&[&[1.0]]), 2),
            (of(&[]), of(&[&[1.0], &[1.0, 2.0]]), 2),
            (of(&[]), of(&[&[]]), 1),
            (of(&[]), of(&[&[f32::NAN]]), 1),
            (of(&[&[1.0, 2.0]]), of(&[&[1.0]]), 1),
        ] {
            let before = first.clone();
            let mut all = first;
            let error = all.append(next, texts).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadResponse, "{error}");
            assert_eq!(all, before, "nothing of a bad batch is kept");
        }
        let mut all = of(&[&[1.0, 2.0]]);
        all.append(of(&[&[3.0, 4.0]]), 1).unwrap();
        assert_eq!((all.vectors.len(), all.dimension()), (2, 2));
    }
}
