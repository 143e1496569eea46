//! Responses as Rust types.
//!
//! The schema is derived from the type. Targets with structured output receive the
//! schema, others an instruction. An invalid response is repaired once, and then a chain
//! fails over to the next target, through the request's `Accept` hook.

mod accept;
mod fence;
mod output;
mod partial_json;
mod stream;

use std::future::Future;

use majordomo_llm::{Model, Request, Response, Result};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use output::TypedOutput;
pub use stream::{ObjectItem, ObjectStream};

/// A value, and the response it was parsed from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TypedResponse<T> {
    /// The value.
    pub value: T,
    /// The response, with its target, usage and attempt log.
    pub response: Response,
}

/// Extends every [`Model`] with typed responses.
///
/// ```
/// use majordomo::agent::GenerateAs;
/// use majordomo::{Model, Request};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Person {
///     name: String,
///     /// In years.
///     age: u8,
/// }
///
/// async fn extract(model: &dyn Model, text: &str) -> majordomo::Result<Person> {
///     model.generate_as::<Person>(Request::user(text)).await
/// }
/// ```
pub trait GenerateAs: Model {
    /// Sends the request and returns the response as `T`.
    fn generate_as<T>(&self, request: Request) -> impl Future<Output = Result<T>> + Send
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
    {
        async move {
            let output = TypedOutput::<T>::new()?;
            Ok(output.generate(self, request).await?.value)
        }
    }

    /// Sends the request and streams the value as it grows.
    fn stream_as<T>(&self, request: Request) -> impl Future<Output = Result<ObjectStream<T>>> + Send
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
    {
        async move { TypedOutput::<T>::new()?.stream(self, request).await }
    }
}

impl<M: Model + ?Sized> GenerateAs for M {}
