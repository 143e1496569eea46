//! `POST /api/targets/{target}/release`: ends a bench.
//!
//! A target's name contains slashes and colons, so it is everything between prefix and
//! suffix, percent-decoded.

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, header};
use http_body_util::Full;
use majordomo::nearest::nearest_few;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::json;

use super::{json_page, text};
use crate::state::GatewayState;

const PREFIX: &str = "/api/targets/";
const RELEASE: &str = "/release";
/// Maximum number of suggestions for an unknown name.
const SUGGESTIONS: usize = 3;

/// The response to a release.
#[derive(Serialize)]
struct Released {
    target: String,
    /// What was benched: the target, its provider's credential, or both.
    released: Vec<String>,
}

/// Whether a path names an action on a target.
pub(super) fn is_action(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// Releases a target and its provider's credential.
pub(super) fn respond(
    state: &GatewayState,
    path: &str,
    headers: &HeaderMap,
) -> Response<Full<Bytes>> {
    if !is_form_free(headers) {
        let hint = "send no body, or JSON\n";
        return text(StatusCode::UNSUPPORTED_MEDIA_TYPE, hint);
    }
    let Some(target) = released(path) else {
        let hint = "no such action; there is POST /api/targets/{target}/release\n";
        return text(StatusCode::NOT_FOUND, hint);
    };
    let health = state.registry.health();
    if health.status(&target).is_none() {
        return unknown(state, &target);
    }
    let provider = target.split('/').next().unwrap_or_default();
    let mut subjects = vec![target.as_str(), provider];
    subjects.dedup();
    let benched = |subject: &&str| {
        let status = health.status(subject);
        status.is_some_and(|status| status.benched_for.is_some())
    };
    let done = subjects.iter().copied().filter(benched);
    let done: Vec<String> = done.map(str::to_owned).collect();
    for subject in subjects {
        health.unbench(subject);
    }
    let report = Released {
        released: done,
        target,
    };
    json_page(StatusCode::OK, &report)
}

/// The target in a path.
fn released(path: &str) -> Option<String> {
    let name = path.strip_prefix(PREFIX)?.strip_suffix(RELEASE)?;
    let name = percent_decode_str(name).decode_utf8().ok()?;
    (!name.is_empty()).then(|| name.into_owned())
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

fn unknown(state: &GatewayState, target: &str) -> Response<Full<Bytes>> {
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
            assert_eq!(released(path).as_deref(), target, "{path}");
        }
    }
}
