//! Drops the sampling parameters that a model rejects.

use majordomo_llm::{Change, Effort, Request};

use super::claude_model::ClaudeModel;

/// The lowest `top_p` that is accepted together with thinking.
const MIN_TOP_P_WITH_THINKING: f64 = 0.95;

/// Drops what the model rejects. `thinking` must be fitted already.
pub(super) fn fit_sampling(request: &mut Request, claude: ClaudeModel) {
    if claude.rejects_sampling() {
        return drop_all(request, "the model rejects it");
    }
    if thinks(request) {
        drop_with_thinking(request);
    }
    let prompt = request.prompt();
    let both = prompt.temperature.is_some() && prompt.top_p.is_some();
    if both && claude.takes_one_of_temperature_and_top_p() {
        drop_parameter(
            request,
            "top_p",
            "the model takes it or temperature, not both",
        );
    }
}

/// Drops all of them.
pub(super) fn drop_all(request: &mut Request, why: &str) {
    for name in ["temperature", "top_p", "top_k"] {
        drop_parameter(request, name, why);
    }
}

/// Whether the request turns thinking on, in a form that the contract represents or as the
/// `thinking` object of a Messages client.
fn thinks(request: &Request) -> bool {
    let prompt = request.prompt();
    let native = prompt.native.as_deref();
    let own = native.and_then(|native| native.get("thinking"));
    let by_object = own.is_some_and(|own| !own.as_str().contains("\"disabled\""));
    let by_effort = prompt.effort.is_some_and(|effort| effort != Effort::None);
    by_object || by_effort || prompt.reasoning_budget.is_some()
}

fn drop_with_thinking(request: &mut Request) {
    const WHY: &str = "not supported with thinking";
    if request
        .prompt()
        .temperature
        .is_some_and(|value| value != 1.0)
    {
        drop_parameter(request, "temperature", WHY);
    }
    drop_parameter(request, "top_k", WHY);
    let top_p = request.prompt().top_p;
    if top_p.is_some_and(|value| value < MIN_TOP_P_WITH_THINKING) {
        drop_parameter(request, "top_p", WHY);
    }
}

/// Drops one parameter, if it is set.
fn drop_parameter(request: &mut Request, name: &'static str, why: &str) {
    let prompt = request.prompt();
    let is_set = match name {
        "temperature" => prompt.temperature.is_some(),
        "top_p" => prompt.top_p.is_some(),
        _ => prompt.top_k.is_some(),
    };
    if !is_set {
        return;
    }
    request.record_change(Change::new(name, "dropped").detail(why));
    let prompt = request.edit();
    match name {
        "temperature" => prompt.temperature = None,
        "top_p" => prompt.top_p = None,
        _ => prompt.top_k = None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Sampling = (Option<f64>, Option<f64>, Option<u64>);

    fn fitted(model: &str, request: Request) -> (Sampling, usize) {
        let (mut request, changes) = request.recording_changes();
        fit_sampling(&mut request, ClaudeModel::parse(model).unwrap());
        let prompt = request.prompt();
        let sampling = (prompt.temperature, prompt.top_p, prompt.top_k);
        (sampling, changes.take().len())
    }

    #[test]
    fn each_model_gets_a_combination_that_it_accepts_and_every_drop_is_listed() {
        let all = || {
            let mut request = Request::user("hi").temperature(0.5).top_p(0.9);
            request.edit().top_k = Some(5);
            request
        };
        let with = |effort| all().effort(effort);
        let mut budget = all();
        budget.edit().reasoning_budget = Some(2_000);
        let warm = Request::user("hi").temperature(1.0).effort(Effort::Low);
        let narrow = Request::user("hi").top_p(0.95).effort(Effort::Low);
        let rows = [
            (
                "claude-3-5-haiku-20241022",
                all(),
                (Some(0.5), Some(0.9), Some(5)),
            ),
            (
                "claude-opus-4-20250514",
                all(),
                (Some(0.5), Some(0.9), Some(5)),
            ),
            ("claude-opus-4-1", all(), (Some(0.5), None, Some(5))),
            ("claude-haiku-4-5", all(), (Some(0.5), None, Some(5))),
            ("claude-sonnet-4-6", all(), (Some(0.5), None, Some(5))),
            (
                "claude-sonnet-4-6",
                with(Effort::None),
                (Some(0.5), None, Some(5)),
            ),
            ("claude-sonnet-4-6", with(Effort::Low), (None, None, None)),
            ("claude-haiku-4-5", budget, (None, None, None)),
            ("claude-sonnet-4-6", warm, (Some(1.0), None, None)),
            ("claude-sonnet-4-6", narrow, (None, Some(0.95), None)),
            ("claude-sonnet-5-5", all(), (None, None, None)),
        ];
        for (model, request, expected) in rows {
            let count = |(t, p, k): Sampling| {
                usize::from(t.is_some()) + usize::from(p.is_some()) + usize::from(k.is_some())
            };
            let prompt = request.prompt();
            let given = count((prompt.temperature, prompt.top_p, prompt.top_k));
            let (found, listed) = fitted(model, request);
            assert_eq!(found, expected, "{model}");
            assert_eq!(listed, given - count(expected), "{model}");
        }
    }
}
