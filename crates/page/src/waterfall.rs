//! The timeline of a request: one bar per call, on a shared time axis.

use std::time::Duration;

use maud::{Markup, html};

use crate::figures::{counted, duration};
use crate::{AttemptView, RequestView, RowState};

/// Units of the time axis; the policy of the page forbids style attributes.
const AXIS: f64 = 1_000.0;
/// A call that took no time is still visible.
const SHORTEST: f64 = 4.0;

/// Renders the timeline.
pub(crate) fn chart(view: &RequestView) -> Markup {
    let calls = || {
        let described = view.descriptions.iter().map(|call| ("describe", call));
        described.chain(view.attempts.iter().map(|call| ("attempt", call)))
    };
    let ends = calls().map(|(_, call)| call.at + call.took);
    let whole = view.summary.took.into_iter().chain(ends).max();
    let whole = whole.unwrap_or_default();
    html! {
        @if calls().next().is_none() {
            @match &view.summary.state {
                RowState::Running(_) => p.hint {
                    (counted(view.summary.attempts.unwrap_or_default(), "call", "calls"))
                    " so far. The timeline follows when the request ends."
                },
                _ => p.hint { "No target was called." },
            }
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Timeline" { table.waterfall {
                thead {
                    tr {
                        th scope="col" { "Call" }
                        th scope="col" { "Target" }
                        th scope="col" { "Outcome" }
                        th.number scope="col" { "Began" }
                        th.number scope="col" { "Took" }
                        th.axis scope="col" { "0 to " (duration(whole)) }
                    }
                }
                tbody {
                    @for (kind, call) in calls() { (line(kind, call, whole)) }
                }
            } }
        }
    }
}

fn line(kind: &str, call: &AttemptView, whole: Duration) -> Markup {
    let skipped = call.outcome == "skipped";
    html! {
        tr data-outcome=(call.outcome) {
            td { (kind) }
            td { bdi { (call.target) } }
            td { (call.result()) }
            td.number { (duration(call.at)) }
            td.number { @if !skipped { (duration(call.took)) } }
            td.axis {
                @if !skipped {
                    svg viewBox=(format!("0 0 {AXIS} 10")) preserveAspectRatio="none"
                        aria-hidden="true" {
                        @let (x, width) = place(call, whole);
                        rect .(call.outcome) x=(x) y="0" width=(width) height="10" {}
                    }
                }
            }
        }
    }
}

/// The start and width of a bar.
fn place(call: &AttemptView, whole: Duration) -> (f64, f64) {
    let whole = whole.as_secs_f64().max(1e-9);
    let scaled = |time: Duration| (time.as_secs_f64() / whole * AXIS).round();
    let width = scaled(call.took).clamp(SHORTEST, AXIS);
    (scaled(call.at).min(AXIS - width), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(at: u64, took: u64) -> AttemptView {
        AttemptView {
            at: Duration::from_millis(at),
            took: Duration::from_millis(took),
            ..AttemptView::default()
        }
    }

    #[test]
    fn bars_share_one_axis_and_stay_on_it() {
        let whole = Duration::from_millis(1_000);
        assert_eq!(place(&call(0, 1_000), whole), (0.0, 1_000.0));
        assert_eq!(place(&call(250, 500), whole), (250.0, 500.0));
        assert_eq!(place(&call(1_000, 0), whole), (996.0, SHORTEST));
        assert_eq!(place(&call(0, 0), Duration::ZERO), (0.0, SHORTEST));
    }
}
