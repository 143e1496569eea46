//! Validation against compiled schemas.

use std::fmt::Write;
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

use crate::char_prefix::char_prefix;

/// Maximum number of problems to report; models rarely fix more at once.
const MAX_PROBLEMS: usize = 8;
/// Maximum bytes per problem; a problem may quote a long value.
const MAX_PROBLEM_LEN: usize = 300;

/// A compiled schema. Clones share it.
#[derive(Clone)]
pub(crate) struct SchemaChecker(Arc<Validator>);

impl SchemaChecker {
    /// Compiles a schema. References to other documents are rejected, never fetched.
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        match jsonschema::validator_for(schema) {
            Ok(validator) => Ok(Self(Arc::new(validator))),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Validates a value. The error lists the problems, one per line.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        if self.0.is_valid(value) {
            return Ok(());
        }
        let mut list = String::new();
        let mut problems = self.0.iter_errors(value);
        for problem in problems.by_ref().take(MAX_PROBLEMS) {
            let line = problem.to_string();
            let line = char_prefix(&line, MAX_PROBLEM_LEN);
            let place = problem.instance_path().as_str();
            let place = if place.is_empty() { "/" } else { place };
            // Writing to a `String` cannot fail.
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
    fn each_problem_has_a_location_and_a_description() {
        let schema = json!({
            "type": "object",
            "properties": {"age": {"type": "integer"}, "name": {"type": "string"}},
            "required": ["name"],
        });
        let checker = SchemaChecker::new(&schema).unwrap();
        assert_eq!(checker.check(&json!({"age": 3, "name": "a"})), Ok(()));
        assert_eq!(
            checker.check(&json!({"age": "x"})).unwrap_err(),
            "- at /: \"name\" is a required property\n- at /age: \"x\" is not of type \"integer\"\n",
        );
    }

    #[test]
    fn long_values_and_many_problems_are_truncated() {
        let schema = json!({"type": "array", "items": {"type": "integer"}});
        let checker = SchemaChecker::new(&schema).unwrap();
        let text = "ä".repeat(5_000);
        let list = checker.check(&json!(vec![text; 20])).unwrap_err();
        assert!(list.len() < 4_000, "{}", list.len());
        assert!(list.ends_with("- and 12 more\n"));
    }

    #[test]
    fn references_to_other_documents_are_rejected() {
        let schema = json!({"$ref": "https://example.com/schema.json"});
        assert!(SchemaChecker::new(&schema).is_err());
    }
}
