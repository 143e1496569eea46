//! Detects runs that make no progress.

use majordomo_llm::{Message, Role, ToolCall};
use serde_json::Value;

/// Limits that end a run. None is set by default.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoopGuards {
    pub(super) consecutive_errors: Option<u32>,
    pub(super) same_call: Option<u32>,
}

impl LoopGuards {
    /// Checks the messages of a run, including the results of its last step.
    pub(super) fn check(&self, run: &[Message]) -> Result<(), String> {
        if let Some(limit) = self.consecutive_errors
            && failed_steps(run) >= limit
        {
            return Err(format!("all tools failed in the last {limit} steps"));
        }
        if let Some(limit) = self.same_call
            && let Some(call) = repeated(run, limit)
        {
            return Err(format!(
                "`{}` was called {limit} times with the same arguments",
                call.name
            ));
        }
        Ok(())
    }
}

/// Counts the trailing steps whose results are all errors.
fn failed_steps(run: &[Message]) -> u32 {
    let steps = run.iter().rev().filter(|m| m.role == Role::Tool);
    let failed = steps.take_while(|m| m.tool_results().all(|result| result.is_error));
    u32::try_from(failed.count()).unwrap_or(u32::MAX)
}

/// Finds a call of the last response that the run has made `limit` times.
fn repeated(run: &[Message], limit: u32) -> Option<&ToolCall> {
    let by_model = |m: &&Message| m.role == Role::Assistant;
    let last = run.iter().rev().find(by_model)?;
    last.tool_calls().find(|call| {
        let wanted = CallArguments::of(call);
        let made = run.iter().filter(by_model).flat_map(Message::tool_calls);
        let same = made.filter(|made| made.name == call.name && CallArguments::of(made) == wanted);
        same.count() >= limit as usize
    })
}

/// Arguments, compared regardless of whitespace and key order.
#[derive(PartialEq)]
enum CallArguments<'a> {
    Json(Value),
    Text(&'a str),
}

impl<'a> CallArguments<'a> {
    fn of(call: &'a ToolCall) -> Self {
        call.parse().map_or(Self::Text(&call.arguments), Self::Json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use majordomo_llm::{Part, ToolResult};

    fn step(arguments: &str, is_error: bool) -> [Message; 2] {
        let call = ToolCall::new("x", "look", arguments);
        let result = ToolResult {
            is_error,
            ..ToolResult::new(&call, "")
        };
        [
            Message::assistant(Part::ToolCall(call)),
            Message::tool_results_message([result]),
        ]
    }

    #[test]
    fn only_consecutive_failed_steps_count() {
        let guards = LoopGuards {
            consecutive_errors: Some(2),
            ..LoopGuards::default()
        };
        let run = |errors: &[bool]| -> Vec<Message> {
            errors.iter().flat_map(|error| step("{}", *error)).collect()
        };
        assert!(guards.check(&run(&[true, false, true])).is_ok());
        assert!(guards.check(&run(&[false, true, true])).is_err());
    }

    #[test]
    fn equal_calls_are_recognized_regardless_of_formatting() {
        let guards = LoopGuards {
            same_call: Some(3),
            ..LoopGuards::default()
        };
        let run = |arguments: &[&str]| -> Vec<Message> {
            arguments.iter().flat_map(|a| step(a, false)).collect()
        };
        let same = [r#"{"a":1,"b":2}"#, r#"{"c":3}"#, r#"{ "b": 2, "a": 1 }"#];
        assert!(guards.check(&run(&same)).is_ok());
        let text = guards.check(&run(&[same[0], same[1], same[2], same[0]]));
        assert_eq!(
            text.unwrap_err(),
            "`look` was called 3 times with the same arguments"
        );
    }
}
