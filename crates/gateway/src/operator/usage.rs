//! `/api/usage` and the stored part of `/api/requests`: questions to the ledger.

use http::{Response, StatusCode};
use majordomo_ledger::{GroupBy, RequestQuery, Store, UsageQuery, UsageRow, UsageSums};
use serde::Serialize;

use super::body::OperatorBody;
use super::{json_page, page, text};
use crate::ledger_sink::now_millis;
use crate::server::ServerContext;
use crate::trust::Visible;

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
pub(super) async fn usage(
    context: &ServerContext,
    query: &str,
    sees: &Visible,
) -> Response<OperatorBody> {
    let parsed = match parse_usage(query, now_millis()) {
        Ok(parsed) => parsed,
        Err(hint) => return text(StatusCode::BAD_REQUEST, format!("{hint}\n")),
    };
    let restriction = restriction(sees);
    if restriction.is_some() && parsed.by.contains(&GroupBy::Tag) {
        let hint = "sums by tag cover all teams, and this key sees its own only\n";
        return text(StatusCode::FORBIDDEN, hint);
    }
    let csv = parameter(query, "format").as_deref() == Some("csv");
    let question = parsed.clone();
    let rows = ask(context, move |store| {
        let whole = UsageQuery {
            by: Vec::new(),
            ..question.clone()
        };
        let total = visible_usage(store, whole, restriction.as_ref())?;
        let total = total.first().map(|row| row.sums).unwrap_or_default();
        let rows = visible_usage(store, question, restriction.as_ref())?;
        Ok((rows, total))
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

/// The group that a restricted reader may see, and its value.
fn restriction(sees: &Visible) -> Option<(GroupBy, String)> {
    match sees {
        Visible::All => None,
        Visible::Team(team) => Some((GroupBy::Team, team.to_string())),
        Visible::Key(key) => Some((GroupBy::Key, key.to_string())),
    }
}

/// Sums usage within a restriction, ordered by group: the restriction is the outermost group, of
/// which one value is kept.
fn visible_usage(
    store: &mut dyn Store,
    mut question: UsageQuery,
    restriction: Option<&(GroupBy, String)>,
) -> Result<Vec<UsageRow>, majordomo_ledger::StoreError> {
    if let Some((group, _)) = restriction {
        question.by.insert(0, *group);
    }
    let mut rows = store.usage(&question)?;
    if let Some((_, value)) = restriction {
        rows.retain(|row| row.group.first() == Some(value));
        for row in &mut rows {
            row.group.remove(0);
        }
    }
    // Stores order by the numbers of names.
    rows.sort_by(|a, b| a.group.cmp(&b.group));
    Ok(rows)
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
        question(&mut *ledger.open()?)
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
