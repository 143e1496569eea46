//! Typed responses as methods of [`Chain`].

use majordomo_agent::{GenerateAs, ObjectStream};
use majordomo_llm::{Request, Result};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::Chain;

impl Chain {
    /// Generates a value of type `T`. Each target receives the type's schema in the best
    /// form it supports; an invalid response is repaired once, then the next target is
    /// tried.
    ///
    /// ```
    /// use majordomo::fake::{Fake, Step};
    /// use majordomo::{Registry, Request};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Person {
    ///     name: String,
    ///     age: u8,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> majordomo::Result<()> {
    /// # let fake = Fake::new("fp");
    /// # fake.enqueue("small", [Step::reply(r#"{"name": "Ada", "age": 36}"#)]);
    /// # let registry = Registry::empty();
    /// # registry.register(fake);
    /// let model = registry.model("fp/small,fp/large")?;
    /// let request = Request::user("Ada is 36 years old.");
    /// let person: Person = model.generate_as::<Person>(request).await?;
    /// assert_eq!((person.name.as_str(), person.age), ("Ada", 36));
    /// # Ok(()) }
    /// ```
    pub async fn generate_as<T>(&self, request: Request) -> Result<T>
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
    {
        GenerateAs::generate_as(self, request).await
    }

    /// Streams growing values of type `T`; see [`GenerateAs::stream_as`].
    pub async fn stream_as<T>(&self, request: Request) -> Result<ObjectStream<T>>
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
    {
        GenerateAs::stream_as(self, request).await
    }
}
