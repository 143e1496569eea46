//! Image generation: OpenAI's images API, read and written, and two other ways in which
//! servers generate images.
//!
//! - `read_request` reads JSON, `read_form` the forms of edits (RFC 7578, by `form`),
//! - `write_request` writes both, or forwards a client's body with another model,
//! - `response` reads and writes responses,
//! - [`sdapi`] is the API of Stable Diffusion servers behind llama-swap,
//! - [`gemini`] requests images from a Gemini model with a chat request.
//!
//! Settings that a target does not know are losses. May use `base64`, `failure`, `json`,
//! `loss`, `model_name` and `protocol`.

mod form;
pub mod gemini;
mod read_form;
mod read_request;
mod response;
pub mod sdapi;
#[cfg(test)]
mod tests;
mod write_request;

use bytes::Bytes;
use majordomo_image_header::sniff;
use majordomo_llm::{Dialect, Image, ImagePrompt, ImageRequest};

use crate::{Loss, ReadError};
pub use response::{read_response, write_response};
pub use write_request::{ImageTarget, write_request};

/// The dialect of OpenAI's images API.
pub const DIALECT: Dialect = Dialect::new("openai-images");

/// Maximum images that a client may request at once.
const MOST_IMAGES: u64 = 128;
/// Stands for a file that is only in the client's own bytes.
const UNSENT: &str = "(file)";
/// Fields with the images of a JSON body that only OpenAI can resolve.
const REFERENCES: [&str; 2] = ["images", "image"];

/// A client's request for images.
#[derive(Debug)]
pub struct ReadImages {
    /// The model that it names.
    pub model: Option<String>,
    /// The request.
    pub request: ImageRequest,
    /// Whether it requests a stream of partial images.
    pub stream: bool,
    /// Whether it requests URLs instead of base64.
    pub wants_urls: bool,
}

/// A body to send.
#[derive(Debug)]
pub struct WrittenImages {
    /// The value of `content-type`.
    pub content_type: String,
    /// The body.
    pub body: Bytes,
    /// Whether it is for the endpoint that edits images.
    pub edits: bool,
    /// Settings that the target does not support.
    pub losses: Vec<Loss>,
}

/// Reads a request for images, in JSON or as a form.
///
/// ```
/// use majordomo_wire::images;
///
/// let body = r#"{"model":"gpt-image-2","prompt":"a pear","n":2}"#;
/// let read = images::read_request("application/json", body.into())?;
/// assert_eq!(read.model.as_deref(), Some("gpt-image-2"));
/// assert_eq!(read.request.prompt().n.map(|n| n.get()), Some(2));
/// # Ok::<(), majordomo_wire::ReadError>(())
/// ```
pub fn read_request(content_type: &str, body: Bytes) -> Result<ReadImages, ReadError> {
    match form::boundary(content_type)? {
        Some(boundary) => read_form::read_form(content_type, boundary, body),
        None => read_request::read_json(content_type, body),
    }
}

/// Whether a request edits images.
pub fn is_edit(prompt: &ImagePrompt) -> bool {
    !prompt.images.is_empty() || references(prompt)
}

/// Whether a request has images that only OpenAI can resolve.
fn references(prompt: &ImagePrompt) -> bool {
    let native = prompt.native.as_deref();
    native.is_some_and(|native| REFERENCES.iter().any(|name| native.get(name).is_some()))
}

/// An image of these bytes, which determine its format more reliably than the declared type.
fn image(declared: Option<&str>, data: Bytes) -> Image {
    let sniffed = sniff(&data).map(|format| format.media_type());
    let media_type = sniffed.or(declared).unwrap_or("image/png").to_owned();
    Image::new(media_type, data)
}
