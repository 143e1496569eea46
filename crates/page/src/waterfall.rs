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
    let steps = steps(view);
    let ends = steps.iter().map(|step| step.at + step.took);
    let whole = view.summary.took.into_iter().chain(ends).max();
    let whole = whole.unwrap_or_default();
    html! {
        @if steps.is_empty() {
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
                        th scope="col" { "Step" }
                        th scope="col" { "Target" }
                        th scope="col" { "Outcome" }
                        th.number scope="col" { "Began" }
                        th.number scope="col" { "Took" }
                        th.axis scope="col" { "0 to " (duration(whole)) }
                    }
                }
                tbody {
                    @for step in &steps { (line(step, whole)) }
                }
            } }
        }
    }
}

/// A line of the timeline.
struct Step<'a> {
    name: &'static str,
    target: &'a str,
    /// `served`, `failed` or another class of the style sheet.
    outcome: &'a str,
    /// The outcome in words.
    result: String,
    at: Duration,
    took: Duration,
}

/// What happened, from arrival to end; nothing if no target was considered.
fn steps(view: &RequestView) -> Vec<Step<'_>> {
    let described = view.descriptions.iter().map(|call| step("describe", call));
    let attempts = view.attempts.iter().map(|call| step("attempt", call));
    let mut steps: Vec<_> = described.chain(attempts).collect();
    steps.sort_by_key(|step| step.at);
    let Some(first) = steps.first() else {
        return steps;
    };
    let arrival = Step {
        name: "arrival",
        target: "",
        outcome: "",
        result: "received, queued and routed".to_owned(),
        at: Duration::ZERO,
        took: first.at,
    };
    steps.insert(0, arrival);
    steps.extend(relay(view));
    steps
}

fn step<'a>(name: &'static str, call: &'a AttemptView) -> Step<'a> {
    Step {
        name,
        target: &call.target,
        outcome: &call.outcome,
        result: call.result(),
        at: call.at,
        took: call.took,
    }
}

/// The part after the serving target's response, or the first event of its stream.
fn relay(view: &RequestView) -> Option<Step<'_>> {
    let served = view
        .attempts
        .iter()
        .rfind(|call| call.outcome == "served")?;
    let at = served.at + served.took;
    let result = match view.stream {
        true => "streamed to the client",
        false => "sent to the client",
    };
    Some(Step {
        name: "relay",
        target: "",
        outcome: "",
        result: result.to_owned(),
        at,
        took: view.summary.took?.saturating_sub(at),
    })
}

fn line(step: &Step<'_>, whole: Duration) -> Markup {
    let skipped = step.outcome == "skipped";
    html! {
        tr data-outcome=(step.outcome) {
            td { (step.name) }
            td { bdi { (step.target) } }
            td { (step.result) }
            td.number { (duration(step.at)) }
            td.number { @if !skipped { (duration(step.took)) } }
            td.axis {
                @if !skipped {
                    svg viewBox=(format!("0 0 {AXIS} 10")) preserveAspectRatio="none"
                        aria-hidden="true" {
                        @let (x, width) = place(step.at, step.took, whole);
                        rect class=(step.outcome) x=(x) y="0" width=(width) height="10" {}
                    }
                }
            }
        }
    }
}

/// The start and width of a bar.
fn place(at: Duration, took: Duration, whole: Duration) -> (f64, f64) {
    let whole = whole.as_secs_f64().max(1e-9);
    let scaled = |time: Duration| (time.as_secs_f64() / whole * AXIS).round();
    let width = scaled(took).clamp(SHORTEST, AXIS);
    (scaled(at).min(AXIS - width), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn bars_share_one_axis_and_stay_on_it() {
        let whole = 1_000 * MS;
        assert_eq!(place(Duration::ZERO, 1_000 * MS, whole), (0.0, 1_000.0));
        assert_eq!(place(250 * MS, 500 * MS, whole), (250.0, 500.0));
        assert_eq!(place(1_000 * MS, Duration::ZERO, whole), (996.0, SHORTEST));
        assert_eq!(
            place(Duration::ZERO, Duration::ZERO, Duration::ZERO),
            (0.0, SHORTEST)
        );
    }

    #[test]
    fn a_request_is_shown_from_its_arrival_to_the_end_of_its_response() {
        let attempt = |outcome: &str, at: u32, took: u32| AttemptView {
            outcome: outcome.to_owned(),
            at: at * MS,
            took: took * MS,
            ..AttemptView::default()
        };
        let mut view = RequestView {
            attempts: vec![attempt("failed", 200, 50), attempt("served", 250, 150)],
            descriptions: vec![attempt("described", 210, 20)],
            ..RequestView::default()
        };
        view.summary.took = Some(1_000 * MS);
        let shown: Vec<_> = steps(&view)
            .iter()
            .map(|step| (step.name, step.at, step.took))
            .collect();
        let ms = |n: u32| n * MS;
        assert_eq!(
            shown,
            [
                ("arrival", ms(0), ms(200)),
                ("attempt", ms(200), ms(50)),
                ("describe", ms(210), ms(20)),
                ("attempt", ms(250), ms(150)),
                ("relay", ms(400), ms(600)),
            ]
        );
        assert!(steps(&RequestView::default()).is_empty());
    }
}
