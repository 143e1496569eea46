//! One request.

use majordomo::Class;
use majordomo_page::{
    AttemptView, ConditionView, ProcessorView, RequestView, RuleView, Screen, SpendView,
};
use majordomo_rules::{ConditionTrace, RuleTrace};

use super::{PageContext, captured, rows};
use crate::outcome::AttemptSummary;
use crate::record::{FinishedRequest, UpstreamCall};

/// Renders a request by its id, if it is running or kept.
pub(super) async fn render(context: &PageContext<'_>, id: &str) -> Option<String> {
    let (frame, sees) = (context.frame(Screen::Request), context.caller.sees());
    if let Some(open) = context.server.live.open.get(id) {
        if !sees.includes(open.key.as_deref(), open.team.as_deref()) {
            return None;
        }
        let view = RequestView {
            summary: rows::open(&open),
            curl: curl(context, &open.model),
            ..RequestView::default()
        };
        return Some(majordomo_page::request(&frame, &view));
    }
    let record = context.server.traces.find(id)?;
    let caller = &record.caller;
    if !sees.includes(caller.key.as_deref(), caller.team.as_deref()) {
        return None;
    }
    let mut view = view(context, &record);
    view.captured = captured::view(context, &record).await;
    Some(majordomo_page::request(&frame, &view))
}

fn view(context: &PageContext<'_>, record: &FinishedRequest) -> RequestView {
    let routing = record.routing.as_ref();
    let rules = routing.and_then(|routing| routing.rules.as_ref());
    let rules = rules.map(|notes| notes.trace().rules).unwrap_or_default();
    let processors = routing.map_or(&[][..], |routing| &routing.processors);
    let candidates = record.candidates.split(',').filter(|name| !name.is_empty());
    let path = record.endpoint.path.unwrap_or_default();
    RequestView {
        summary: rows::finished(record),
        captured: None,
        endpoint: format!("{} {path}", record.endpoint.method),
        stream: record.stream,
        route: record.route().map(str::to_owned),
        rules: rules.iter().map(rule).collect(),
        processors: processors
            .iter()
            .map(|ran| ProcessorView {
                name: format!("{}.{}", ran.position, ran.op),
                error: ran.error.clone(),
            })
            .collect(),
        candidates: candidates.map(str::to_owned).collect(),
        because: routing.map(|routing| routing.because.to_owned()),
        attempts: record.attempts.iter().map(attempt).collect(),
        descriptions: record
            .descriptions
            .iter()
            .map(|call| AttemptView {
                target: call.target.clone(),
                outcome: call.outcome.to_owned(),
                at: call
                    .attempts
                    .first()
                    .map(|first| first.at)
                    .unwrap_or_default(),
                took: call.took,
                ..AttemptView::default()
            })
            .collect(),
        spend: record.calls.iter().map(spend).collect(),
        reason: record.reason.clone(),
        curl: curl(context, &record.model),
    }
}

fn rule(rule: &RuleTrace) -> RuleView {
    RuleView {
        name: rule.name.clone(),
        matched: rule.matched,
        conditions: rule.conditions.iter().map(condition).collect(),
        skipped: rule.total.saturating_sub(rule.evaluated),
    }
}

fn condition(trace: &ConditionTrace) -> ConditionView {
    let found = match trace {
        ConditionTrace::Leaf { actual, .. } => actual.clone(),
        ConditionTrace::Not { not, .. } => condition(not).found,
        ConditionTrace::Any { .. } => String::new(),
    };
    ConditionView {
        text: text(trace),
        found,
        holds: trace.matched(),
    }
}

/// A condition as text: `token ge 60000`.
fn text(trace: &ConditionTrace) -> String {
    match trace {
        ConditionTrace::Leaf {
            position,
            op,
            value,
            ..
        } => match value {
            Some(value) => format!("{position} {op} {value}"),
            None => format!("{position} {op}"),
        },
        ConditionTrace::Any { any, .. } => {
            let members: Vec<String> = any.iter().map(text).collect();
            format!("any of ({})", members.join(", "))
        }
        ConditionTrace::Not { not, .. } => format!("not ({})", text(not)),
    }
}

fn attempt(attempt: &AttemptSummary) -> AttemptView {
    AttemptView {
        target: attempt.target.clone(),
        outcome: attempt.outcome.to_owned(),
        class: attempt.class.map(class),
        status: attempt.status,
        at: attempt.at,
        took: attempt.took,
    }
}

/// A failure class in words: `rate limited`.
fn class(class: Class) -> String {
    let name = serde_json::to_value(class).ok();
    let name = name.as_ref().and_then(|name| name.as_str());
    name.unwrap_or_default().replace('_', " ")
}

fn spend(call: &UpstreamCall) -> SpendView {
    let usage = &call.usage;
    let cache_write = usage.cache_write_5m + usage.cache_write_1h;
    SpendView {
        target: call.target.clone(),
        kind: call.kind.name().to_owned(),
        // The contract's input includes what the cache served.
        input: usage.input.saturating_sub(usage.cache_read + cache_write),
        cache_read: usage.cache_read,
        cache_write,
        output: usage.output,
        settled: call.settle.as_str().to_owned(),
        cost: call.cost.map(|cost| format!("${cost}")),
    }
}

/// A command that sends a request like this one.
fn curl(context: &PageContext<'_>, model: &str) -> String {
    let key = match context.server.keys().is_keyless() {
        true => "",
        false => " \\\n  -H 'authorization: Bearer YOUR-KEY'",
    };
    let body = serde_json::json!({
        "model": model,
        "messages": [{ "role": "user", "content": "YOUR PROMPT" }],
    });
    let body = body.to_string().replace('\'', r"'\''");
    format!(
        "curl {}/v1/chat/completions{key} \\\n  -H 'content-type: application/json' \\\n  -d '{body}'",
        super::connect::base(context)
    )
}
