//! The acceptance cases, and what the tests of this room share.

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
    let condition = compile(&ConditionSpec::leaf(position, op, value)).expect("a good condition");
    condition.holds(subject, RuleIndex(0))
}

/// What is wrong with a condition, as people read it.
pub(super) fn errors_of(spec: &ConditionSpec) -> Vec<String> {
    let errors = compile(spec).expect_err("a bad condition");
    errors.iter().map(ToString::to_string).collect()
}

/// A request as a client of this dialect writes it.
pub(super) fn read(protocol: Protocol, body: &Value) -> Request {
    let read = protocol.codec().read_request(Bytes::from(body.to_string()));
    read.expect("a body that its dialect understands").request
}

/// A rule whose service bears its name.
pub(super) fn rule(name: &str, when: impl IntoIterator<Item = ConditionSpec>) -> RuleSpec<String> {
    RuleSpec {
        name: name.to_owned(),
        when: when.into_iter().collect(),
        services: vec![name.to_owned()],
    }
}

/// Rules that compile.
pub(super) fn rules(specs: impl IntoIterator<Item = RuleSpec<String>>) -> RuleSet<String> {
    RuleSet::compile(specs.into_iter().collect()).expect("good rules")
}

/// The name of the rule that a request goes to.
pub(super) fn matched<'r>(rules: &'r RuleSet<String>, subject: &Subject<'_>) -> Option<&'r str> {
    rules.evaluate(subject).map(|index| rules.name(index))
}
