//! Answers of a Rust type.
//!
//! The schema comes from the type. Targets with structured output are bound to
//! it, the others are told in words. The answer is checked; a bad one is shown
//! its problems and asked for again once, and then a chain goes to its next
//! target, all through the request's accept hook.

mod fence;
mod judge;
mod output;
mod partial;
mod stream;

use std::future::Future;

use majordomo_llm::{Model, Request, Response, Result};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use output::TypedOutput;
pub use stream::{ObjectItem, ObjectStream};

/// A value, and the response that it was read from.
#[derive(Clone, Debug)]
pub struct TypedResponse<T> {
    /// What was asked for.
    pub value: T,
    /// Who served, what it cost, what happened on the way.
    pub response: Response,
}

/// Typed answers from any model.
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
    /// One answer of this type.
    fn generate_as<T>(&self, request: Request) -> impl Future<Output = Result<T>> + Send
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
    {
        async move {
            let output = TypedOutput::<T>::new()?;
            Ok(output.generate(self, request).await?.value)
        }
    }

    /// The answer as it grows, for programs that show it meanwhile.
    fn stream_as<T>(&self, request: Request) -> impl Future<Output = Result<ObjectStream<T>>> + Send
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
    {
        async move { TypedOutput::<T>::new()?.stream(self, request).await }
    }
}

impl<M: Model + ?Sized> GenerateAs for M {}
