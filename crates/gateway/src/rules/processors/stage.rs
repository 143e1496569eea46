//! Acts on the rule that matched: runs its processors, or makes it the destination.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use majordomo::{Change, Request, redact};
use serde::Serialize;

use super::{Processor, ProcessorError, Processors, Task};
use crate::rules::condition::Leaf;
use crate::rules::{RuleIndex, RuleSet, Subject};

/// The rules of a route that already had their turn with a request.
pub type Bypassed = BTreeSet<RuleIndex>;

/// Where the balancer may pick from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// The services of the matched rule.
    Rule(RuleIndex),
    /// The route's own services: no rule matched, or the one that did only
    /// changed the request. The rule's services are never among them.
    Route,
}

/// What came of applying the matched rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Applied {
    /// Where the balancer may pick from.
    pub destination: Destination,
    /// What processors changed, for the ledger.
    pub changes: Vec<Change>,
    /// The processors that ran, in their order, for the trace.
    pub processors: Vec<ProcessorTrace>,
}

/// How one processor fared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProcessorTrace {
    /// The position of its operation.
    pub position: &'static str,
    /// Its operation.
    pub op: &'static str,
    /// What it changed, `image:2 described` say.
    pub changes: Vec<String>,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Acts on the matched rule: runs its processors on the request, once, or names
/// its services as the destination.
///
/// `matched` is the verdict on `subject`, which still sees the request as it was;
/// `request` is the copy that goes on. What is in `bypassed` had its turn.
pub async fn apply<S: Sync>(
    rules: &RuleSet<S>,
    matched: Option<RuleIndex>,
    processors: &Processors<S>,
    subject: &Subject<'_>,
    request: &mut Request,
    bypassed: &mut Bypassed,
) -> Applied {
    let how = How::InEarnest;
    act(rules, matched, processors, subject, request, bypassed, how).await
}

/// Whether processors may ask somebody.
#[derive(Clone, Copy)]
enum How {
    InEarnest,
    Rehearsed,
}

async fn act<S: Sync>(
    rules: &RuleSet<S>,
    matched: Option<RuleIndex>,
    processors: &Processors<S>,
    subject: &Subject<'_>,
    request: &mut Request,
    bypassed: &mut Bypassed,
    how: How,
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
        // Of an `any` group, only the members that hold have something to do.
        if !leaf.check.holds(subject, rule) {
            continue;
        }
        let task = Task {
            request: &mut *request,
            subject,
            services: rules.services(rule),
            rule,
        };
        // Polled with the work, so that a panic before its first await is caught, too.
        let outcome = surviving(async {
            match how {
                How::InEarnest => processor.process(task).await,
                How::Rehearsed => processor.preview(task).await,
            }
        })
        .await;
        applied.note(leaf, outcome);
    }
    applied
}

/// What [`apply`] would do with a rule that had no turn yet: for dry runs. The
/// processors tell what they would change, and ask nobody.
pub async fn rehearse<S: Sync>(
    rules: &RuleSet<S>,
    matched: Option<RuleIndex>,
    processors: &Processors<S>,
    subject: &Subject<'_>,
    request: &mut Request,
) -> Applied {
    let fresh = &mut Bypassed::new();
    let how = How::Rehearsed;
    act(rules, matched, processors, subject, request, fresh, how).await
}

/// Where the balancer may pick from, for what no processor changes.
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

/// Each operation of a rule that has a processor, in the order of the operations.
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

/// A panic is a failure like any other.
async fn surviving(
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
