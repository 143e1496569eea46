//! Generates images over HTTP.

use bytes::Bytes;
use majordomo_llm::{BoxFuture, ImageModel, ImageRequest, ImageResponse, Request, Result};
use majordomo_wire::images::{self, ImageTarget, WrittenImages, gemini, sdapi};

use super::model::{HttpModel, unsupported};
use super::offload;
use crate::images_api::ImagesApi;
use crate::transport::TransportRequest;

impl ImageModel for HttpModel {
    fn generate_images(&self, request: ImageRequest) -> BoxFuture<'_, Result<ImageResponse>> {
        Box::pin(async move {
            let context = request.context().add_to(Request::default());
            let credential = self.provider.client_credential(&context).cloned();
            let generated = self.request_images(request).await;
            let mut response =
                generated.map_err(|error| self.attribute(error, credential.as_ref()))?;
            response.model.clone_from(&self.name);
            Ok(response)
        })
    }
}

impl HttpModel {
    async fn request_images(&self, request: ImageRequest) -> Result<ImageResponse> {
        let api = self.provider.recipe().images_api(&self.id);
        match api.ok_or_else(|| unsupported("it generates no images"))? {
            ImagesApi::OpenAi {
                prefix,
                diffusion,
                ask_base64,
            } => {
                let target = ImageTarget {
                    model: &self.id,
                    diffusion,
                    ask_base64,
                };
                let written = images::write_request(&request, &target);
                let call = if written.edits {
                    "edits"
                } else {
                    "generations"
                };
                let path = format!("{prefix}/images/{call}");
                let body = self.post_images(&request, &path, written).await?;
                offload::decode(body, images::read_response).await
            }
            ImagesApi::Sdapi => {
                let written = sdapi::write_request(&request, &self.id)?;
                let call = if written.edits { "img2img" } else { "txt2img" };
                let path = format!("/sdapi/v1/{call}");
                let body = self.post_images(&request, &path, written).await?;
                offload::decode(body, |body| sdapi::read_response(&body)).await
            }
            ImagesApi::Gemini => {
                let (chat, losses) = gemini::chat_request(&request)?;
                for loss in losses {
                    request.record_change(loss.into());
                }
                let chat = request.context().add_to(chat);
                gemini::images_of(self.generate_response(chat).await?)
            }
        }
    }

    /// Sends a body and records its losses.
    async fn post_images(
        &self,
        request: &ImageRequest,
        path: &str,
        written: WrittenImages,
    ) -> Result<Bytes> {
        for loss in written.losses {
            request.record_change(loss.into());
        }
        let post = TransportRequest::post(self.provider.uri(path)?, written.body);
        let post = post.header("content-type", &written.content_type)?;
        let context = request.context().add_to(Request::default());
        self.send(post, &context).await
    }
}
