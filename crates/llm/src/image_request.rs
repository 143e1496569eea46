//! Requests for images: a shared prompt, and how to execute it.
//!
//! Like a [`Request`](crate::Request), one that was decoded from the wire remembers its
//! bytes, and a pointer comparison detects every edit.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::{CallContext, Change, ChangeRecorder, Dialect, Image, ImageSize, Native};

/// What to generate. A setting that is `None` is left to the target and is not sent.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ImagePrompt {
    /// The description of the image, or of the edit.
    pub prompt: String,
    /// Images to edit, or to use as a reference. Without any, a new image is generated.
    pub images: Vec<Image>,
    /// Where the first image may change: its transparent areas.
    pub mask: Option<Image>,
    /// How many images to generate.
    pub n: Option<NonZeroU32>,
    /// The size of the images.
    pub size: Option<ImageSize>,
    /// The number of diffusion steps.
    pub steps: Option<u32>,
    /// How closely to follow the prompt (classifier-free guidance).
    pub guidance: Option<f64>,
    /// What the image must not show.
    pub negative_prompt: Option<String>,
    /// The diffusion sampler, by the server's name for it.
    pub sampler: Option<String>,
    /// The seed, for repeatable images.
    pub seed: Option<i64>,
    /// Fields that only the original dialect understands.
    pub native: Option<Box<Native>>,
}

/// A request to an [`ImageModel`](crate::ImageModel) or a chain. Cheap to clone: the
/// [`ImagePrompt`] is copy-on-write.
///
/// ```
/// use majordomo_llm::ImageRequest;
///
/// let request = ImageRequest::new("a red apple on a table").n(2).seed(7);
/// assert_eq!(request.prompt().seed, Some(7));
/// assert_eq!(request.prompt().steps, None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ImageRequest {
    prompt: Arc<ImagePrompt>,
    source: Option<(ImageBody, Arc<ImagePrompt>)>,
    timeout: Option<Duration>,
    context: CallContext,
    change_recorder: Option<ChangeRecorder>,
}

/// The body of a client's request for images.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImageBody {
    /// The client's dialect.
    pub dialect: Dialect,
    /// The value of `content-type`: a form has its boundary there.
    pub content_type: String,
    /// The body.
    pub bytes: Bytes,
}

impl ImageBody {
    /// Creates a body.
    pub fn new(dialect: Dialect, content_type: impl Into<String>, bytes: Bytes) -> Self {
        Self {
            dialect,
            content_type: content_type.into(),
            bytes,
        }
    }
}

impl ImageRequest {
    /// Creates a request for the target's default number of images, usually one.
    pub fn new(prompt: impl Into<String>) -> Self {
        ImagePrompt {
            prompt: prompt.into(),
            ..ImagePrompt::default()
        }
        .into()
    }

    /// Creates a request decoded from a client's body.
    pub fn from_wire(body: ImageBody, prompt: ImagePrompt) -> Self {
        let prompt = Arc::new(prompt);
        Self {
            source: Some((body, Arc::clone(&prompt))),
            prompt,
            ..Self::default()
        }
    }

    /// Returns the prompt.
    pub fn prompt(&self) -> &ImagePrompt {
        &self.prompt
    }

    /// Returns the prompt for editing, copying it first if it is shared.
    pub fn edit(&mut self) -> &mut ImagePrompt {
        Arc::make_mut(&mut self.prompt)
    }

    /// Returns the client's body if it is in this dialect and the prompt was not edited.
    pub fn untouched(&self, dialect: &Dialect) -> Option<&ImageBody> {
        let (body, prompt) = self.source.as_ref()?;
        let same = body.dialect == *dialect && Arc::ptr_eq(prompt, &self.prompt);
        same.then_some(body)
    }

    /// Adds an image to edit, or to use as a reference.
    #[must_use]
    pub fn image(mut self, image: Image) -> Self {
        self.edit().images.push(image);
        self
    }

    /// Sets where the first image may change: the mask's transparent areas.
    #[must_use]
    pub fn mask(mut self, mask: Image) -> Self {
        self.edit().mask = Some(mask);
        self
    }

    /// Sets how many images to generate; 0 leaves it to the target.
    #[must_use]
    pub fn n(mut self, n: u32) -> Self {
        self.edit().n = NonZeroU32::new(n);
        self
    }

    /// Sets the size of the images.
    #[must_use]
    pub fn size(mut self, size: ImageSize) -> Self {
        self.edit().size = Some(size);
        self
    }

    /// Sets the number of diffusion steps.
    #[must_use]
    pub fn steps(mut self, steps: u32) -> Self {
        self.edit().steps = Some(steps);
        self
    }

    /// Sets how closely to follow the prompt (classifier-free guidance).
    #[must_use]
    pub fn guidance(mut self, guidance: f64) -> Self {
        self.edit().guidance = Some(guidance);
        self
    }

    /// Sets what the image must not show.
    #[must_use]
    pub fn negative_prompt(mut self, text: impl Into<String>) -> Self {
        self.edit().negative_prompt = Some(text.into());
        self
    }

    /// Sets the diffusion sampler.
    #[must_use]
    pub fn sampler(mut self, sampler: impl Into<String>) -> Self {
        self.edit().sampler = Some(sampler.into());
        self
    }

    /// Sets the seed.
    #[must_use]
    pub fn seed(mut self, seed: i64) -> Self {
        self.edit().seed = Some(seed);
        self
    }

    /// Sets the timeout for all attempts together.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Returns the timeout for all attempts together.
    pub fn time_limit(&self) -> Option<Duration> {
        self.timeout
    }

    /// Sets what the calls carry on behalf of a client.
    #[must_use]
    pub fn with_context(mut self, context: CallContext) -> Self {
        self.context = context;
        self
    }

    /// Returns what the calls carry on behalf of a client.
    pub fn context(&self) -> &CallContext {
        &self.context
    }

    /// Attaches a new [`ChangeRecorder`] for one attempt and returns both.
    pub fn recording_changes(mut self) -> (Self, ChangeRecorder) {
        let recorder = ChangeRecorder::default();
        self.change_recorder = Some(recorder.clone());
        (self, recorder)
    }

    /// Records a change made for the target. Does nothing without a recorder.
    pub fn record_change(&self, change: Change) {
        if let Some(recorder) = &self.change_recorder {
            recorder.add(change);
        }
    }
}

impl From<ImagePrompt> for ImageRequest {
    fn from(prompt: ImagePrompt) -> Self {
        Self {
            prompt: Arc::new(prompt),
            ..Self::default()
        }
    }
}

impl From<&str> for ImageRequest {
    fn from(prompt: &str) -> Self {
        Self::new(prompt)
    }
}

impl From<String> for ImageRequest {
    fn from(prompt: String) -> Self {
        Self::new(prompt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECT: Dialect = Dialect::new("x");

    #[test]
    fn an_edited_request_is_no_longer_its_clients_body() {
        let body = ImageBody::new(DIALECT, "application/json", Bytes::from_static(b"{}"));
        let request = ImageRequest::from_wire(body, ImagePrompt::default());
        assert!(request.clone().untouched(&DIALECT).is_some());
        assert!(request.untouched(&Dialect::new("y")).is_none());
        assert!(request.clone().seed(1).untouched(&DIALECT).is_none());
        assert!(
            request.untouched(&DIALECT).is_some(),
            "a clone's edit is its own"
        );
    }

    #[test]
    fn nothing_is_set_unless_it_was_asked_for() {
        let plain = ImageRequest::from("a pear");
        let expected = ImagePrompt {
            prompt: "a pear".to_owned(),
            ..ImagePrompt::default()
        };
        assert_eq!(*plain.prompt(), expected);
        assert_eq!(plain.n(0).prompt().n, None);
    }
}
