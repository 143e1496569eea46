//! Image generation: the trait beside [`Model`](crate::Model), and its responses.

use crate::{
    AttemptLog, BoxFuture, Image, ImageRequest, Part, RawBody, RemoteImage, Result, Usage,
};

/// Generates and edits images.
///
/// A [`Model`](crate::Model) that generates images returns itself from
/// [`own_image_model`](crate::ModelExtras::own_image_model). A setting that a target does not
/// support is recorded on the request ([`ImageRequest::record_change`]), never dropped
/// silently.
pub trait ImageModel: Send + Sync {
    /// Generates images, or edits those of the request.
    fn generate_images(&self, request: ImageRequest) -> BoxFuture<'_, Result<ImageResponse>>;
}

/// Generated images.
///
/// ```
/// use majordomo_llm::{Image, ImageResponse, Message, Request, Role};
///
/// let response = ImageResponse::new(vec![Image::new("image/png", vec![1, 2, 3])]);
/// let mut parts = vec!["What is on this picture?".into()];
/// parts.extend(response.parts());
/// let question = Request::from(vec![Message::new(Role::User, parts)]);
/// assert_eq!(question.prompt().image_count(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ImageResponse {
    /// The images, in order.
    pub images: Vec<Image>,
    /// Images that the provider returned only as URLs. Nothing is fetched.
    pub remote: Vec<RemoteImage>,
    /// Text by the model: a remark, or its revision of the prompt.
    pub text: String,
    /// Token usage; zero where the provider reports none.
    pub usage: Usage,
    /// The target that served the request, as `provider/model`. Set by a chain.
    pub model: String,
    /// The provider's bytes.
    pub raw: Option<RawBody>,
    /// The targets tried, and what was changed for them. Set by a chain.
    pub attempt_log: AttemptLog,
}

impl ImageResponse {
    /// Creates a response of these images.
    pub fn new(images: Vec<Image>) -> Self {
        Self {
            images,
            ..Self::default()
        }
    }

    /// Counts the images, including those returned as URLs.
    pub fn count(&self) -> usize {
        self.images.len() + self.remote.len()
    }

    /// Returns the images as parts of a message, to continue with them in a chat.
    pub fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        let images = self.images.iter().cloned().map(Part::Image);
        images.chain(self.remote.iter().cloned().map(Part::RemoteImage))
    }

    /// Sets [`remote`](Self::remote).
    #[must_use]
    pub fn with_remote(mut self, remote: Vec<RemoteImage>) -> Self {
        self.remote = remote;
        self
    }

    /// Sets [`text`](Self::text).
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// Sets [`usage`](Self::usage).
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets [`model`](Self::model).
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// Sets [`raw`](Self::raw).
    #[must_use]
    pub fn with_raw(mut self, raw: RawBody) -> Self {
        self.raw = Some(raw);
        self
    }
}
