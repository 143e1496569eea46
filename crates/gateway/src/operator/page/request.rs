//! One request.

use majordomo::chain::AttemptKind;
use majordomo_page::{
    AttemptView, ConditionView, ProcessorView, RequestView, RuleView, Screen, SpendView,
};
use majordomo_rules::{ConditionTrace, RuleTrace};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{PageContext, captured, rows};
use crate::outcome::{AttemptSummary, in_words};
use crate::record::{CallOutcome, FinishedRequest, UpstreamCall};

/// What is encoded in a path that names a spec.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b':')
    .remove(b',');

/// Renders a request by its id, if it is running or kept.
pub(super) async fn render(context: &PageContext<'_>, id: &str) -> Option<String> {
    let (frame, sees) = (context.frame(Screen::Request), context.caller.sees());
    if let Some(open) = context.server.live.open.get(id) {
        if !sees.includes(open.key.as_deref(), open.team.as_deref()) {
            return None;
        }
        let view = RequestView {
            summary: rows::open(&open),
            curl: curl(context, None, &open.model),
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
        attempts: attempts(record),
        descriptions: describes(record)
            .map(|found| call(found, "described"))
            .collect(),
        spend: record.calls.iter().map(spend).collect(),
        // The attempts say more.
        reason: record.reason.clone().filter(|_| record.attempts.is_empty()),
        curl: curl(context, record.endpoint.path, &record.model),
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

/// The chain's attempts. If the client left before the chain ended, only the calls are known.
fn attempts(record: &FinishedRequest) -> Vec<AttemptView> {
    if !record.attempts.is_empty() {
        return record.attempts.iter().map(attempt).collect();
    }
    let calls = record.calls.iter();
    let own = calls.filter(|call| call.kind != AttemptKind::Describe);
    own.map(|found| call(found, "served")).collect()
}

fn describes(record: &FinishedRequest) -> impl Iterator<Item = &UpstreamCall> {
    let calls = record.calls.iter();
    calls.filter(|call| call.kind == AttemptKind::Describe)
}

fn attempt(attempt: &AttemptSummary) -> AttemptView {
    let class = attempt.class.map(|class| in_words(class, attempt.status));
    let refusal = attempt.refusal.as_deref();
    AttemptView {
        target: attempt.target.clone(),
        outcome: attempt.outcome.to_owned(),
        class: refusal.or(class).map(str::to_owned),
        status: attempt.status,
        at: attempt.at,
        took: attempt.took,
    }
}

/// A call to a provider, which has this outcome if it succeeded.
fn call(call: &UpstreamCall, success: &str) -> AttemptView {
    let outcome = match call.outcome {
        CallOutcome::Served => success,
        CallOutcome::Failed => "failed",
        CallOutcome::Cancelled => "cancelled",
    };
    let class = call.class.map(|class| in_words(class, call.status));
    AttemptView {
        target: call.target.clone(),
        outcome: outcome.to_owned(),
        class: class.filter(|_| outcome == "failed").map(str::to_owned),
        status: call.status,
        at: call.at,
        took: call.took,
    }
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

/// A command that sends a request like this one, in its dialect.
fn curl(context: &PageContext<'_>, path: Option<&str>, model: &str) -> String {
    let key = match context.server.keys().is_keyless() {
        true => "",
        false => " \\\n  -H 'authorization: Bearer YOUR-KEY'",
    };
    let (path, body) = example(path.unwrap_or_default(), model);
    let quoted = |text: &str| text.replace('\'', r"'\''");
    format!(
        "curl '{}{}'{key} \\\n  -H 'content-type: application/json' \\\n  -d '{}'",
        super::connect::base(context),
        quoted(&path),
        quoted(&body.to_string()),
    )
}

/// A path, and a body with a placeholder for the content.
fn example(path: &str, model: &str) -> (String, Value) {
    const PROMPT: &str = "YOUR PROMPT";
    let messages = || json!([{ "role": "user", "content": PROMPT }]);
    let body = match path {
        "/v1/responses" | "/v1/embeddings" | "/api/embed" => {
            json!({ "model": model, "input": PROMPT })
        }
        "/v1/completions" | "/api/generate" | "/v1/images/generations" => {
            json!({ "model": model, "prompt": PROMPT })
        }
        "/v1/messages" => json!({ "model": model, "max_tokens": 1024, "messages": messages() }),
        "/api/chat" => json!({ "model": model, "messages": messages() }),
        path if path.starts_with("/v1beta/models/{model}:") => {
            let contents = json!([{ "role": "user", "parts": [{ "text": PROMPT }] }]);
            let model = utf8_percent_encode(model, IN_PATH).to_string();
            return (
                path.replace("{model}", &model),
                json!({ "contents": contents }),
            );
        }
        _ => {
            let body = json!({ "model": model, "messages": messages() });
            return ("/v1/chat/completions".to_owned(), body);
        }
    };
    (path.to_owned(), body)
}
