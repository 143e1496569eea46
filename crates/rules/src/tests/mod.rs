//! Acceptance tests of rules, and helpers shared by the unit tests.

mod compiling;
mod explaining;
mod guide;
mod matching;
mod properties;
mod vision_match;

use bytes::Bytes;
use majordomo::Request;
use majordomo_wire::Protocol;
use serde_json::Value;

use super::{ConditionSpec, RuleIndex, RuleSet, RuleSpec, Subject, compile};

/// Whether one condition holds.
pub(super) fn holds(position: &str, op: &str, value: Value, subject: &Subject<'_>) -> bool {
    let condition = compile(&ConditionSpec::leaf(position, op, value)).expect("a valid condition");
    condition.holds(subject, RuleIndex(0))
}

/// The rendered errors of a condition.
pub(super) fn errors_of(spec: &ConditionSpec) -> Vec<String> {
    let errors = compile(spec).expect_err("an invalid condition");
    errors.iter().map(ToString::to_string).collect()
}

/// Decodes a client request of this dialect.
pub(super) fn read(protocol: Protocol, body: &Value) -> Request {
    let read = protocol.codec().read_request(Bytes::from(body.to_string()));
    read.expect("a valid request body").request
}

/// A rule with one service, named like the rule.
pub(super) fn rule(name: &str, when: impl IntoIterator<Item = ConditionSpec>) -> RuleSpec {
    RuleSpec {
        name: name.to_owned(),
        when: when.into_iter().collect(),
        services: vec![name.to_owned()],
    }
}

/// Compiles valid rules.
pub(super) fn rules(specs: impl IntoIterator<Item = RuleSpec>) -> RuleSet {
    RuleSet::compile(specs.into_iter().collect()).expect("valid rules")
}

/// The name of the rule that a request matches.
pub(super) fn matched<'r>(rules: &'r RuleSet, subject: &Subject<'_>) -> Option<&'r str> {
    rules.evaluate(subject).map(|index| rules.name(index))
}
