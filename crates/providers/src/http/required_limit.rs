//! Sets the output limit of a request without one, for providers that require a limit.

use majordomo_llm::{Capabilities, Request};

/// The remaining window is an estimate, so at least this much is requested.
const MIN_OUTPUT: u64 = 1_024;

/// The output beyond a thinking budget, because the limit includes the thoughts.
const MIN_ANSWER: u64 = 4_096;

/// Sets `max_tokens` to the model's maximum output, or to `fallback` if that is unknown.
/// `estimate` counts the request's tokens, so that both fit the model's window.
pub(super) fn set_required_limit(
    request: &mut Request,
    can: &Capabilities,
    fallback: u64,
    estimate: impl FnOnce(&Request) -> u64,
) {
    if request.prompt().max_tokens.is_some() {
        return;
    }
    let most = can.max_output.unwrap_or_else(|| {
        let thoughts = request.prompt().reasoning_budget;
        fallback.max(thoughts.map_or(0, |budget| budget.saturating_add(MIN_ANSWER)))
    });
    let limit = match can.context_window {
        Some(window) => {
            let left = window.saturating_sub(estimate(request));
            most.min(left.max(MIN_OUTPUT))
        }
        None => most,
    };
    for change in request.limit_output(limit) {
        request.record_change(change);
    }
}

#[cfg(test)]
mod tests {
    use majordomo_llm::Change;

    use super::*;

    #[test]
    fn the_models_largest_output_is_the_default_and_is_listed() {
        let rows = [
            (None, None, None, 4_096),
            (None, Some(32_000), None, 32_000),
            (None, Some(32_000), Some(20_000), 10_000),
            (None, Some(32_000), Some(10_100), MIN_OUTPUT),
            (Some(7), Some(32_000), None, 7),
        ];
        for (asked, max_output, context_window, expected) in rows {
            let (mut request, notes) = Request::user("hi").recording_changes();
            if let Some(asked) = asked {
                request = request.max_tokens(asked);
            }
            let can = Capabilities::default()
                .with_max_output(max_output)
                .with_context_window(context_window);
            set_required_limit(&mut request, &can, 4_096, |_| 10_000);
            assert_eq!(request.prompt().max_tokens, Some(expected));
            let changes: Vec<String> = notes.take().iter().map(Change::to_string).collect();
            let listed: &[&str] = if asked.is_some() {
                &[]
            } else {
                &["max_tokens set"]
            };
            assert_eq!(changes, listed);
        }
    }

    #[test]
    fn a_thinking_budget_raises_only_a_fallback_that_leaves_too_little_for_the_answer() {
        for (fallback, budget, expected) in [
            (4_096, 2_048, 6_144),
            (64_000, 2_048, 64_000),
            (64_000, 62_000, 66_096),
        ] {
            let mut request = Request::user("hi");
            request.edit().reasoning_budget = Some(budget);
            set_required_limit(&mut request, &Capabilities::default(), fallback, |_| 0);
            assert_eq!(request.prompt().max_tokens, Some(expected));
        }
    }
}
