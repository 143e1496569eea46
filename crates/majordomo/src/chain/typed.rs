//! Typed answers without an import.

use majordomo_agent::{GenerateAs, ObjectStream};
use majordomo_llm::{Request, Result};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::Chain;

impl Chain {
    /// One answer of this type: the schema comes from the type, each target gets
    /// it in the best form that it takes, a bad answer is repaired once, and then
    /// the next target is asked.
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
    /// let model = registry.parse("fp/small,fp/large")?;
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

    /// The answer as it grows; see [`GenerateAs::stream_as`].
    pub async fn stream_as<T>(&self, request: Request) -> Result<ObjectStream<T>>
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
    {
        GenerateAs::stream_as(self, request).await
    }
}
