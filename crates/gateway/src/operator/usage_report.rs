//! The report of `/api/usage` and of the screen Usage: totals by group, from the ledger.
//!
//! A reader who is restricted to one team gets only that team's totals: the query also groups
//! by team, and one group is kept.

use http::{Response, StatusCode};
use majordomo_ledger::{
    Cost, Day, GroupBy, Store, StoreError, UsageQuery, UsageRow, UsageSums, parse_since,
};
use serde::Serialize;

use super::body::OperatorBody;
use super::text;
use super::usage::parameter;
use crate::ledger_sink::now_millis;
use crate::pricing::Pricing;
use crate::server::ServerContext;
use crate::state::GatewayState;
use crate::trust::Visible;

/// Up to this range, the chart is by hour.
const BY_HOUR_MILLIS: i64 = 48 * 3_600_000;

/// A report.
#[derive(Serialize)]
pub(super) struct UsageReport {
    /// The groups, in the order of each row's `group`.
    pub(super) by: Vec<GroupBy>,
    pub(super) since_millis: i64,
    pub(super) until_millis: i64,
    pub(super) rows: Vec<UsageRow>,
    pub(super) total: UsageSums,
    /// Targets with attempts whose price is unknown, and the number of attempts.
    pub(super) unknown_prices: Vec<UnknownPrice>,
    /// What cached input would have cost in addition, at today's prices.
    #[serde(rename = "cache_savings_nanodollars")]
    pub(super) cache_savings: Cost,
    /// By hour or by day; not part of the response.
    #[serde(skip)]
    pub(super) course: UsageCourse,
}

/// Attempts of a target without a known price.
#[derive(Serialize)]
pub(super) struct UnknownPrice {
    pub(super) target: String,
    pub(super) attempts: u64,
}

/// The totals over time, without steps in which nothing happened.
pub(super) struct UsageCourse {
    pub(super) by: GroupBy,
    pub(super) rows: Vec<UsageRow>,
}

/// Reads a report, or returns the response that states why there is none.
pub(super) async fn read(
    context: &ServerContext,
    state: &GatewayState,
    query: &str,
    sees: &Visible,
) -> Result<UsageReport, Box<Response<OperatorBody>>> {
    let refuse = |status, hint: &str| Box::new(text(status, format!("{hint}\n")));
    let question =
        parse(query, now_millis()).map_err(|hint| refuse(StatusCode::BAD_REQUEST, &hint))?;
    let restriction = restriction(sees);
    if restriction.is_some() && question.by.contains(&GroupBy::Tag) {
        let hint = "totals by tag cover all teams, and this key sees only its own";
        return Err(refuse(StatusCode::FORBIDDEN, hint));
    }
    let asked = question.clone();
    let course_by = course_by(&question);
    let answered = ask(context, move |store| {
        let mut sums = |by: &[GroupBy]| {
            let by = by.to_vec();
            let question = UsageQuery {
                by,
                ..asked.clone()
            };
            visible_usage(store, question, restriction.as_ref())
        };
        let total = sums(&[])?;
        let rows = sums(&asked.by)?;
        Ok((total, rows, sums(&[GroupBy::Target])?, sums(&[course_by])?))
    });
    let (total, rows, by_target, course) = answered.await?;
    let unknown = by_target.iter().filter(|row| row.sums.unpriced > 0);
    Ok(UsageReport {
        since_millis: question.since_millis,
        until_millis: question.until_millis,
        total: total.first().map(|row| row.sums).unwrap_or_default(),
        unknown_prices: unknown
            .map(|row| UnknownPrice {
                target: row.group.concat(),
                attempts: row.sums.unpriced,
            })
            .collect(),
        cache_savings: cache_savings(&state.pricing, &by_target, question.until_millis),
        by: question.by,
        rows,
        course: UsageCourse {
            by: course_by,
            rows: course,
        },
    })
}

/// The savings by reading from caches, at current prices. Tiers are ignored, because totals do
/// not reveal the size of each request.
fn cache_savings(pricing: &Pricing, by_target: &[UsageRow], now: i64) -> Cost {
    let saved = by_target.iter().filter_map(|row| {
        let card = pricing.price(row.group.first()?, now)?;
        let rates = card.rates(0);
        let (fresh, cached) = (rates.input?, rates.cache_read?);
        let per_token = fresh.picodollars().checked_sub(cached.picodollars())?;
        let saved = u128::from(per_token) * u128::from(row.sums.cache_read) / 1_000;
        Some(Cost::from_nanodollars(
            i64::try_from(saved).unwrap_or(i64::MAX),
        ))
    });
    saved.sum()
}

/// The steps in which a range is shown.
fn course_by(question: &UsageQuery) -> GroupBy {
    let range = question.until_millis.saturating_sub(question.since_millis);
    match range <= BY_HOUR_MILLIS {
        true => GroupBy::Hour,
        false => GroupBy::Day,
    }
}

impl UsageCourse {
    /// All steps of a range, at most `most`, with the cost of each.
    pub(super) fn steps(&self, since: i64, until: i64, most: usize) -> Vec<(String, Cost, u64)> {
        let (millis, hours) = match self.by {
            GroupBy::Hour => (3_600_000, true),
            _ => (86_400_000, false),
        };
        let (first, last) = (since.div_euclid(millis), until.div_euclid(millis));
        let first = first.max(last.saturating_sub(i64::try_from(most).unwrap_or(i64::MAX) - 1));
        let label = |step: i64| {
            let day = Day::of_millis(step * millis);
            match hours {
                true => format!("{day} {:02}:00", step.rem_euclid(24)),
                false => day.to_string(),
            }
        };
        let step = |step: i64| {
            let label = label(step);
            let row = self.rows.iter().find(|row| row.group == [label.as_str()]);
            let sums = row.map(|row| row.sums).unwrap_or_default();
            (label, sums.cost, sums.requests)
        };
        (first..=last).map(step).collect()
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

/// Sums usage within a restriction, ordered by group.
fn visible_usage(
    store: &mut dyn Store,
    mut question: UsageQuery,
    restriction: Option<&(GroupBy, String)>,
) -> Result<Vec<UsageRow>, StoreError> {
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

/// Opens and queries the store, off the runtime's threads.
pub(super) async fn ask<T: Send + 'static>(
    context: &ServerContext,
    question: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Box<Response<OperatorBody>>> {
    let refuse = |status, reason: String| Box::new(text(status, format!("{reason}\n")));
    let Some(ledger) = context.ledger() else {
        let reason =
            "nothing is recorded: `store` in [ledger] is \"off\", or there is no state folder";
        return Err(refuse(StatusCode::NOT_FOUND, reason.to_owned()));
    };
    let asked = tokio::task::spawn_blocking(move || {
        // Requests that have just ended are part of the report.
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

fn parse(query: &str, now: i64) -> Result<UsageQuery, String> {
    let by = parameter(query, "by").unwrap_or_default();
    let groups = by.split(',').filter(|name| !name.is_empty());
    let groups = groups.map(|name| {
        let known = GroupBy::ALL.map(|(name, _)| name).join(", ");
        GroupBy::named(name)
            .ok_or_else(|| format!("`{name}` is not a group; the groups are {known}"))
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
pub(super) fn since(query: &str, now: i64) -> Result<i64, String> {
    let since = parameter(query, "since").unwrap_or_else(|| "7d".to_owned());
    parse_since(&since, now).ok_or_else(|| {
        format!("`{since}` is neither a duration such as 7d nor a date such as 2026-11-17")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_from_the_query_string() {
        let now = 1_794_924_000_000;
        let parsed = parse("by=key,model&since=2d", now).unwrap();
        assert_eq!(parsed.by, [GroupBy::Key, GroupBy::Model]);
        assert_eq!(parsed.since_millis, now - 2 * 86_400_000);
        assert!(
            parse("by=colour", now)
                .unwrap_err()
                .contains("the groups are key")
        );
        assert!(parse("since=soon", now).is_err());
    }

    #[test]
    fn a_course_has_every_step_of_its_range_and_is_bounded() {
        let now = 1_794_924_000_000;
        let row = UsageRow {
            group: vec![Day::of_millis(now).to_string()],
            sums: UsageSums {
                requests: 3,
                cost: Cost::from_nanodollars(7),
                ..UsageSums::default()
            },
        };
        let course = UsageCourse {
            by: GroupBy::Day,
            rows: vec![row],
        };
        let steps = course.steps(now - 6 * 86_400_000, now, 366);
        assert_eq!(steps.len(), 7);
        assert_eq!(steps[5].2, 0);
        assert_eq!((steps[6].1.nanodollars(), steps[6].2), (7, 3));
        assert_eq!(course.steps(0, now, 10).len(), 10);
    }
}
