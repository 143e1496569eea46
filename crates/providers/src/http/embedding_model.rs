//! Embeds texts over HTTP.

use majordomo_llm::{
    BatchLimits, BoxFuture, EmbeddingModel, EmbeddingRequest, EmbeddingResponse, Request, Result,
};

use super::model::{HttpModel, unsupported};
use super::offload;
use crate::transport::TransportRequest;

impl EmbeddingModel for HttpModel {
    fn batch_limits(&self) -> BatchLimits {
        let api = self.provider.recipe().embeddings_api(&self.id);
        api.map_or(
            BatchLimits {
                max_texts: 1,
                max_bytes: 0,
            },
            |api| api.limits,
        )
    }

    fn embed_batch<'a>(
        &'a self,
        texts: &'a [String],
        request: &'a EmbeddingRequest,
    ) -> BoxFuture<'a, Result<EmbeddingResponse>> {
        Box::pin(async move {
            let embedded = self.request_vectors(texts, request).await;
            embedded.map_err(|error| self.attribute(error, None))
        })
    }
}

impl HttpModel {
    async fn request_vectors(
        &self,
        texts: &[String],
        request: &EmbeddingRequest,
    ) -> Result<EmbeddingResponse> {
        let api = self.provider.recipe().embeddings_api(&self.id);
        let api = api.ok_or_else(|| unsupported("it embeds no texts"))?;
        let body = api.protocol.write_request(texts, request, &self.id);
        let post = TransportRequest::post(self.provider.uri(&api.path)?, body);
        let post = post.header("content-type", "application/json")?;
        let body = self.send(post, &Request::default()).await?;
        offload::decode(body, move |body| api.protocol.read_response(&body)).await
    }
}
