//! Applies a matched rule: runs its processors or makes its services the destination.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use majordomo::Request;
use majordomo::llm::{Change, redact};
use serde::Serialize;

use super::{Processor, ProcessorError, ProcessorTask, Processors};
use crate::condition::Leaf;
use crate::{RuleIndex, RuleSet, Subject};

/// The rules of a route that were already applied to a request.
pub type Bypassed = BTreeSet<RuleIndex>;

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
/// `matched` is the verdict on `subject`, which keeps the original request;
/// `request` is the copy to change. Rules in `bypassed` are not applied again.
pub async fn apply<S: Sync>(
    rules: &RuleSet<S>,
    matched: Option<RuleIndex>,
    processors: &Processors<S>,
    subject: &Subject<'_>,
    request: &mut Request,
    bypassed: &mut Bypassed,
) -> Applied {
    let mode = RunMode::Run;
    act(rules, matched, processors, subject, request, bypassed, mode).await
}

/// Whether processors run or only report what they would change.
#[derive(Clone, Copy)]
enum RunMode {
    Run,
    DryRun,
}

async fn act<S: Sync>(
    rules: &RuleSet<S>,
    matched: Option<RuleIndex>,
    processors: &Processors<S>,
    subject: &Subject<'_>,
    request: &mut Request,
    bypassed: &mut Bypassed,
    mode: RunMode,
) -> Applied {
    let mut applied = Applied {
        destination: Destination::Route,
        changes: Vec::new(),
        processors: Vec::new(),
    };
    let Some(rule) = matched.filter(|rule| !bypassed.contains(rule)) else {
        return applied;
    };
    let bound = bound(rules, rule, processors);
    if bound.is_empty() {
        applied.destination = Destination::Rule(rule);
        return applied;
    }
    bypassed.insert(rule);
    for (leaf, processor) in bound {
        // In an `any` group, only the members that hold are processed.
        if !leaf.check.holds(subject, rule) {
            continue;
        }
        let task = ProcessorTask {
            request: &mut *request,
            subject,
            services: rules.services(rule),
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
        applied.note(leaf, outcome);
    }
    applied
}

/// Reports what [`apply`] would do with a rule not applied yet. Processors report
/// their changes without calling a service.
pub async fn dry_run<S: Sync>(
    rules: &RuleSet<S>,
    matched: Option<RuleIndex>,
    processors: &Processors<S>,
    subject: &Subject<'_>,
    request: &mut Request,
) -> Applied {
    let fresh = &mut Bypassed::new();
    let mode = RunMode::DryRun;
    act(rules, matched, processors, subject, request, fresh, mode).await
}

/// The destination of a request that no processor changes.
pub fn destination<S>(
    rules: &RuleSet<S>,
    matched: Option<RuleIndex>,
    processors: &Processors<S>,
) -> Destination {
    match matched {
        Some(rule) if bound(rules, rule, processors).is_empty() => Destination::Rule(rule),
        _ => Destination::Route,
    }
}

/// The operations of a rule that have a processor, in order.
fn bound<'a, S>(
    rules: &'a RuleSet<S>,
    rule: RuleIndex,
    processors: &'a Processors<S>,
) -> Vec<(&'a Leaf, &'a Arc<dyn Processor<S>>)> {
    let operations = rules.operations(rule).into_iter();
    operations
        .filter_map(|leaf| Some((leaf, processors.get(leaf.position, leaf.op)?)))
        .collect()
}

/// Turns a panic into an error.
async fn catch_panic(
    work: impl Future<Output = Result<Vec<Change>, ProcessorError>>,
) -> Result<Vec<Change>, ProcessorError> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(_) => Err("the processor panicked".into()),
    }
}

impl Applied {
    fn note(&mut self, leaf: &Leaf, outcome: Result<Vec<Change>, ProcessorError>) {
        let (changes, error) = match outcome {
            Ok(changes) => (changes, None),
            Err(error) => (Vec::new(), Some(redact(&error.to_string()))),
        };
        self.processors.push(ProcessorTrace {
            position: leaf.position,
            op: leaf.op,
            changes: changes.iter().map(Change::to_string).collect(),
            error,
        });
        self.changes.extend(changes);
    }
}
