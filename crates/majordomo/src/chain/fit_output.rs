//! Lowers a request's output limit to what its target can produce.
//!
//! Clients set the limit for the model that they know, and many servers reject a limit above
//! their own instead of lowering it.

use majordomo_llm::Capabilities;

use super::Shaped;

/// The remaining window is an estimate: below this, the limit is left for the target to judge.
const MIN_OUTPUT: u64 = 1_024;

/// Lowers `max_tokens` to the target's maximum output and to the rest of its window.
pub(super) fn limit_output(shaped: &mut Shaped, can: &Capabilities, left: Option<u64>) {
    if shaped.request.prompt().max_tokens.is_none() {
        return;
    }
    let left = left.map(|left| left.max(MIN_OUTPUT));
    if let Some(most) = can.max_output.into_iter().chain(left).min() {
        shaped.changes.extend(shaped.request.limit_output(most));
    }
}

#[cfg(test)]
mod tests {
    use majordomo_llm::{Change, Request};

    use super::*;

    fn limited(
        asked: Option<u64>,
        max_output: Option<u64>,
        left: Option<u64>,
    ) -> (Option<u64>, Vec<String>) {
        let mut request = Request::user("hi");
        request.edit().max_tokens = asked;
        let mut shaped = Shaped {
            request,
            changes: Vec::new(),
        };
        let can = Capabilities::default().with_max_output(max_output);
        limit_output(&mut shaped, &can, left);
        let changes = shaped.changes.iter().map(Change::to_string).collect();
        (shaped.request.prompt().max_tokens, changes)
    }

    #[test]
    fn a_limit_is_lowered_to_the_models_output_and_to_what_the_window_leaves() {
        let rows = [
            (None, Some(8_192), Some(100), None),
            (Some(64_000), None, None, Some(64_000)),
            (Some(64_000), Some(8_192), None, Some(8_192)),
            (Some(8_192), Some(8_192), Some(8_192), Some(8_192)),
            (Some(64_000), Some(8_192), Some(5_000), Some(5_000)),
            (Some(64_000), None, Some(5_000), Some(5_000)),
            // An estimate must not silence a model.
            (Some(64_000), None, Some(3), Some(MIN_OUTPUT)),
            (Some(100), None, Some(3), Some(100)),
        ];
        for (asked, most, left, expected) in rows {
            let (limit, changes) = limited(asked, most, left);
            assert_eq!(limit, expected, "{asked:?} {most:?} {left:?}");
            let lowered = if limit == asked {
                0
            } else {
                assert_eq!(changes[0], "max_tokens lowered");
                1
            };
            assert_eq!(changes.len(), lowered, "{changes:?}");
        }
    }
}
