//! Drops the sampling parameters that OpenAI's models reject while they think.

use majordomo_llm::{Change, Effort, Request};

/// A parameter: its name, its value, how to drop it, and the value that is accepted.
type Parameter = (
    &'static str,
    Option<f64>,
    fn(&mut majordomo_llm::Prompt),
    f64,
);

/// Drops them if the request thinks: because it has an effort, or because the model
/// `always_thinks`. Values that change nothing are accepted.
pub(crate) fn fit_sampling(request: &mut Request, always_thinks: bool) {
    let prompt = request.prompt();
    let by_effort = prompt.effort.is_some_and(|effort| effort != Effort::None);
    if !by_effort && !always_thinks {
        return;
    }
    let parameters: [Parameter; 4] = [
        (
            "temperature",
            prompt.temperature,
            |p| p.temperature = None,
            1.0,
        ),
        ("top_p", prompt.top_p, |p| p.top_p = None, 1.0),
        (
            "presence_penalty",
            prompt.presence_penalty,
            |p| p.presence_penalty = None,
            0.0,
        ),
        (
            "frequency_penalty",
            prompt.frequency_penalty,
            |p| p.frequency_penalty = None,
            0.0,
        ),
    ];
    for (name, value, drop, neutral) in parameters {
        if value.is_some_and(|value| value != neutral) {
            request
                .record_change(Change::new(name, "dropped").detail("not supported with thinking"));
            drop(request.edit());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_is_dropped_only_while_the_model_thinks() {
        let all = || {
            let mut request = Request::user("hi").temperature(0.5).top_p(0.95);
            request.edit().frequency_penalty = Some(0.1);
            request
        };
        let rows = [
            (all(), false, ""),
            (all().effort(Effort::None), false, ""),
            (
                all().effort(Effort::Low),
                false,
                "temperature dropped, top_p dropped, frequency_penalty dropped",
            ),
            (
                all(),
                true,
                "temperature dropped, top_p dropped, frequency_penalty dropped",
            ),
            (Request::user("hi").temperature(1.0).top_p(1.0), true, ""),
        ];
        for (row, (request, always_thinks, expected)) in rows.into_iter().enumerate() {
            let (mut request, notes) = request.recording_changes();
            fit_sampling(&mut request, always_thinks);
            let notes: Vec<String> = notes.take().iter().map(ToString::to_string).collect();
            assert_eq!(notes.join(", "), expected, "row {row}");
            let prompt = request.prompt();
            let neutral = |value: Option<f64>| value.is_none_or(|value| value == 1.0);
            let dropped = neutral(prompt.temperature) && neutral(prompt.top_p);
            assert_eq!(dropped, row > 1, "row {row}");
        }
    }
}
