//! `/api/usage` and the stored part of `/api/requests`: questions to the ledger.

use http::{Response, StatusCode};
use majordomo_ledger::{GroupBy, RequestQuery, Store, UsageQuery, UsageRow, UsageSums};
use serde::Serialize;

use super::body::OperatorBody;
use super::{json_page, page, text};
use crate::ledger_sink::now_millis;
use crate::server::ServerContext;

/// Most stored requests of one response.
const MAX_REQUESTS: usize = 1_000;

/// The response of `/api/usage`.
#[derive(Serialize)]
struct UsageReport {
    /// The groups, in the order of each row's `group`.
    by: Vec<GroupBy>,
    since_millis: i64,
    until_millis: i64,
    rows: Vec<UsageRow>,
    total: UsageSums,
}

/// Sums usage. `by` lists groups, `since` is a duration such as `7d`, `format` may be `csv`.
pub(super) async fn usage(context: &ServerContext, query: &str) -> Response<OperatorBody> {
    let parsed = match parse_usage(query, now_millis()) {
        Ok(parsed) => parsed,
        Err(hint) => return text(StatusCode::BAD_REQUEST, format!("{hint}\n")),
    };
    let csv = parameter(query, "format").as_deref() == Some("csv");
    let question = parsed.clone();
    let rows = ask(context, move |store| {
        let whole = UsageQuery {
            by: Vec::new(),
            ..question.clone()
        };
        let total = store.usage(&whole)?.first().map(|row| row.sums);
        Ok((store.usage(&question)?, total.unwrap_or_default()))
    });
    match rows.await {
        Ok((rows, _)) if csv => page(
            StatusCode::OK,
            "text/csv; charset=utf-8",
            majordomo_ledger::usage_csv(&parsed.by, &rows),
        ),
        Ok((rows, total)) => {
            let report = UsageReport {
                by: parsed.by,
                since_millis: parsed.since_millis,
                until_millis: parsed.until_millis,
                rows,
                total,
            };
            json_page(StatusCode::OK, &report)
        }
        Err(response) => *response,
    }
}

/// Lists stored requests: `key`, `model` and `outcome` filter, `since` and `limit` bound,
/// `before` pages.
pub(super) async fn stored_requests(
    context: &ServerContext,
    query: &str,
) -> Response<OperatorBody> {
    let since = match since(query, now_millis()) {
        Ok(since) => since,
        Err(hint) => return text(StatusCode::BAD_REQUEST, format!("{hint}\n")),
    };
    let limit = parameter(query, "limit").and_then(|limit| limit.parse().ok());
    let question = RequestQuery {
        since_millis: since,
        until_millis: None,
        before: parameter(query, "before").and_then(|id| id.parse().ok()),
        key: parameter(query, "key"),
        model: parameter(query, "model"),
        outcome: parameter(query, "outcome"),
        limit: limit.unwrap_or(100).min(MAX_REQUESTS),
    };
    match ask(context, move |store| store.requests(&question)).await {
        Ok(requests) => json_page(StatusCode::OK, &serde_json::json!({ "requests": requests })),
        Err(response) => *response,
    }
}

/// Opens the store and asks it, off the runtime's threads.
async fn ask<T: Send + 'static>(
    context: &ServerContext,
    question: impl FnOnce(&mut dyn Store) -> Result<T, majordomo_ledger::StoreError> + Send + 'static,
) -> Result<T, Box<Response<OperatorBody>>> {
    let refuse = |status, reason: String| Box::new(text(status, format!("{reason}\n")));
    let Some(ledger) = context.ledger() else {
        let reason =
            "nothing is recorded: `store` in [ledger] is \"off\", or there is no state folder";
        return Err(refuse(StatusCode::NOT_FOUND, reason.to_owned()));
    };
    let asked = tokio::task::spawn_blocking(move || {
        // What has just been answered is part of the report.
        ledger.flush();
        question(&mut ledger.open()?)
    });
    match asked.await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(refuse(StatusCode::SERVICE_UNAVAILABLE, error.to_string())),
        Err(_) => Err(refuse(
            StatusCode::INTERNAL_SERVER_ERROR,
            "no report".to_owned(),
        )),
    }
}

fn parse_usage(query: &str, now: i64) -> Result<UsageQuery, String> {
    let by = parameter(query, "by").unwrap_or_default();
    let groups = by.split(',').filter(|name| !name.is_empty());
    let groups = groups.map(|name| {
        let known = GroupBy::ALL.map(|(name, _)| name).join(", ");
        GroupBy::named(name).ok_or_else(|| format!("`{name}` is not a group; known are {known}"))
    });
    Ok(UsageQuery {
        by: groups.collect::<Result<_, _>>()?,
        since_millis: since(query, now)?,
        until_millis: now,
        utc_offset_minutes: 0,
        as_recorded: parameter(query, "as_recorded").as_deref() == Some("true"),
    })
}

/// The start of the range: `since` ago, by default seven days.
fn since(query: &str, now: i64) -> Result<i64, String> {
    let since = parameter(query, "since").unwrap_or_else(|| "7d".to_owned());
    majordomo_ledger::parse_since(&since, now).ok_or_else(|| {
        format!("`{since}` is neither a duration such as 7d nor a date such as 2026-11-17")
    })
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
    fn questions_are_read_from_the_query_string() {
        let now = 1_794_924_000_000;
        let parsed = parse_usage("by=key,model&since=2d", now).unwrap();
        assert_eq!(parsed.by, [GroupBy::Key, GroupBy::Model]);
        assert_eq!(parsed.since_millis, now - 2 * 86_400_000);
        assert!(
            parse_usage("by=colour", now)
                .unwrap_err()
                .contains("known are key")
        );
        assert!(parse_usage("since=soon", now).is_err());
        assert_eq!(parameter("a=1&b=x%2Fy+z", "b").as_deref(), Some("x/y z"));
    }
}
