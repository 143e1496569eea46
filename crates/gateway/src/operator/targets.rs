//! `POST /api/targets/{target}/release`, `/bench` and `/probe`: ends a bench, begins one,
//! sends a short request.
//!
//! A target's name contains slashes and colons, so it is everything between prefix and
//! suffix, percent-decoded.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Response, StatusCode, header};
use majordomo::health::key_subject;
use majordomo::nearest::nearest_few;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::json;

use super::body::OperatorBody;
use super::{json_page, text, try_model};
use crate::server::ServerContext;
use crate::state::GatewayState;

const PREFIX: &str = "/api/targets/";
/// How long an operator's bench lasts, unless it is released.
const BENCH: Duration = Duration::from_secs(600);
/// Maximum number of suggestions for an unknown name.
const SUGGESTIONS: usize = 3;

/// The response to a release.
#[derive(Serialize)]
struct Released {
    target: String,
    /// The released subjects: the target, its provider's credential, or both.
    released: Vec<String>,
    /// For the operator.
    message: String,
}

/// The response to a bench.
#[derive(Serialize)]
struct Benched {
    target: String,
    seconds: u64,
    /// For the operator.
    message: String,
}

/// An operator's action on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetAction {
    Release,
    Bench,
    Probe,
}

impl TargetAction {
    const ALL: [(&'static str, Self); 3] = [
        ("/release", Self::Release),
        ("/bench", Self::Bench),
        ("/probe", Self::Probe),
    ];
}

/// Whether a path names an action on a target.
pub(super) fn is_action(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// Acts on a target.
pub(super) async fn respond(
    context: &Arc<ServerContext>,
    state: &Arc<GatewayState>,
    path: &str,
    headers: &HeaderMap,
    who: String,
) -> Response<OperatorBody> {
    if !is_form_free(headers) {
        let hint = "send no body, or JSON\n";
        return text(StatusCode::UNSUPPORTED_MEDIA_TYPE, hint);
    }
    let Some((target, action)) = action(path) else {
        let hint = "no such action; there are POST /api/targets/{target}/release, /bench and \
                    /probe\n";
        return text(StatusCode::NOT_FOUND, hint);
    };
    if state.registry.health().status(&target).is_none() {
        return unknown(state, &target);
    }
    let noted = match action {
        TargetAction::Release => Some("target.release"),
        TargetAction::Bench => Some("target.bench"),
        // An ordinary request, which the ledger records.
        TargetAction::Probe => None,
    };
    if let (Some(noted), Some(access)) = (noted, context.access.load_full()) {
        access.note(noted, target.clone(), who);
    }
    match action {
        TargetAction::Release => release(state, target),
        TargetAction::Bench => bench(state, target),
        TargetAction::Probe => try_model::try_model(context, state, &target).await,
    }
}

/// Benches a target for a while.
fn bench(state: &GatewayState, target: String) -> Response<OperatorBody> {
    state
        .registry
        .health()
        .bench(&target, BENCH, "benched by the operator");
    let seconds = BENCH.as_secs();
    let message = format!("{target} is benched for {} minutes.", seconds / 60);
    let report = Benched {
        target,
        seconds,
        message,
    };
    json_page(StatusCode::OK, &report)
}

/// Releases a target and its provider's credentials.
fn release(state: &GatewayState, target: String) -> Response<OperatorBody> {
    let health = state.registry.health();
    let provider = target.split('/').next().unwrap_or_default();
    let mut subjects = vec![target.clone(), provider.to_owned()];
    subjects.dedup();
    // A provider may have several keys, each with its own limits.
    let model = target.split_once('/').map(|(_, model)| model);
    let keys = (1..).map(|number| key_subject(provider, number));
    for key in keys.take_while(|key| health.status(key).is_some()) {
        subjects.extend(model.map(|model| format!("{key}/{model}")));
        subjects.push(key);
    }
    let benched = |subject: &&String| {
        let status = health.status(subject);
        status.is_some_and(|status| status.benched_for.is_some())
    };
    let done: Vec<String> = subjects.iter().filter(benched).cloned().collect();
    for subject in &subjects {
        health.unbench(subject);
    }
    let message = match done.as_slice() {
        [] => format!("{target} was not benched."),
        done => format!("Released: {}.", done.join(", ")),
    };
    let report = Released {
        released: done,
        target,
        message,
    };
    json_page(StatusCode::OK, &report)
}

/// The target in a path, and what to do.
fn action(path: &str) -> Option<(String, TargetAction)> {
    let path = path.strip_prefix(PREFIX)?;
    let mut known = TargetAction::ALL.into_iter();
    let (name, action) = known.find_map(|(suffix, action)| {
        let name = path.strip_suffix(suffix)?;
        Some((name, action))
    })?;
    let name = percent_decode_str(name).decode_utf8().ok()?;
    (!name.is_empty()).then(|| (name.into_owned(), action))
}

/// Cross-site pages can send forms without a preflight, and nothing else. Their
/// requests are normally recognised by fetch metadata; this covers browsers that send
/// none.
fn is_form_free(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.map(|kind| kind.to_str().unwrap_or_default());
    kind.is_none_or(|kind| {
        let essence = kind.split(';').next().unwrap_or_default().trim();
        essence.eq_ignore_ascii_case("application/json")
    })
}

fn unknown(state: &GatewayState, target: &str) -> Response<OperatorBody> {
    let health = state.registry.health().snapshot();
    let known = health.iter().map(|status| status.subject.as_str());
    let near = nearest_few(target, known, SUGGESTIONS);
    let body = json!({
        "error": "no such target: it is not configured and no request named it",
        "nearest": near,
    });
    json_page(StatusCode::NOT_FOUND, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_everything_between_prefix_and_suffix() {
        let rows = [
            ("/api/targets/up/m/release", Some("up/m")),
            ("/api/targets/up%2Fm/release", Some("up/m")),
            ("/api/targets/up%2fm/release", Some("up/m")),
            ("/api/targets/up/org/m:free/release", Some("up/org/m:free")),
            (
                "/api/targets/up/org%2Fm%3Afree/release",
                Some("up/org/m:free"),
            ),
            ("/api/targets/up/release/release", Some("up/release")),
            ("/api/targets/up/m%20x/release", Some("up/m x")),
            ("/api/targets/up/100%25/release", Some("up/100%")),
            ("/api/targets/up/release", Some("up")),
            ("/api/targets/up/m", None),
            ("/api/targets//release", None),
            ("/api/targets/release", None),
            ("/api/targets/up/%ff/release", None),
        ];
        for (path, target) in rows {
            let found = action(path);
            let target = target.map(|name| (name.to_owned(), TargetAction::Release));
            assert_eq!(found, target, "{path}");
        }
    }

    #[test]
    fn the_last_word_of_a_path_is_the_action() {
        for (path, expected) in [
            (
                "/api/targets/up/bench/probe",
                Some(("up/bench", TargetAction::Probe)),
            ),
            (
                "/api/targets/up/m/bench",
                Some(("up/m", TargetAction::Bench)),
            ),
            ("/api/targets/up/m/benched", None),
        ] {
            let expected = expected.map(|(name, action)| (name.to_owned(), action));
            assert_eq!(action(path), expected, "{path}");
        }
    }
}
