//! Calls of a model other than chats: token counts, embeddings, and what images share.

use bytes::Bytes;
use majordomo_llm::{Request, Result};

use super::model::{HttpModel, unsupported};
use super::model_list;
use crate::transport::{TransportRequest, TransportResponse};

impl HttpModel {
    pub(super) async fn request_token_count(&self, request: Request) -> Result<u64> {
        let recipe = self.provider.recipe();
        let (Some(counter), Some(path)) =
            (self.codec().count_tokens(), recipe.count_path(&self.id))
        else {
            return Err(unsupported("it does not count tokens"));
        };
        let request = self.prepare(request);
        let to = majordomo_wire::Outgoing::new(&self.id);
        let to = recipe.encoding(to, &request, &self.traits.current());
        let written = counter.write_request(&request, &to);
        let post = TransportRequest::post(self.provider.uri(&path)?, written.body).json();
        let body = model_list::send(&self.provider, post, Some(&request)).await?;
        counter.read_response(&body)
    }

    pub(super) async fn request_embedding(
        &self,
        path: Option<&str>,
        body: Bytes,
        context: &Request,
    ) -> Result<Bytes> {
        let Some(path) = path else {
            return Err(unsupported("it has no embeddings for this dialect"));
        };
        let body = majordomo_wire::with_model(&body, &self.id);
        let post = TransportRequest::post(self.provider.uri(path)?, body).json();
        self.send(post, context).await
    }

    /// Sends a call for images or embeddings, on behalf of a request. Counts have quotas of
    /// their own.
    pub(super) async fn send(&self, post: TransportRequest, request: &Request) -> Result<Bytes> {
        let post = self.provider.apply_settings(post, Some(request))?;
        match self.provider.transport().send(post).await? {
            TransportResponse::Success(head, body) => {
                self.read_quota(&head);
                Ok(body)
            }
            TransportResponse::ErrorStatus(head, body) => {
                self.read_quota(&head);
                Err(self.provider.decode_error(&head, &body))
            }
        }
    }
}
