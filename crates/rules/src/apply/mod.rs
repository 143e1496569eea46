//! Applies a matched rule: runs its processors or makes its services the destination.
//!
//! Processors run in the order of the conditions, and the balancer then picks from the
//! route's services with the changed request. Rules are not evaluated again. A processor's
//! failure is recorded in the trace; it ends the request only if the processor says so.

#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use http::Extensions;
use majordomo::llm::{Change, redact};
use majordomo::{Chain, Error, ErrorKind, Request, Result};
use serde::Serialize;

use crate::condition::{BoundProcessor, Leaf};
use crate::processor::{ProcessorError, ProcessorTask};
use crate::{RuleIndex, RuleSet, Subject};

/// The services that the balancer picks from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// The services of the matched rule.
    Rule(RuleIndex),
    /// The route's services: no rule matched, or the matching rule only changed the
    /// request. Never includes the rule's services.
    Route,
}

/// The result of applying the matched rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Applied {
    /// The services that the balancer picks from.
    pub destination: Destination,
    /// Changes made by processors, for the attempt log.
    pub changes: Vec<Change>,
    /// The processors that ran, in order.
    pub processors: Vec<ProcessorTrace>,
}

/// The outcome of one processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProcessorTrace {
    /// The position of its operation.
    pub position: &'static str,
    /// Its operation.
    pub op: &'static str,
    /// What it changed, such as `image:2 described`.
    pub changes: Vec<String>,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Applies the matched rule: runs its processors on the request, or selects its
/// services as the destination.
///
/// `matched` is the verdict on `subject`, which keeps the original request; `request` is
/// the copy to change. `services` returns the upstreams of a rule's processors. Fails if a
/// processor rejects the request or panics.
pub async fn apply(
    rules: &RuleSet,
    matched: Option<RuleIndex>,
    subject: &Subject<'_>,
    request: &mut Request,
    services: impl FnOnce(RuleIndex) -> Vec<Chain>,
    extensions: &Extensions,
) -> Result<Applied> {
    let mode = RunMode::Run;
    act(rules, matched, subject, request, services, extensions, mode).await
}

/// Like [`apply`], without calling a service: processors do what they can predict.
pub async fn dry_run(
    rules: &RuleSet,
    matched: Option<RuleIndex>,
    subject: &Subject<'_>,
    request: &mut Request,
    services: impl FnOnce(RuleIndex) -> Vec<Chain>,
    extensions: &Extensions,
) -> Result<Applied> {
    let mode = RunMode::DryRun;
    act(rules, matched, subject, request, services, extensions, mode).await
}

/// Whether processors run or only predict.
#[derive(Clone, Copy)]
enum RunMode {
    Run,
    DryRun,
}

async fn act(
    rules: &RuleSet,
    matched: Option<RuleIndex>,
    subject: &Subject<'_>,
    request: &mut Request,
    services: impl FnOnce(RuleIndex) -> Vec<Chain>,
    extensions: &Extensions,
    mode: RunMode,
) -> Result<Applied> {
    let mut applied = Applied {
        destination: destination(rules, matched),
        changes: Vec::new(),
        processors: Vec::new(),
    };
    let (Some(rule), Destination::Route) = (matched, applied.destination) else {
        return Ok(applied);
    };
    let services = services(rule);
    for (leaf, BoundProcessor { processor, value }) in bound(rules, rule) {
        // In an `any` group, only the members that hold are processed.
        if !leaf.check.holds(subject, rule) {
            continue;
        }
        let task = ProcessorTask {
            request: &mut *request,
            value: value.as_ref(),
            subject,
            services: &services,
            extensions,
            rule,
        };
        // Inside the guarded future, so that a panic before the first await is caught.
        let outcome = catch_panic(async {
            match mode {
                RunMode::Run => processor.process(task).await,
                RunMode::DryRun => processor.preview(task).await,
            }
        })
        .await;
        applied.note(leaf, outcome)?;
    }
    Ok(applied)
}

/// The destination of a request that matched a rule.
pub fn destination(rules: &RuleSet, matched: Option<RuleIndex>) -> Destination {
    match matched {
        Some(rule) if bound(rules, rule).is_empty() => Destination::Rule(rule),
        _ => Destination::Route,
    }
}

/// The operations of a rule that are processors, in order.
fn bound(rules: &RuleSet, rule: RuleIndex) -> Vec<(&Leaf, &BoundProcessor)> {
    let operations = rules.operations(rule).into_iter();
    operations
        .filter_map(|leaf| Some((leaf, leaf.bound.as_ref()?)))
        .collect()
}

/// A panic may leave half a request, which must not continue.
async fn catch_panic(
    work: impl Future<Output = Result<Vec<Change>, ProcessorError>>,
) -> Result<Vec<Change>, ProcessorError> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(_) => {
            let text = "the request could not be processed: a processor panicked";
            Err(ProcessorError::Reject(Error::new(
                ErrorKind::Internal,
                text,
            )))
        }
    }
}

impl Applied {
    fn note(&mut self, leaf: &Leaf, outcome: Result<Vec<Change>, ProcessorError>) -> Result<()> {
        let (changes, error) = match outcome {
            Ok(changes) => (changes, None),
            Err(ProcessorError::Skip(error)) => (Vec::new(), Some(redact(&error.to_string()))),
            Err(ProcessorError::Reject(error)) => return Err(error),
        };
        self.processors.push(ProcessorTrace {
            position: leaf.position,
            op: leaf.op,
            changes: changes.iter().map(Change::to_string).collect(),
            error,
        });
        self.changes.extend(changes);
        Ok(())
    }
}
