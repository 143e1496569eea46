//! Schemas for typed responses.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use majordomo_llm::{
    Error, ErrorKind, FinishReason, Json, Model, ModelExt, OutputFormat, OutputSchema, Part,
    Request, Response, Result,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::accept::AcceptTyped;
use super::fence::strip_fence;
use super::stream::ObjectStream;
use super::{TypedResponse, partial_json};
use crate::bounded_json;
use crate::schema::{SchemaChecker, StrictSchema, WRAPPER, of, strict};

/// The compiled schema of a type, for use with many requests. Clones share it.
///
/// For a single request, [`GenerateAs`](crate::GenerateAs) is simpler.
///
/// ```
/// use majordomo::agent::TypedOutput;
///
/// let list = TypedOutput::<Vec<i64>>::new()?;
/// assert_eq!(list.read("```json\n[1, 2]\n```").unwrap(), [1, 2]);
/// assert!(list.read("[1, \"two\"]").unwrap_err().contains("at /1"));
/// # Ok::<(), majordomo::Error>(())
/// ```
pub struct TypedOutput<T> {
    schema: Arc<TypedSchema>,
    of: PhantomData<fn() -> T>,
}

struct TypedSchema {
    sent: OutputSchema,
    wrapped: bool,
    /// Strict mode accepts the schema.
    closed: bool,
    checker: SchemaChecker,
}

impl<T> Clone for TypedOutput<T> {
    fn clone(&self) -> Self {
        Self {
            schema: Arc::clone(&self.schema),
            of: PhantomData,
        }
    }
}

impl<T: JsonSchema> TypedOutput<T> {
    /// Derives and compiles the schema.
    ///
    /// # Errors
    ///
    /// Fails if the schema is invalid, for example because of a malformed pattern.
    pub fn new() -> Result<Self> {
        let schema = of::<T>();
        let unusable = |reason: String| {
            let text = format!("the schema of `{}` is invalid: {reason}", T::schema_name());
            Error::new(ErrorKind::Unsupported, text)
        };
        let checker = SchemaChecker::new(&schema).map_err(unusable)?;
        let StrictSchema {
            schema,
            wrapped,
            closed,
        } = strict(schema);
        let sent = OutputSchema {
            schema: Json::from_value(&schema).map_err(|error| unusable(error.to_string()))?,
            name: Some(wire_name(&T::schema_name())),
            strict: None,
        };
        let schema = TypedSchema {
            sent,
            wrapped,
            closed,
            checker,
        };
        Ok(Self {
            schema: Arc::new(schema),
            of: PhantomData,
        })
    }

    /// Requests strict mode from providers that support it.
    ///
    /// # Errors
    ///
    /// Fails if the type contains a map or an arbitrary value.
    pub fn strict(mut self) -> Result<Self> {
        if !self.schema.closed {
            let text = format!(
                "`{}` contains a map or an arbitrary value, which strict mode rejects",
                T::schema_name()
            );
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        let schema = TypedSchema {
            sent: OutputSchema {
                strict: Some(true),
                ..self.schema.sent.clone()
            },
            checker: self.schema.checker.clone(),
            ..*self.schema
        };
        self.schema = Arc::new(schema);
        Ok(self)
    }
}

impl TypedOutput<Value> {
    /// Uses a schema that is known only at run time. It is sent unchanged.
    ///
    /// ```
    /// use majordomo::Json;
    /// use majordomo::agent::TypedOutput;
    ///
    /// let schema = Json::parse(r#"{"type": "object", "required": ["name"]}"#).unwrap();
    /// let output = TypedOutput::from_schema(schema)?;
    /// assert_eq!(output.read(r#"{"name": "Ada"}"#).unwrap()["name"], "Ada");
    /// assert!(output.read("{}").is_err());
    /// # Ok::<(), majordomo::Error>(())
    /// ```
    pub fn from_schema(schema: Json) -> Result<Self> {
        let unusable = |reason: String| {
            let text = format!("the schema is invalid: {reason}");
            Error::new(ErrorKind::Unsupported, text)
        };
        let value: Value = schema.to().map_err(|error| unusable(error.to_string()))?;
        let schema = TypedSchema {
            checker: SchemaChecker::new(&value).map_err(unusable)?,
            sent: OutputSchema {
                schema,
                name: Some(wire_name("")),
                strict: None,
            },
            wrapped: false,
            closed: false,
        };
        Ok(Self {
            schema: Arc::new(schema),
            of: PhantomData,
        })
    }
}

impl<T> TypedOutput<T> {
    /// Returns the schema as sent.
    pub fn schema(&self) -> &Json {
        &self.schema.sent.schema
    }

    /// Sets the schema on a request, or an instruction if the model has no structured
    /// output.
    pub(super) fn apply_to(&self, model: &(impl Model + ?Sized), request: &mut Request) {
        request.edit().output = OutputFormat::Schema(self.schema.sent.clone());
        if !model.capabilities().structured {
            request.instruct_schema();
        }
    }

    /// Parses the value of an unfinished text.
    pub(super) fn parse_partial(&self, text: &str) -> Option<Value> {
        let value = partial_json::parse(text)?;
        match (self.schema.wrapped, value) {
            (true, Value::Object(mut object)) => object.remove(WRAPPER),
            (_, value) => Some(value),
        }
    }
}

impl<T: DeserializeOwned> TypedOutput<T> {
    /// Parses and validates a model's text.
    ///
    /// # Errors
    ///
    /// Returns a list of problems, suitable for the model.
    pub fn read(&self, text: &str) -> Result<T, String> {
        let text = strip_fence(text);
        if text.is_empty() {
            return Err("the response is empty".into());
        }
        let value = bounded_json::parse(text).map_err(|e| format!("it is not valid JSON: {e}"))?;
        let value = self.unwrap(value);
        self.schema.checker.check(&value).map_err(|problems| {
            format!(
                "it does not match the schema:\n{}",
                problems.trim_end_matches('\n')
            )
        })?;
        serde_json::from_value(value).map_err(|error| format!("it cannot be deserialized: {error}"))
    }

    /// Removes the wrapper, which models with an instruction often omit.
    fn unwrap(&self, value: Value) -> Value {
        match value {
            Value::Object(mut object) if self.schema.wrapped && object.len() == 1 => {
                match object.remove(WRAPPER) {
                    Some(inner) => inner,
                    None => Value::Object(object),
                }
            }
            value => value,
        }
    }

    /// Parses a response.
    pub(super) fn read_response(&self, response: &Response) -> Result<T, UnusableResponse> {
        if let Some(text) = declined(response) {
            return Err(UnusableResponse::Declined(text));
        }
        if response.tool_calls().next().is_some() {
            let text = "the model called a tool instead of answering";
            return Err(UnusableResponse::Unrepairable(text.into()));
        }
        self.read(&response.text())
            .map_err(|problems| match response.finish {
                FinishReason::Length | FinishReason::ContextWindow => {
                    UnusableResponse::Unrepairable(format!(
                        "it was truncated at the token limit, and {problems}"
                    ))
                }
                _ => UnusableResponse::Repairable(problems),
            })
    }
}

impl<T> TypedOutput<T>
where
    T: DeserializeOwned + Send + 'static,
{
    /// Sends the request and returns the value with its response. The request's `Accept`
    /// hook still applies.
    pub async fn generate(
        &self,
        model: &(impl Model + ?Sized),
        mut request: Request,
    ) -> Result<TypedResponse<T>> {
        self.apply_to(model, &mut request);
        let accept = Arc::new(AcceptTyped::new(
            self.clone(),
            request.options().accept.clone(),
        ));
        let request = request.accept(accept.clone());
        let response = model.generate(request.clone()).await?;
        let response = if accept.was_called() {
            response
        } else {
            accept.repair_with(model, request, response).await?
        };
        match self.read_response(&response) {
            Ok(value) => Ok(TypedResponse { value, response }),
            Err(why) => Err(why.into_error(response)),
        }
    }

    /// Sends the request and streams the value as it grows.
    ///
    /// An invalid response is an error: after the commit point there is no repair.
    pub async fn stream(
        &self,
        model: &(impl Model + ?Sized),
        mut request: Request,
    ) -> Result<ObjectStream<T>> {
        self.apply_to(model, &mut request);
        let stream = model.stream(request).await?;
        Ok(ObjectStream::new(stream, self.clone()))
    }
}

/// Why a response has no value.
pub(super) enum UnusableResponse {
    /// The model or a content filter declined. No failover: it is the caller's decision.
    Declined(String),
    /// A repair is pointless.
    Unrepairable(String),
    /// The model may succeed when shown these problems.
    Repairable(String),
}

impl UnusableResponse {
    pub(super) fn into_error(self, response: Response) -> Error {
        let text = match self {
            Self::Declined(text) => format!("the model declined to answer: {text}"),
            Self::Unrepairable(text) | Self::Repairable(text) => {
                format!("the response was rejected: {text}")
            }
        };
        let error = Error::new(ErrorKind::Refused, text);
        let error = match response.model.split_once('/') {
            Some((provider, model)) => error.with_target(provider, model),
            None => error,
        };
        let attempt_log = response.attempt_log.clone();
        error.with_attempt_log(attempt_log).with_partial(response)
    }
}

fn declined(response: &Response) -> Option<String> {
    let said: String = response
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Refusal(text) => Some(text.text.as_str()),
            Part::Text(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::Reasoning(_)
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_) => None,
        })
        .collect();
    match response.finish {
        FinishReason::ContentFilter => Some("the content filter stopped the response".into()),
        FinishReason::Refusal if said.is_empty() => Some(response.text()),
        FinishReason::Refusal => Some(said),
        _ => (!said.is_empty()).then_some(said),
    }
}

/// Converts a type name to the characters that providers accept.
fn wire_name(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name: String = name
        .chars()
        .filter(|c| allowed(*c))
        .take(64)
        .collect::<String>()
        .to_lowercase();
    if name.is_empty() {
        "response".into()
    } else {
        name
    }
}

impl<T> fmt::Debug for TypedOutput<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypedOutput")
            .field(&self.schema.sent.schema)
            .finish()
    }
}
