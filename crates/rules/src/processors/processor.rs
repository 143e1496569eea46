//! The trait that a processor implements.

use majordomo::{BoxFuture, Change, Request};

use crate::{RuleIndex, Subject};

/// Why a processor could not do its work; the request goes on without it.
pub type ProcessorError = Box<dyn std::error::Error + Send + Sync>;

/// Changes requests that a rule matched.
///
/// Dropping the future cancels the work, which happens when the client goes away.
///
/// ```
/// use majordomo::{BoxFuture, Change};
/// use majordomo_rules::processors::{Processor, ProcessorError, Processors, Task};
///
/// /// Takes the images out.
/// struct Blindfold;
///
/// impl<S: Sync> Processor<S> for Blindfold {
///     fn process<'a>(
///         &'a self,
///         task: Task<'a, '_, S>,
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
    /// Changes the request in place and says what it changed.
    fn process<'a>(
        &'a self,
        task: Task<'a, '_, S>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>>;

    /// What [`process`](Self::process) would change, for dry runs: nobody is asked.
    fn preview<'a>(
        &'a self,
        _task: Task<'a, '_, S>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// What a processor gets.
pub struct Task<'a, 'r, S> {
    /// The request, to be changed; processors before this one may have done so.
    pub request: &'a mut Request,
    /// The request as rules saw it, and what is known around it.
    pub subject: &'a Subject<'r>,
    /// The matched rule's services: whom the processor may ask. Which of them is
    /// usable is for the processor to find out.
    pub services: &'a [S],
    /// The rule that matched.
    pub rule: RuleIndex,
}
