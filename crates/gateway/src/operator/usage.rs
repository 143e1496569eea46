//! `/api/usage` and the stored part of `/api/requests`: queries of the ledger.

use http::{Response, StatusCode};
use majordomo_ledger::RequestQuery;

use super::body::OperatorBody;
use super::usage_report::{self, ask, since};
use super::{json_page, page, text};
use crate::ledger_sink::now_millis;
use crate::server::ServerContext;
use crate::state::GatewayState;
use crate::trust::Visible;

/// Maximum stored requests of one response.
const MAX_REQUESTS: usize = 1_000;

/// Sums usage. `by` lists groups, `since` is a duration such as `7d`, `format` may be `csv`.
pub(super) async fn usage(
    context: &ServerContext,
    state: &GatewayState,
    query: &str,
    sees: &Visible,
) -> Response<OperatorBody> {
    match usage_report::read(context, state, query, sees).await {
        Ok(report) if parameter(query, "format").as_deref() == Some("csv") => page(
            StatusCode::OK,
            "text/csv; charset=utf-8",
            majordomo_ledger::usage_csv(&report.by, &report.rows),
        ),
        Ok(report) => json_page(StatusCode::OK, &report),
        Err(response) => *response,
    }
}

/// Lists stored requests: `key`, `team`, `model` and `outcome` filter, `since` and `limit` bound,
/// `before` pages.
pub(super) async fn stored_requests(
    context: &ServerContext,
    query: &str,
    sees: &Visible,
) -> Response<OperatorBody> {
    let since = match since(query, now_millis()) {
        Ok(since) => since,
        Err(hint) => return text(StatusCode::BAD_REQUEST, format!("{hint}\n")),
    };
    let limit = parameter(query, "limit").and_then(|limit| limit.parse().ok());
    let mut question = RequestQuery {
        since_millis: since,
        until_millis: None,
        before: parameter(query, "before").and_then(|id| id.parse().ok()),
        key: parameter(query, "key"),
        team: parameter(query, "team"),
        model: parameter(query, "model"),
        outcome: parameter(query, "outcome"),
        limit: limit.unwrap_or(100).min(MAX_REQUESTS),
    };
    match sees {
        Visible::All => {}
        Visible::Team(team) => question.team = Some(team.to_string()),
        Visible::Key(key) => question.key = Some(key.to_string()),
    }
    match ask(context, move |store| store.requests(&question)).await {
        Ok(requests) => json_page(StatusCode::OK, &serde_json::json!({ "requests": requests })),
        Err(response) => *response,
    }
}

/// A parameter of the query string.
pub(super) fn parameter(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let value = pairs
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| value)
        .next()?;
    let value = value.replace('+', " ");
    let value = percent_encoding::percent_decode_str(&value)
        .decode_utf8()
        .ok()?;
    (!value.is_empty()).then(|| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_decoded() {
        assert_eq!(parameter("a=1&b=x%2Fy+z", "b").as_deref(), Some("x/y z"));
        assert_eq!(parameter("a=&b", "a"), None);
    }
}
