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
        return (!model.is_empty())
            .then(|| format!("The client asked for {model}. No route has this name."));
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
        _ if view.candidates.len() == 1 => return Some(format!("The only target was {first}.")),
        _ => "it is the first of the chain",
    };
    Some(format!("{first} came first, because {why}."))
}

fn attempts(attempts: &[AttemptView]) -> Vec<String> {
    let missed = attempts
        .iter()
        .filter(|attempt| attempt.outcome != "served");
    let mut sentences: Vec<(String, usize)> = Vec::new();
    for attempt in missed {
        let status = attempt.status.map(|status| format!(" ({status})"));
        let status = status.unwrap_or_default();
        let class = attempt.class.as_deref().unwrap_or("benched");
        let sentence = match attempt.outcome.as_str() {
            "skipped" => format!("{} was skipped: {class}", attempt.target),
            _ => format!("{} failed: {class}{status}", attempt.target),
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
            "The client asked for nope. No route has this name. The client received status 404: no \
             such model."
        );
    }
}
