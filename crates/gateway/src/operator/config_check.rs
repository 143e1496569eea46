//! `/api/config`: the running configuration, masked. `/api/config/check`: what a candidate
//! would change.
//!
//! Nothing is written, and only the candidate itself is read: the response reveals neither the
//! environment nor files that the candidate names.

use std::collections::BTreeMap;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use majordomo::transport::{Transport, TransportConfig};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::body::OperatorBody;
use super::explain::is_json;
use super::{json_page, text};
use crate::config::compare::{self, DiffLine, EntryChange};
use crate::config::transition::{AtStartup, check_reload};
use crate::config::{Config, Diagnostics, Severity, Variables};
use crate::server::{ServerContext, admit_body_without_seat};
use crate::state::GatewayState;

/// Largest candidate, as JSON.
const MAX_BODY: u64 = 8 << 20;

#[derive(Deserialize)]
struct Candidate {
    text: String,
}

/// The result of checking a candidate.
#[derive(Default, Serialize)]
struct CandidateReport {
    /// Whether a gateway would start with it, judged by the text alone.
    valid: bool,
    diagnostics: Vec<PlacedDiagnostic>,
    /// The lines in which it differs from the running configuration.
    diff: Vec<DiffLine>,
    /// The entries that it adds, removes or changes.
    changes: Vec<EntryChange>,
    /// Settings that would take effect only after a restart.
    restart: Vec<String>,
    /// Why a running gateway would not switch to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected: Option<String>,
}

/// A mistake or a doubtful setting, with its position.
#[derive(Serialize)]
struct PlacedDiagnostic {
    severity: &'static str,
    line: usize,
    column: usize,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// Responds with the running configuration, masked.
pub(super) fn running(state: &GatewayState) -> Response<OperatorBody> {
    let source = &state.config().source;
    let body = json!({ "name": source.name(), "lines": source.masked_lines() });
    json_page(StatusCode::OK, &body)
}

/// Checks the candidate in the body.
pub(super) async fn check(
    context: &ServerContext,
    state: &GatewayState,
    request: Request<Incoming>,
) -> Response<OperatorBody> {
    let (head, body) = request.into_parts();
    if !is_json(&head.headers) {
        let hint = "send {\"text\": \"…\"} as `content-type: application/json`\n";
        return text(StatusCode::UNSUPPORTED_MEDIA_TYPE, hint);
    }
    let read = admit_body_without_seat(context, &head.headers, body, MAX_BODY).await;
    let (_permit, body) = match read {
        Ok(read) => read,
        Err(refusal) => return super::error_response(&refusal),
    };
    let candidate = match serde_json::from_slice::<Candidate>(&body) {
        Ok(candidate) => candidate.text,
        Err(_) => {
            return json_page(
                StatusCode::BAD_REQUEST,
                &json!({ "error": "send {\"text\": \"…\"}" }),
            );
        }
    };
    let (old, at_startup) = (state.config().clone(), context.at_startup.get().cloned());
    let checked = tokio::task::spawn_blocking(move || report(&old, candidate, at_startup.as_ref()));
    match checked.await {
        Ok(report) => json_page(StatusCode::OK, &report),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "no report\n"),
    }
}

fn report(old: &Config, text: String, at_startup: Option<&AtStartup>) -> CandidateReport {
    let nothing = BTreeMap::new();
    let parsed = Config::parse_with("candidate", text, &nothing, Variables::Optional);
    let mut config = match parsed {
        Ok(config) => config,
        Err(diagnostics) => {
            return CandidateReport {
                diff: compare::lines(&old.source, diagnostics.source()),
                diagnostics: placed(&diagnostics),
                ..CandidateReport::default()
            };
        }
    };
    // A price table is another file.
    config.prices.file = None;
    let transport = Transport::new(TransportConfig::default());
    let built = GatewayState::new(&config, &nothing, &transport, None);
    let (valid, diagnostics) = match &built {
        Ok(state) => (true, placed(&state.warnings())),
        Err(diagnostics) => (false, placed(diagnostics)),
    };
    let changes = compare::entries(&old.source, &config.source);
    let mut report = CandidateReport {
        valid,
        diagnostics,
        diff: compare::lines(&old.source, &config.source),
        ..CandidateReport::default()
    };
    match at_startup.map(|at_startup| check_reload(at_startup, old, &config)) {
        Some(Ok(notices)) => {
            // An argument of the command may override the file, which is not a change.
            let changed = |setting: &str| {
                changes.iter().any(|change| {
                    change.section == setting
                        || (change.section == "server" && change.name == setting)
                })
            };
            let notices = notices.into_iter().filter(|notice| changed(notice.setting));
            report.restart = notices.map(|notice| notice.text).collect();
        }
        Some(Err(rejection)) => report.rejected = Some(rejection.to_string()),
        None => {}
    }
    report.changes = changes;
    report
}

fn placed(diagnostics: &Diagnostics) -> Vec<PlacedDiagnostic> {
    let all = diagnostics.list().iter().map(|diagnostic| {
        let (line, column) = diagnostics.place(diagnostic);
        PlacedDiagnostic {
            severity: match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            line,
            column,
            message: diagnostic.message.clone(),
            hint: diagnostic.hint.clone(),
        }
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNING: &str = "[providers.up]\nkind = \"openai\"\napi_key = \"canary-running-key\"\n\
        [[routes]]\nmodel = \"coder\"\nservices = [ { spec = \"up/a\" } ]\n";

    fn checked(candidate: &str) -> CandidateReport {
        let old = Config::parse("majordomo.toml", RUNNING, &BTreeMap::new()).unwrap();
        report(&old, candidate.to_owned(), None)
    }

    #[test]
    fn a_mistake_is_placed_and_a_valid_candidate_lists_its_changes() {
        let report = checked("[providers.up]\nkind = \"opnai\"\n");
        assert!(!report.valid);
        let first = &report.diagnostics[0];
        assert_eq!((first.line, first.severity), (2, "error"));
        assert!(first.column > 1, "{}", first.message);
        let report = checked(&RUNNING.replace("coder", "writer"));
        assert!(report.valid);
        let names: Vec<_> = report.changes.iter().map(|change| &*change.name).collect();
        assert_eq!(names, ["coder", "writer"]);
    }

    #[test]
    fn neither_the_environment_nor_another_file_nor_a_secret_is_in_the_response() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("prices");
        std::fs::write(&file, "canary-of-another-file").unwrap();
        let candidate = format!(
            "[providers.up]\nkind = \"openai\"\nbase_url = \"${{HOME}}/v1\"\n\
             api_key = \"canary-candidate\"\n# canary-comment\n[prices]\nfile = \"{}\"\n",
            file.display()
        );
        for candidate in [
            candidate.clone(),
            format!("{candidate}\nnot toml = = \"canary-x\""),
        ] {
            let text = serde_json::to_string(&checked(&candidate)).unwrap();
            assert!(!text.contains("canary"), "{text}");
            let home = std::env::var("HOME").unwrap_or_else(|_| "/no/home".to_owned());
            assert!(!text.contains(&format!("\"{home}")), "{text}");
        }
    }
}
