//! Tools with a handler.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use majordomo_llm::{BoxFuture, Json, Tool, ToolCall};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{IntoToolOutput, ToolOutput};
use crate::schema::arguments_of;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// Maps a call and its validated arguments to an output, or to an error text for the
/// model.
pub(super) type Handler =
    Arc<dyn Fn(ToolCall, Value) -> BoxFuture<'static, Result<ToolOutput, String>> + Send + Sync>;

/// A tool with its handler. Clones share the handler.
///
/// The [`tool`](macro@crate::tool) attribute is usually more convenient.
///
/// ```
/// use std::time::Duration;
/// use majordomo::agent::{Function, Toolbox};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Weather {
///     /// A city's name.
///     city: String,
/// }
///
/// let weather = Function::new("weather", "The weather in a city.", |args: Weather| async move {
///     match args.city.as_str() {
///         "Atlantis" => Err("no such city; try one above the sea"),
///         city => Ok(format!("sunny in {city}")),
///     }
/// })
/// .timeout(Duration::from_secs(5));
/// let toolbox = Toolbox::new([weather]).unwrap();
/// ```
#[derive(Clone)]
pub struct Function {
    pub(super) tool: Tool,
    pub(super) timeout: Option<Duration>,
    pub(super) alone: bool,
    pub(super) handler: Handler,
}

impl Function {
    /// Creates a tool from a closure or async function.
    ///
    /// The schema is derived from the argument type. Errors are shown to the model.
    pub fn new<A, F, R, T, E>(
        name: impl Into<String>,
        description: impl Into<String>,
        run: F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: IntoToolOutput,
        E: fmt::Display,
    {
        Self::with_call(name, description, move |_, arguments| run(arguments))
    }

    /// Like [`Function::new`], for handlers that need the call.
    ///
    /// A resumed run repeats a call with the same id, which can therefore serve as an
    /// idempotency key.
    pub fn with_call<A, F, R, T, E>(
        name: impl Into<String>,
        description: impl Into<String>,
        run: F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(ToolCall, A) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: IntoToolOutput,
        E: fmt::Display,
    {
        let schema = arguments_of::<A>();
        let tool = Tool::new(name)
            .description(description)
            .parameters(json_of(&schema));
        let run = Arc::new(run);
        Self::untyped(tool, move |call, arguments| {
            let run = Arc::clone(&run);
            async move {
                let arguments = serde_json::from_value(arguments)
                    .map_err(|error| format!("The arguments could not be deserialized: {error}"))?;
                let output = run(call, arguments).await.map_err(text_of)?;
                output.into_tool_output().map_err(text_of)
            }
        })
    }

    /// Creates a tool whose schema is known only at run time.
    pub fn untyped<F, R, E>(tool: Tool, run: F) -> Self
    where
        F: Fn(ToolCall, Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, E>> + Send + 'static,
        E: fmt::Display,
    {
        let handler: Handler = Arc::new(move |call, arguments| {
            let work = run(call, arguments);
            Box::pin(async move { work.await.map_err(text_of) })
        });
        Self {
            tool,
            timeout: Some(DEFAULT_TIMEOUT),
            alone: false,
            handler,
        }
    }

    /// Sets the timeout of a call. The default is two minutes.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Removes the timeout.
    #[must_use]
    pub fn without_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Prevents other tools from running concurrently with this one.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Returns the definition sent to the model.
    pub fn definition(&self) -> &Tool {
        &self.tool
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.tool.name)
            .field("timeout", &self.timeout)
            .field("alone", &self.alone)
            .finish_non_exhaustive()
    }
}

/// The arguments of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct NoArguments {}

/// Uses the alternate form, which includes the causes of error chains.
fn text_of(error: impl fmt::Display) -> String {
    format!("{error:#}")
}

fn json_of(schema: &Value) -> Json {
    Json::from_value(schema).expect("a JSON value is always valid JSON")
}
