//! Checks values against a schema that was compiled once.

use std::fmt::Write;
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

use crate::head::head;

/// More problems than a model mends in one go.
const MOST_PROBLEMS: usize = 8;
/// A problem's text quotes the value; a long value is not worth its tokens.
const LONGEST_PROBLEM: usize = 300;

/// A compiled schema; clones share it.
#[derive(Clone)]
pub(crate) struct Checker(Arc<Validator>);

impl Checker {
    /// Compiles a schema, or says what is wrong with it. References to other
    /// documents are refused: nothing is fetched.
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        match jsonschema::validator_for(schema) {
            Ok(validator) => Ok(Self(Arc::new(validator))),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Takes the value, or lists what is wrong with it, one line each.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        if self.0.is_valid(value) {
            return Ok(());
        }
        let mut list = String::new();
        let mut problems = self.0.iter_errors(value);
        for problem in problems.by_ref().take(MOST_PROBLEMS) {
            let line = problem.to_string();
            let line = head(&line, LONGEST_PROBLEM);
            let place = problem.instance_path().as_str();
            let place = if place.is_empty() { "/" } else { place };
            // Writing to a String does not fail.
            let _ = writeln!(list, "- at {place}: {line}");
        }
        let rest = problems.count();
        if rest > 0 {
            let _ = writeln!(list, "- and {rest} more");
        }
        Err(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_problem_says_where_and_what() {
        let schema = json!({
            "type": "object",
            "properties": {"age": {"type": "integer"}, "name": {"type": "string"}},
            "required": ["name"],
        });
        let checker = Checker::new(&schema).unwrap();
        assert_eq!(checker.check(&json!({"age": 3, "name": "a"})), Ok(()));
        assert_eq!(
            checker.check(&json!({"age": "x"})).unwrap_err(),
            "- at /: \"name\" is a required property\n- at /age: \"x\" is not of type \"integer\"\n",
        );
    }

    #[test]
    fn long_values_and_many_problems_are_cut() {
        let schema = json!({"type": "array", "items": {"type": "integer"}});
        let checker = Checker::new(&schema).unwrap();
        let text = "ä".repeat(5_000);
        let list = checker.check(&json!(vec![text; 20])).unwrap_err();
        assert!(list.len() < 4_000, "{}", list.len());
        assert!(list.ends_with("- and 12 more\n"));
    }

    #[test]
    fn references_to_other_documents_are_refused() {
        let schema = json!({"$ref": "https://example.com/schema.json"});
        assert!(Checker::new(&schema).is_err());
    }
}
