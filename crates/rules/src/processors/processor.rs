//! The [`Processor`] trait.

use majordomo::llm::Change;
use majordomo::{BoxFuture, Request};

use crate::{RuleIndex, Subject};

/// Why a processor failed; the request continues without it.
pub type ProcessorError = Box<dyn std::error::Error + Send + Sync>;

/// Transforms a request that a rule matched.
///
/// Dropping the future, as when the client disconnects, cancels the work.
///
/// ```
/// use majordomo::BoxFuture;
/// use majordomo::llm::Change;
/// use majordomo_rules::processors::{Processor, ProcessorError, Processors, ProcessorTask};
///
/// /// Drops all images.
/// struct Blindfold;
///
/// impl<S: Sync> Processor<S> for Blindfold {
///     fn process<'a>(
///         &'a self,
///         task: ProcessorTask<'a, '_, S>,
///     ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
///         Box::pin(async move {
///             let count = task.subject.images();
///             for message in &mut task.request.edit().messages {
///                 message.parts.retain(|part| !matches!(part, majordomo::Part::Image(_)));
///             }
///             Ok(vec![Change::new("image", "dropped").times(count)])
///         })
///     }
/// }
///
/// let mut processors: Processors<String> = Processors::default();
/// processors.register("proxy_vision", "enabled", Blindfold);
/// assert!(processors.get("proxy_vision", "enabled").is_some());
/// ```
pub trait Processor<S>: Send + Sync {
    /// Changes the request in place and reports the changes.
    fn process<'a>(
        &'a self,
        task: ProcessorTask<'a, '_, S>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>>;

    /// Reports what [`process`](Self::process) would change, without calling a service.
    fn preview<'a>(
        &'a self,
        _task: ProcessorTask<'a, '_, S>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// The input of a processor.
pub struct ProcessorTask<'a, 'r, S> {
    /// The request to change; earlier processors may have changed it already.
    pub request: &'a mut Request,
    /// The request as rules saw it, and its context.
    pub subject: &'a Subject<'r>,
    /// The matched rule's services: the processor's upstreams. The processor checks
    /// which of them are usable.
    pub services: &'a [S],
    /// The rule that matched.
    pub rule: RuleIndex,
}
