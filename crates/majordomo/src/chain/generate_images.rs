//! Image generation along a chain.

use majordomo_llm::{
    BoxFuture, Error, ErrorKind, ImageRequest, ImageResponse, Model, ModelExt, Request, Response,
    Result,
};

use super::Chain;
use super::gate::{AdmittedAttempt, AttemptEnd, AttemptKind};
use super::operation::{Operation, Rejection};
use super::walk::Walk;
use crate::observe::Notice;

/// The size of an image to edit in estimates: about 1,000 tokens.
const BYTES_PER_IMAGE: u64 = 4_000;

impl Chain {
    /// Images from the first target that can serve, with the health, retries and limits of
    /// the chain. Targets that generate no images are skipped.
    ///
    /// A setting that a target does not support, such as `steps`, is dropped and listed as a
    /// change in the attempt log.
    ///
    /// ```
    /// use majordomo::fake::Fake;
    /// use majordomo::{ImageRequest, Registry};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> majordomo::Result<()> {
    /// let registry = Registry::empty();
    /// registry.register(Fake::new("fp"));
    /// let painter = registry.model("fp/painter")?;
    /// let drawn = painter.generate_images(ImageRequest::new("a red apple").n(2)).await?;
    /// assert_eq!(drawn.images.len(), 2);
    /// assert_eq!(drawn.model, "fp/painter");
    /// # Ok(()) }
    /// ```
    pub async fn generate_images(&self, request: impl Into<ImageRequest>) -> Result<ImageResponse> {
        let images = request.into();
        let mut walked = images.context().add_to(Request::default());
        if let Some(limit) = images.time_limit() {
            walked = walked.timeout(limit);
        }
        let operation = GenerateImages { request: images };
        let mut served = Walk::new(self, walked, operation).serve().await?;
        let target = served.target.name().as_str();
        self.observers.notify(&Notice::Served { target });
        served.permit.succeed();
        served.attempt.settle(AttemptEnd::Served);
        let mut response = served.output;
        response.usage += served.spent;
        response.model = target.to_owned();
        response.attempt_log = served.attempt_log;
        Ok(response)
    }
}

/// Generates images; the walked request has only their context.
struct GenerateImages {
    request: ImageRequest,
}

impl Operation for GenerateImages {
    type Output = ImageResponse;

    const KIND: AttemptKind = AttemptKind::Image;

    fn call<'a>(
        &'a self,
        model: &'a dyn Model,
        request: Request,
        attempt: &'a mut AdmittedAttempt,
    ) -> BoxFuture<'a, Result<ImageResponse>> {
        Box::pin(async move {
            let Some(painter) = model.image_model() else {
                let text = "it generates no images";
                return Err(Error::new(ErrorKind::Unsupported, text));
            };
            let (images, changes) = self.request.clone().recording_changes();
            let response = painter.generate_images(images).await;
            // Words instead of images are billed as well.
            if let Err(error) = &response
                && let Some(words) = error.partial()
            {
                attempt.received(words);
            }
            for change in changes.take() {
                request.record_change(change);
            }
            response
        })
    }

    fn input_bytes(&self, _model: &dyn Model) -> Option<u64> {
        let prompt = self.request.prompt();
        let negative = prompt.negative_prompt.as_ref().map_or(0, String::len);
        let texts = (prompt.prompt.len() + negative) as u64;
        let images = prompt.images.len() as u64;
        Some(texts + images * BYTES_PER_IMAGE)
    }

    fn images(&self) -> u64 {
        self.request.prompt().n.map_or(1, |n| n.get().into())
    }

    fn received(&self, response: &ImageResponse, attempt: &mut AdmittedAttempt) {
        attempt.used(response.usage, response.count());
    }

    fn reject(&self, response: &ImageResponse) -> Option<Rejection> {
        (response.count() == 0).then(|| Rejection {
            error: Error::new(ErrorKind::Empty, "the response has no image"),
            repair: Vec::new(),
            response: Response::new(Vec::new()).with_usage(response.usage),
        })
    }
}
