//! Limits the output of a request, and with it the reasoning that counts towards it.

use crate::{Change, Request};

/// The smallest reasoning budget that providers accept.
const MIN_BUDGET: u64 = 1_024;

impl Request {
    /// Lowers `max_tokens` to `most`, or sets it, and lowers a reasoning budget that does not
    /// fit within. Returns the changes; empty if the request already asks for less.
    ///
    /// ```
    /// use majordomo_llm::Request;
    ///
    /// let mut request = Request::user("hi").max_tokens(64_000);
    /// let changes = request.limit_output(8_192);
    /// assert_eq!(changes[0].to_string(), "max_tokens lowered");
    /// assert!(request.limit_output(8_192).is_empty());
    /// ```
    pub fn limit_output(&mut self, most: u64) -> Vec<Change> {
        let asked = self.prompt().max_tokens;
        if asked.is_some_and(|asked| asked <= most) {
            return Vec::new();
        }
        let budget = self.prompt().reasoning_budget.filter(|it| *it >= most);
        self.edit().max_tokens = Some(most);
        let verb = if asked.is_some() { "lowered" } else { "set" };
        let mut changes = vec![Change::new("max_tokens", verb).detail(format!("to {most}"))];
        if let Some(budget) = budget {
            let smaller = Some(most / 2).filter(|smaller| *smaller >= MIN_BUDGET);
            self.edit().reasoning_budget = smaller;
            let (verb, why) = match smaller {
                Some(smaller) => ("lowered", format!("to {smaller}")),
                None => ("dropped", format!("{budget} tokens do not fit the output")),
            };
            changes.push(Change::new("reasoning_budget", verb).detail(why));
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reasoning_budget_stays_inside_the_limit() {
        for (most, budget) in [(64_000, Some(32_000)), (8_192, Some(4_096)), (1_500, None)] {
            let mut request = Request::user("hi");
            request.edit().reasoning_budget = Some(32_000);
            let changes = request.limit_output(most);
            assert_eq!(request.prompt().reasoning_budget, budget, "{most}");
            assert_eq!(changes.len(), if most == 64_000 { 1 } else { 2 });
        }
    }
}
