//! The `calc` skill.

use schemars::JsonSchema;
use serde::Deserialize;

use super::expression::evaluate;
use super::{BuiltSkill, SkillBuilder};
use crate::Function;

#[derive(Deserialize, JsonSchema)]
struct Calculate {
    /// For example `2 * (3 + 4.5e2) ^ 2 % 7`. Operators: + - * / % ^ and parentheses.
    expression: String,
}

/// Returns a skill with one tool, `calculate`, for exact arithmetic.
///
/// ```
/// use majordomo::agent::{Skill, calc};
///
/// assert_eq!(calc().name(), "calc");
/// ```
pub fn calc() -> BuiltSkill {
    let calculate = Function::new(
        "calculate",
        "Evaluates an arithmetic expression exactly as written.",
        |arguments: Calculate| async move { evaluate(&arguments.expression).map(format_number) },
    );
    SkillBuilder::new("calc")
        .instructions("Work out arithmetic with the tool `calculate` and not in your head.")
        .tool(calculate)
        .build()
        .expect("one tool with a derived schema is always accepted")
}

/// Formats integers without a fraction, and very large or small numbers with an exponent.
fn format_number(number: f64) -> String {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        format!("{number:.0}")
    } else {
        format!("{number:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::Skill;
    use majordomo_llm::ToolCall;

    #[tokio::test]
    async fn the_tool_returns_the_number_or_an_error() {
        let skill = calc();
        let toolbox = skill.toolbox().unwrap();
        for (expression, text, is_error) in [
            ("2 + 3", "5", false),
            ("7 / 2", "3.5", false),
            ("10 ^ 300", "1e300", false),
            ("1 / 0", "division by zero", true),
        ] {
            let arguments = format!(r#"{{"expression": "{expression}"}}"#);
            let call = ToolCall::new("a", "calculate", arguments);
            let result = toolbox.call(&call).await;
            assert_eq!((result.text().as_str(), result.is_error), (text, is_error));
        }
    }
}
