//! Images and embeddings of the fake provider.
//!
//! Their calls take steps of the same script: a failure fails them, and after any other step
//! they have a deterministic result.

use futures_core::Stream;
use majordomo_llm::{
    BatchLimits, BoxFuture, EmbeddingModel, EmbeddingRequest, EmbeddingResponse, ImageModel,
    ImageRequest, ImageResponse, ModelExtras, Request, Result, Usage,
};

use super::model::FakeModel;
use super::picture::{pictures, seed_of};
use super::playback::Playback;

/// Dimension of the vectors, unless a request asks for another.
const DIMENSION: u32 = 8;
/// Maximum texts per call.
const MOST_TEXTS: usize = 16;

impl ModelExtras for FakeModel {
    fn own_image_model(&self) -> Option<&dyn ImageModel> {
        Some(self)
    }

    fn own_embedding_model(&self) -> Option<&dyn EmbeddingModel> {
        Some(self)
    }
}

impl ImageModel for FakeModel {
    /// Draws small patterns that depend only on the request.
    fn generate_images(&self, request: ImageRequest) -> BoxFuture<'_, Result<ImageResponse>> {
        Box::pin(async move {
            let step = self.play(Request::user(&*request.prompt().prompt), false);
            played(step).await.map_err(|error| self.attribute(error))?;
            let response = ImageResponse::new(pictures(&request));
            Ok(response.with_model(self.full_name()))
        })
    }
}

impl EmbeddingModel for FakeModel {
    fn batch_limits(&self) -> BatchLimits {
        BatchLimits {
            max_texts: MOST_TEXTS,
            max_bytes: usize::MAX,
        }
    }

    /// Computes vectors that depend only on the model and the text.
    fn embed_batch<'a>(
        &'a self,
        texts: &'a [String],
        request: &'a EmbeddingRequest,
    ) -> BoxFuture<'a, Result<EmbeddingResponse>> {
        Box::pin(async move {
            let step = self.play(Request::user(texts.join("\n")), false);
            played(step).await.map_err(|error| self.attribute(error))?;
            let dimension = request.dimensions.unwrap_or(DIMENSION);
            let vector = |text: &String| {
                let mut bits = seed_of(self.full_name()) ^ seed_of(text);
                let mut next = || {
                    bits = bits.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                    f32::from(i8::from_le_bytes([bits.to_le_bytes()[7]])) / 128.0
                };
                (0..dimension).map(|_| next()).collect()
            };
            let usage = Usage::new(texts.len() as u64, 0);
            Ok(EmbeddingResponse::new(texts.iter().map(vector).collect()).with_usage(usage))
        })
    }
}

/// Plays a step to its end, or to its failure.
async fn played(mut step: Playback) -> Result<()> {
    let mut step = std::pin::Pin::new(&mut step);
    while let Some(event) = std::future::poll_fn(|cx| step.as_mut().poll_next(cx)).await {
        event?;
    }
    Ok(())
}
