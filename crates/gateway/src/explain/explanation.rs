//! The result of a dry run.

use majordomo_rules::RuleTrace;
use serde::Serialize;

pub use crate::routes::{Candidate, ExcludedService};
/// How a request would be handled.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The dialect it was decoded as.
    pub dialect: String,
    /// How the dialect was determined.
    pub dialect_from: DialectFrom,
    /// The requested model.
    pub model: String,
    /// The name of the client's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Estimated number of tokens.
    pub tokens: u64,
    /// Number of images.
    pub images: usize,
    /// The route; `None` if the model is an alias, a spec or a provider's model.
    pub route: Option<String>,
    /// The evaluated rules, in order, up to the one that matches.
    pub rules: Vec<RuleTrace>,
    /// The processors that would run.
    pub processors: Vec<ProcessorPlan>,
    /// The services, in the order in which they would be tried.
    pub candidates: Vec<Candidate>,
    /// The services that would not be tried.
    pub left_out: Vec<ExcludedService>,
    /// The service that would be tried first.
    pub pick: Option<PickedService>,
    /// The requests that the targets would receive, in order.
    pub targets: Vec<TargetPlan>,
}

impl Explanation {
    pub(super) fn about(model: &str) -> Self {
        Self {
            dialect: String::new(),
            dialect_from: DialectFrom::Guess,
            model: model.to_owned(),
            key: None,
            tokens: 0,
            images: 0,
            route: None,
            rules: Vec::new(),
            processors: Vec::new(),
            candidates: Vec::new(),
            left_out: Vec::new(),
            pick: None,
            targets: Vec::new(),
        }
    }

    /// The rule that matches, if one does.
    pub fn matched(&self) -> Option<&RuleTrace> {
        self.rules.iter().find(|rule| rule.matched)
    }
}

/// How a dialect was determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DialectFrom {
    /// By the path.
    Path,
    /// By the dialect's name.
    Name,
    /// By the fields of the body.
    Guess,
}

/// A processor that would run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ProcessorPlan {
    /// The position of its operation.
    pub position: &'static str,
    /// Its operation.
    pub op: &'static str,
    /// The specs of the rule's services, which it would call.
    pub services: Vec<String>,
    /// Its changes, such as `image:2 described`.
    pub changes: Vec<String>,
}

/// The service that would be tried first.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PickedService {
    /// Its spec as written in the file.
    pub service: String,
    /// The reason: `affinity`, `tactic` or `least_bad`.
    pub because: &'static str,
    /// The tactic of its route. A random tactic may pick another one next time.
    pub tactic: &'static str,
}

/// The request that one target would receive.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TargetPlan {
    /// The target, as `provider/model`.
    pub target: String,
    /// Its dialect, if known.
    pub dialect: Option<String>,
    /// Differences from the request: `image:1 resized`, `top_k dropped`.
    pub changes: Vec<String>,
    /// Why it would be skipped, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed_over: Option<String>,
    /// Why it is benched now, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub benched: Option<String>,
}
