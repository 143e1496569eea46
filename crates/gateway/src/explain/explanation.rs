//! The answer to the question what would become of a request.

use majordomo_rules::RuleTrace;
use serde::Serialize;

pub use crate::routes::{Candidate, LeftOut};
/// What would become of a request.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The dialect that it was read as.
    pub dialect: String,
    /// How that was chosen.
    pub dialect_from: DialectFrom,
    /// The model that is asked for.
    pub model: String,
    /// The name of the client's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// About how many tokens it is.
    pub tokens: u64,
    /// How many images it holds.
    pub images: usize,
    /// The route; none if the model is an alias, a spec or a provider's model.
    pub route: Option<String>,
    /// The rules that are looked at, in order, up to the one that matches.
    pub rules: Vec<RuleTrace>,
    /// The processors that would run.
    pub processors: Vec<ProcessorPlan>,
    /// The services in the order in which they would be asked.
    pub candidates: Vec<Candidate>,
    /// The services that would not be asked.
    pub left_out: Vec<LeftOut>,
    /// The service that would be asked first.
    pub pick: Option<Pick>,
    /// How each target would get the request, in order.
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

/// How a dialect was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DialectFrom {
    /// The path that it would be sent to was named.
    Path,
    /// The dialect was named.
    Name,
    /// From what the body looks like.
    Guess,
}

/// A processor that would run.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessorPlan {
    /// The position of its operation.
    pub position: &'static str,
    /// Its operation.
    pub op: &'static str,
    /// Whom it would ask: the specs of the rule's services.
    pub services: Vec<String>,
    /// What it would change: `image:2 described`.
    pub changes: Vec<String>,
}

/// The service that would be asked first.
#[derive(Clone, Debug, Serialize)]
pub struct Pick {
    /// Its spec, as the file has it.
    pub service: String,
    /// Why it: `affinity`, `tactic` or `least_bad`.
    pub because: &'static str,
    /// The tactic of its route. One that rolls dice may pick another the next time.
    pub tactic: &'static str,
}

/// How one target would get the request.
#[derive(Clone, Debug, Serialize)]
pub struct TargetPlan {
    /// The target, as `provider/model`.
    pub target: String,
    /// The dialect that it speaks, where that is known.
    pub dialect: Option<String>,
    /// What it would get differently: `image:1 resized`, `top_k dropped`.
    pub changes: Vec<String>,
    /// Why it would be passed over, if it would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed_over: Option<String>,
    /// Why it is benched now, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub benched: Option<String>,
}
