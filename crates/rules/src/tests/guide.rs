//! Every example in the guide compiles, and every operation has one.

use std::collections::BTreeSet;

use serde_json::Value;

use majordomo::BoxFuture;
use majordomo::llm::Change;

use crate::{
    ConditionSpec, Processor, ProcessorError, ProcessorTask, Processors, compile_with, operations,
};

const GUIDE: &str = include_str!("../../../../docs/guide/rules.md");

/// The gateway's operation, by name only.
struct ProxyVision;

impl Processor for ProxyVision {
    fn position(&self) -> &'static str {
        "proxy_vision"
    }

    fn op(&self) -> &'static str {
        "enabled"
    }

    fn process<'a>(
        &'a self,
        _: ProcessorTask<'a, '_>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// Parses a condition as written in the configuration.
fn condition(written: &Value) -> ConditionSpec {
    if let Some(members) = written.get("any").and_then(Value::as_array) {
        return ConditionSpec::any(members.iter().map(condition));
    }
    if let Some(member) = written.get("not") {
        return condition(member).negated();
    }
    let word = |field: &str| written[field].as_str().unwrap_or_default().to_owned();
    ConditionSpec::Leaf {
        position: word("position"),
        op: word("op"),
        value: written.get("value").cloned(),
    }
}

fn parsed(toml: &str) -> Value {
    toml::from_str(toml).unwrap_or_else(|error| panic!("{error}\n{toml}"))
}

/// Conditions in the code spans of the guide's tables.
fn in_tables() -> Vec<Value> {
    let spans = GUIDE
        .split('`')
        .filter(|span| span.starts_with("{ position"));
    // A bar inside a table cell is escaped.
    spans
        .map(|span| parsed(&format!("c = {}", span.replace("\\|", "|")))["c"].take())
        .collect()
}

/// Conditions of the rules in the guide's code blocks.
fn in_blocks() -> Vec<Value> {
    let blocks = GUIDE.split("```toml").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    let mut found = Vec::new();
    for block in blocks {
        // Blocks after the first add rules to an existing route.
        let whole = if block.contains("[[routes]]") {
            block.to_owned()
        } else {
            format!("[[routes]]\n{block}")
        };
        let file = parsed(&whole);
        for rule in file["routes"][0]["smart"].as_array().into_iter().flatten() {
            found.extend(rule["when"].as_array().into_iter().flatten().cloned());
        }
    }
    found
}

#[test]
fn every_example_compiles() {
    let (tables, blocks) = (in_tables(), in_blocks());
    let mut processors = Processors::default();
    processors.register(ProxyVision);
    assert!(blocks.len() >= 5, "the blocks contain rules");
    for written in tables.iter().chain(&blocks) {
        let errors = compile_with(&condition(written), &processors).err();
        assert_eq!(errors, None, "{written}");
    }
}

#[test]
fn every_operation_has_an_example() {
    let shown: BTreeSet<(String, String)> = in_tables()
        .iter()
        .map(|written| {
            let word = |field: &str| written[field].as_str().unwrap_or_default().to_owned();
            (word("position"), word("op"))
        })
        .collect();
    for (position, op) in operations() {
        let shown = shown.contains(&(position.to_owned(), op.to_owned()));
        assert!(shown, "{position} {op} has no example");
    }
}
