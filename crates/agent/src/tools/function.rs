//! A tool that can be run.

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

/// Long enough for a slow search, short enough that a stuck one is noticed.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// The code: a call and its checked arguments in; an output, or a text that
/// tells the model what went wrong.
pub(super) type Handler =
    Arc<dyn Fn(ToolCall, Value) -> BoxFuture<'static, Result<ToolOutput, String>> + Send + Sync>;

/// A tool with the code behind it. Clones share the code.
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
    /// A tool from a closure or an async function. The schema comes from the
    /// argument type; an error's text is shown to the model.
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

    /// As [`Function::new`], for code that wants to see the call. A call's id is
    /// the same when a resumed run makes the call again, so it can tell a backend
    /// that this order was already placed.
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
                    .map_err(|error| format!("The arguments could not be read: {error}"))?;
                let output = run(call, arguments).await.map_err(text_of)?;
                output.into_tool_output().map_err(text_of)
            }
        })
    }

    /// A tool whose schema is known only at run time, such as one of a plug-in.
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

    /// How long a call may take; two minutes unless set.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// A call may take as long as the run.
    #[must_use]
    pub fn without_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// No other tool of the same answer runs while this one does.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// What the model is told about it.
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

/// The alternate form, because error chains tell their causes there.
fn text_of(error: impl fmt::Display) -> String {
    format!("{error:#}")
}

fn json_of(schema: &Value) -> Json {
    Json::from_value(schema).expect("a JSON value is always valid JSON")
}
