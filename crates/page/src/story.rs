//! The routing of a request in sentences: why it went where it did.

use crate::{AttemptView, RequestView, RowState};

/// Describes the routing of a request.
pub(crate) fn tell(view: &RequestView) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(routing(view));
    sentences.extend(order(view));
    sentences.extend(attempts(&view.attempts));
    sentences.extend(ending(view));
    sentences
}

fn routing(view: &RequestView) -> Option<String> {
    let model = &view.summary.model;
    let Some(route) = &view.route else {
        return (!model.is_empty()).then(|| direct(model, &view.candidates));
    };
    let asked = match route == model {
        true => format!("The client asked for the route {route}."),
        false => format!("The client asked for {model}, which the route {route} serves."),
    };
    let matched = view.rules.iter().find(|rule| rule.matched);
    Some(match (matched, view.rules.len()) {
        (Some(rule), _) => {
            let found: Vec<String> = rule.conditions.iter().map(finding).collect();
            format!(
                "{asked} Its rule “{}” matched: {}.",
                rule.name,
                found.join(", ")
            )
        }
        (None, 0) => asked,
        (None, 1) => format!("{asked} Its rule did not match."),
        (None, many) => format!("{asked} None of its {many} rules matched."),
    })
}

/// What the client asked for, if it is not a route.
fn direct(model: &str, candidates: &[String]) -> String {
    match candidates {
        [] => format!("The client asked for {model}."),
        [only] if only == model => format!("The client asked for the target {model}."),
        many if many.join(",") == model => {
            let many = many.join(", ");
            format!("The client asked for the first of these targets that can serve it: {many}.")
        }
        many => format!(
            "The client asked for {model}, which stands for {}.",
            many.join(", ")
        ),
    }
}

fn finding(condition: &crate::ConditionView) -> String {
    match condition.found.is_empty() {
        true => condition.text.clone(),
        false => format!("{} (found {})", condition.text, condition.found),
    }
}

fn order(view: &RequestView) -> Option<String> {
    let first = view.candidates.first()?;
    let why = match view.because.as_deref() {
        Some("affinity") => "the conversation is pinned to it",
        Some("least_bad") => "every service was unavailable and it was the most promising",
        Some("tactic") => "the route's tactic picked it",
        // The spec that the client asked for has said so.
        _ if view.route.is_none() => return None,
        _ if view.candidates.len() > 1 => "it is the first of the chain",
        _ => return Some(format!("The only target was {first}.")),
    };
    Some(format!("{first} came first, because {why}."))
}

fn attempts(attempts: &[AttemptView]) -> Vec<String> {
    let missed = attempts
        .iter()
        .filter(|attempt| matches!(attempt.outcome.as_str(), "skipped" | "failed"));
    let mut sentences: Vec<(String, usize)> = Vec::new();
    for attempt in missed {
        let status = attempt.status.map(|status| format!(" ({status})"));
        let status = status.unwrap_or_default();
        let why = attempt.class.as_deref();
        let sentence = match attempt.outcome.as_str() {
            "skipped" => format!(
                "{} was skipped: {}",
                attempt.target,
                why.unwrap_or("benched")
            ),
            _ => format!(
                "{} failed: {}{status}",
                attempt.target,
                why.unwrap_or("no reason")
            ),
        };
        match sentences.last_mut() {
            Some((last, times)) if *last == sentence => *times += 1,
            _ => sentences.push((sentence, 1)),
        }
    }
    let counted = sentences.into_iter().map(|(sentence, times)| match times {
        1 => format!("{sentence}."),
        2 => format!("{sentence}, twice."),
        many => format!("{sentence}, {many} times."),
    });
    counted.collect()
}

fn ending(view: &RequestView) -> Option<String> {
    let summary = &view.summary;
    let target = summary.target.as_deref();
    Some(match (&summary.state, target) {
        (RowState::Complete, Some(target)) => format!("{target} served it."),
        (RowState::Interrupted, Some(target)) => {
            format!("{target} began to respond, and the stream broke off.")
        }
        (RowState::ClientGone, _) => "The client disconnected before the end.".to_owned(),
        (RowState::Failed(status), _) => match &view.reason {
            Some(reason) => format!("The client received status {status}: {reason}."),
            None => format!("The client received status {status}."),
        },
        (RowState::Running(phase), _) => format!("It is running: {phase}."),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConditionView, RequestRow, RuleView};

    fn attempt(
        target: &str,
        outcome: &str,
        class: Option<&str>,
        status: Option<u16>,
    ) -> AttemptView {
        AttemptView {
            target: target.to_owned(),
            outcome: outcome.to_owned(),
            class: class.map(str::to_owned),
            status,
            ..AttemptView::default()
        }
    }

    #[test]
    fn a_failover_after_a_rule_is_told_in_order() {
        let view = RequestView {
            summary: RequestRow {
                model: "coder".to_owned(),
                target: Some("b/y".to_owned()),
                state: RowState::Complete,
                ..RequestRow::default()
            },
            route: Some("coder".to_owned()),
            rules: vec![RuleView::new(
                "long prompts",
                true,
                vec![ConditionView::new("token ge 60000", "81204", true)],
                0,
            )],
            candidates: vec!["a/x".to_owned(), "b/y".to_owned()],
            because: Some("tactic".to_owned()),
            attempts: vec![
                attempt("a/x", "failed", Some("transient"), Some(529)),
                attempt("a/x", "failed", Some("transient"), Some(529)),
                attempt("b/y", "served", None, None),
            ],
            ..RequestView::default()
        };
        assert_eq!(
            tell(&view).join(" "),
            "The client asked for the route coder. Its rule “long prompts” matched: token ge 60000 \
             (found 81204). a/x came first, because the route's tactic picked it. a/x failed: \
             transient (529), twice. b/y served it."
        );
    }

    #[test]
    fn a_refused_request_says_what_the_client_received() {
        let view = RequestView {
            summary: RequestRow {
                model: "nope".to_owned(),
                state: RowState::Failed(404),
                ..RequestRow::default()
            },
            reason: Some("no such model".to_owned()),
            ..RequestView::default()
        };
        assert_eq!(
            tell(&view).join(" "),
            "The client asked for nope. The client received status 404: no such model."
        );
    }

    #[test]
    fn a_target_a_chain_and_an_alias_are_told_apart() {
        for (model, candidates, told) in [
            ("a/x", vec!["a/x"], "The client asked for the target a/x."),
            (
                "a/x,b/y",
                vec!["a/x", "b/y"],
                "The client asked for the first of these targets that can serve it: a/x, b/y.",
            ),
            (
                "best",
                vec!["a/x", "b/y"],
                "The client asked for best, which stands for a/x, b/y.",
            ),
            ("nope", vec![], "The client asked for nope."),
        ] {
            let candidates: Vec<_> = candidates.into_iter().map(str::to_owned).collect();
            assert_eq!(direct(model, &candidates), told);
        }
    }

    #[test]
    fn a_call_that_the_client_did_not_wait_for_is_no_failure() {
        let view = RequestView {
            summary: RequestRow {
                model: "a/x".to_owned(),
                state: RowState::ClientGone,
                ..RequestRow::default()
            },
            candidates: vec!["a/x".to_owned()],
            attempts: vec![attempt("a/x", "cancelled", None, None)],
            ..RequestView::default()
        };
        assert_eq!(
            tell(&view).join(" "),
            "The client asked for the target a/x. The client disconnected before the end."
        );
    }
}
