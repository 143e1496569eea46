//! A Rust type as the shape of an answer.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use majordomo_llm::{
    Error, ErrorKind, FinishReason, Json, Model, OutputFormat, OutputSchema, Part, Request,
    Response, Result,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::fence::strip_fence;
use super::judge::Judge;
use super::stream::ObjectStream;
use super::{TypedResponse, partial};
use crate::bounded_json;
use crate::schema::{Checker, Strict, WRAPPER, of, schema_to_instructions, strict};

/// A type's schema, derived and compiled once, to be used for many requests.
/// Clones share it.
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
    shape: Arc<Shape>,
    of: PhantomData<fn() -> T>,
}

struct Shape {
    sent: OutputSchema,
    wrapped: bool,
    /// Whether a provider's strict mode would take the schema.
    closed: bool,
    checker: Checker,
}

impl<T> Clone for TypedOutput<T> {
    fn clone(&self) -> Self {
        Self {
            shape: Arc::clone(&self.shape),
            of: PhantomData,
        }
    }
}

impl<T: JsonSchema> TypedOutput<T> {
    /// Derives and compiles the schema. Fails if the type gives none that can be
    /// checked, for example because of a malformed pattern.
    pub fn new() -> Result<Self> {
        let schema = of::<T>();
        let unusable = |reason: String| {
            let text = format!("no schema for `{}`: {reason}", T::schema_name());
            Error::new(ErrorKind::Unsupported, text)
        };
        let checker = Checker::new(&schema).map_err(unusable)?;
        let Strict {
            schema,
            wrapped,
            closed,
        } = strict(schema);
        let sent = OutputSchema {
            schema: Json::from_value(&schema).map_err(|error| unusable(error.to_string()))?,
            name: Some(wire_name(&T::schema_name())),
            strict: None,
        };
        let shape = Shape {
            sent,
            wrapped,
            closed,
            checker,
        };
        Ok(Self {
            shape: Arc::new(shape),
            of: PhantomData,
        })
    }

    /// Asks for the provider's strict mode, where it has one. Types with maps or
    /// free values cannot be strict.
    pub fn strict(mut self) -> Result<Self> {
        if !self.shape.closed {
            let text = format!(
                "`{}` holds a map or a free value, which strict mode refuses",
                T::schema_name()
            );
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        let shape = Shape {
            sent: OutputSchema {
                strict: Some(true),
                ..self.shape.sent.clone()
            },
            checker: self.shape.checker.clone(),
            ..*self.shape
        };
        self.shape = Arc::new(shape);
        Ok(self)
    }
}

impl TypedOutput<Value> {
    /// An answer whose schema is only known when the program runs. It is sent as
    /// it is written.
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
            let text = format!("the schema cannot be used: {reason}");
            Error::new(ErrorKind::Unsupported, text)
        };
        let value: Value = schema.to().map_err(|error| unusable(error.to_string()))?;
        let shape = Shape {
            checker: Checker::new(&value).map_err(unusable)?,
            sent: OutputSchema {
                schema,
                name: Some(wire_name("")),
                strict: None,
            },
            wrapped: false,
            closed: false,
        };
        Ok(Self {
            shape: Arc::new(shape),
            of: PhantomData,
        })
    }
}

impl<T> TypedOutput<T> {
    /// The schema as it is sent.
    pub fn schema(&self) -> &Json {
        &self.shape.sent.schema
    }

    /// Asks for this type: the schema where the model binds its answer to one,
    /// an instruction where not.
    pub(super) fn put_into(&self, model: &(impl Model + ?Sized), request: &mut Request) {
        request.edit().output = OutputFormat::Schema(self.shape.sent.clone());
        if !model.capabilities().structured {
            schema_to_instructions(request);
        }
    }

    /// What of the answer can be shown already.
    pub(super) fn glimpse(&self, text: &str) -> Option<Value> {
        let value = partial::read(text)?;
        match (self.shape.wrapped, value) {
            (true, Value::Object(mut object)) => object.remove(WRAPPER),
            (_, value) => Some(value),
        }
    }
}

impl<T: DeserializeOwned> TypedOutput<T> {
    /// Reads a model's text, or lists what is wrong with it.
    pub fn read(&self, text: &str) -> Result<T, String> {
        let text = strip_fence(text);
        if text.is_empty() {
            return Err("the answer is empty".into());
        }
        let value = bounded_json::read(text).map_err(|e| format!("it is not valid JSON: {e}"))?;
        let value = self.unwrap(value);
        self.shape.checker.check(&value).map_err(|problems| {
            format!(
                "it does not match the schema:\n{}",
                problems.trim_end_matches('\n')
            )
        })?;
        serde_json::from_value(value).map_err(|error| format!("it cannot be read: {error}"))
    }

    /// Models that were told in words often leave the wrapper out.
    fn unwrap(&self, value: Value) -> Value {
        match value {
            Value::Object(mut object) if self.shape.wrapped && object.len() == 1 => {
                match object.remove(WRAPPER) {
                    Some(inner) => inner,
                    None => Value::Object(object),
                }
            }
            value => value,
        }
    }

    /// Reads a response, or says why it is no answer.
    pub(super) fn read_response(&self, response: &Response) -> Result<T, NotAnAnswer> {
        if let Some(text) = declined(response) {
            return Err(NotAnAnswer::Declined(text));
        }
        if response.tool_calls().next().is_some() {
            let text = "the model asked for a tool instead of answering";
            return Err(NotAnAnswer::Useless(text.into()));
        }
        self.read(&response.text())
            .map_err(|problems| match response.finish {
                FinishReason::Length | FinishReason::ContextWindow => {
                    NotAnAnswer::Useless(format!("it was cut at the token limit, and {problems}"))
                }
                _ => NotAnAnswer::Wrong(problems),
            })
    }
}

impl<T> TypedOutput<T>
where
    T: DeserializeOwned + Send + 'static,
{
    /// One answer of this type. The request's own accept hook still has its say.
    pub async fn generate(
        &self,
        model: &(impl Model + ?Sized),
        mut request: Request,
    ) -> Result<TypedResponse<T>> {
        self.put_into(model, &mut request);
        let judge = Arc::new(Judge::new(self.clone(), request.get_accept().cloned()));
        let request = request.accept(judge.clone());
        let response = model.generate(request.clone()).await?;
        let response = if judge.was_asked() {
            response
        } else {
            judge.repair_with(model, request, response).await?
        };
        match self.read_response(&response) {
            Ok(value) => Ok(TypedResponse { value, response }),
            Err(why) => Err(why.into_error(response)),
        }
    }

    /// The answer as it grows. A stream is past its commit point when the answer
    /// turns out to be wrong, so there is no repair here, only an error.
    pub async fn stream(
        &self,
        model: &(impl Model + ?Sized),
        mut request: Request,
    ) -> Result<ObjectStream<T>> {
        self.put_into(model, &mut request);
        let stream = model.stream(request).await?;
        Ok(ObjectStream::new(stream, self.clone()))
    }
}

/// Why a response holds no value.
pub(super) enum NotAnAnswer {
    /// The model or its filter said no; asking elsewhere is not ours to decide.
    Declined(String),
    /// Asking the same model again is useless.
    Useless(String),
    /// The model may do better when it sees this.
    Wrong(String),
}

impl NotAnAnswer {
    pub(super) fn into_error(self, response: Response) -> Error {
        let text = match self {
            Self::Declined(text) => format!("the model declined to answer: {text}"),
            Self::Useless(text) | Self::Wrong(text) => {
                format!("the answer was not accepted: {text}")
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
            _ => None,
        })
        .collect();
    match response.finish {
        FinishReason::ContentFilter => Some("the provider's filter stopped it".into()),
        FinishReason::Refusal if said.is_empty() => Some(response.text()),
        FinishReason::Refusal => Some(said),
        _ => (!said.is_empty()).then_some(said),
    }
}

/// Providers want lower case, digits, `_` and `-`.
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
            .field(&self.shape.sent.schema)
            .finish()
    }
}
