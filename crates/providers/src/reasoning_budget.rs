//! Fits a reasoning budget to models that take an effort, and an effort to those that take
//! neither.

use majordomo_llm::{Change, Effort, Request};

/// The effort that is closest to a budget in tokens.
pub(crate) fn effort_of(budget: u64) -> Effort {
    match budget {
        ..4_096 => Effort::Low,
        4_096..16_384 => Effort::Medium,
        _ => Effort::High,
    }
}

/// Replaces a budget with an effort, unless the request has one.
pub(crate) fn budget_to_effort(request: &mut Request) {
    let Some(budget) = request.prompt().reasoning_budget else {
        return;
    };
    let prompt = request.edit();
    prompt.reasoning_budget = None;
    let effort = *prompt.effort.get_or_insert(effort_of(budget));
    let text = format!("the model takes an effort: {effort:?}").to_lowercase();
    request.record_change(Change::new("reasoning_budget", "converted").detail(text));
}

/// Raises the effort `none` for a model that always thinks.
pub(crate) fn raise_effort(request: &mut Request, least: Option<Effort>) {
    let Some(least) = least.filter(|_| request.prompt().effort == Some(Effort::None)) else {
        return;
    };
    let text = format!("the model always thinks; {least:?} is the minimum").to_lowercase();
    request.record_change(Change::new("effort", "raised").detail(text));
    request.edit().effort = Some(least);
}

/// Drops an effort that the model would reject.
pub(crate) fn drop_effort(request: &mut Request) {
    let Some(effort) = request.prompt().effort else {
        return;
    };
    request.edit().effort = None;
    // A model that does not think obeys `none`.
    if effort != Effort::None {
        let change = Change::new("effort", "dropped");
        request.record_change(change.detail("the model does not think"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effort_is_dropped_and_listed_once() {
        for (effort, listed) in [(None, 0), (Some(Effort::None), 0), (Some(Effort::High), 1)] {
            let (mut request, notes) = Request::user("hi").recording_changes();
            request.edit().effort = effort;
            for _ in 0..2 {
                drop_effort(&mut request);
            }
            assert_eq!(request.prompt().effort, None);
            assert_eq!(notes.take().len(), listed, "{effort:?}");
        }
    }

    #[test]
    fn only_the_effort_none_is_raised() {
        let rows = [
            (Some(Effort::None), Some(Effort::Low), Some(Effort::Low), 1),
            (Some(Effort::None), None, Some(Effort::None), 0),
            (Some(Effort::High), Some(Effort::Low), Some(Effort::High), 0),
            (None, Some(Effort::Low), None, 0),
        ];
        for (effort, least, expected, listed) in rows {
            let (mut request, notes) = Request::user("hi").recording_changes();
            request.edit().effort = effort;
            raise_effort(&mut request, least);
            assert_eq!(request.prompt().effort, expected);
            assert_eq!(notes.take().len(), listed, "{effort:?} {least:?}");
        }
    }

    #[test]
    fn a_budget_becomes_an_effort_and_is_listed() {
        for (budget, own, expected) in [
            (1_024, None, Effort::Low),
            (8_000, None, Effort::Medium),
            (32_000, None, Effort::High),
            (32_000, Some(Effort::Minimal), Effort::Minimal),
        ] {
            let (mut request, notes) = Request::user("hi").recording_changes();
            request.edit().reasoning_budget = Some(budget);
            request.edit().effort = own;
            budget_to_effort(&mut request);
            assert_eq!(request.prompt().effort, Some(expected), "{budget}");
            assert_eq!(request.prompt().reasoning_budget, None);
            assert_eq!(notes.take()[0].to_string(), "reasoning_budget converted");
        }
    }
}
