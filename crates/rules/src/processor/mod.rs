//! Processors: operations of rules that change the request.
//!
//! A processor is a condition and a transformation in one type, registered once at start
//! under its position and operation. A rule that names it does not choose the destination:
//! its services are the processor's upstreams. `apply` runs it.
//!
//! May use `value`; knows neither rules nor the other positions.

mod registry;

pub use registry::Processors;

use http::Extensions;
use majordomo::llm::Change;
use majordomo::{BoxFuture, Chain, Error, Request};
use serde_json::Value;

use crate::{RuleIndex, Subject};

/// An operation that rules can name, and the transformation of requests that match it.
///
/// The condition and the transformation are one type, so a rule that names the operation
/// runs the processor. Dropping a future, as when the client disconnects, cancels the work.
///
/// ```
/// use majordomo::llm::Change;
/// use majordomo::{BoxFuture, Request};
/// use majordomo_rules::{
///     ConditionSpec, Processor, ProcessorError, ProcessorTask, Processors, RuleSet, RuleSpec, Subject,
/// };
///
/// /// `{ position = "length", op = "short" }`: asks for short responses.
/// struct Short;
///
/// impl Processor for Short {
///     fn position(&self) -> &'static str {
///         "length"
///     }
///
///     fn op(&self) -> &'static str {
///         "short"
///     }
///
///     fn process<'a>(
///         &'a self,
///         task: ProcessorTask<'a, '_>,
///     ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
///         Box::pin(async move {
///             task.request.edit().max_tokens = Some(100);
///             Ok(vec![Change::new("max_tokens", "set")])
///         })
///     }
/// }
///
/// let mut processors = Processors::default();
/// processors.register(Short);
/// let rule = RuleSpec {
///     name: "short".to_owned(),
///     when: vec![ConditionSpec::bare("length", "short")],
///     services: vec!["any/model".to_owned()],
/// };
/// let rules = RuleSet::compile_with(vec![rule], &processors)?;
/// let request = Request::user("hi");
/// assert!(rules.evaluate(&Subject::new(&request, "coder")).is_some());
/// # Ok::<(), Vec<majordomo_rules::RuleError>>(())
/// ```
pub trait Processor: Send + Sync {
    /// The position under which rules name it.
    fn position(&self) -> &'static str;

    /// Its operation.
    fn op(&self) -> &'static str;

    /// Checks the condition's value when a rule is compiled; an error states what is expected.
    /// Accepts a boolean or nothing by default.
    fn check_value(&self, value: Option<&Value>) -> Result<(), String> {
        crate::value::switch(value).map_err(|bad| bad.message)?;
        Ok(())
    }

    /// Whether the condition holds. Always, by default.
    fn holds(&self, _subject: &Subject<'_>, _value: Option<&Value>) -> bool {
        true
    }

    /// The finding of the condition, for traces. Must not quote the client.
    fn found(&self, _subject: &Subject<'_>) -> String {
        String::new()
    }

    /// Changes the request in place and reports the changes.
    fn process<'a>(
        &'a self,
        task: ProcessorTask<'a, '_>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>>;

    /// Does the part of [`process`](Self::process) that needs no call of a service, for dry
    /// runs and token counts.
    fn preview<'a>(
        &'a self,
        _task: ProcessorTask<'a, '_>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// The input of a processor.
#[non_exhaustive]
pub struct ProcessorTask<'a, 'r> {
    /// The request to change; earlier processors may have changed it already.
    pub request: &'a mut Request,
    /// The value of the condition that held, which [`Processor::check_value`] has checked.
    pub value: Option<&'a Value>,
    /// The request as rules saw it, and its context.
    pub subject: &'a Subject<'r>,
    /// The matched rule's active services: the processor's upstreams, in file order.
    pub services: &'a [Chain],
    /// Values that the gateway attaches to the request, by type.
    pub extensions: &'a Extensions,
    /// The rule that matched.
    pub rule: RuleIndex,
}

/// Why a processor failed.
#[derive(Debug)]
pub enum ProcessorError {
    /// The request continues as the processor left it. The trace has the reason.
    Skip(Box<dyn std::error::Error + Send + Sync>),
    /// The request must not continue: the client gets this error.
    Reject(Error),
}

impl ProcessorError {
    /// The request continues as the processor left it.
    pub fn skip(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Skip(reason.into())
    }
}

impl From<Error> for ProcessorError {
    fn from(error: Error) -> Self {
        Self::Reject(error)
    }
}
