//! `/api/budgets`: the use of every budget that a reader may see, over time.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Response, StatusCode};
use majordomo_ledger::{GroupBy, Store, StoreError, UsageQuery, UsageRow};
use majordomo_limits::{BudgetWindow, Flow, LevelId, LevelKind, Nanodollars};
use serde::Serialize;

use super::body::OperatorBody;
use super::json_page;
use super::usage_report::{UsageCourse, ask};
use crate::identity::CallerIdentity;
use crate::keys::{ClientKey, ClientKeys};
use crate::ledger_sink::now_millis;
use crate::quota::{BudgetState, CallerLimits, budget_states};
use crate::server::ServerContext;
use crate::state::GatewayState;
use crate::stored_keys::timestamp;
use crate::trust::Visible;

/// Maximum budgets of a report; the most used ones come first.
const MOST_BUDGETS: usize = 100;
/// Days to show for a budget without a window.
const DAYS_OF_TOTAL: i64 = 30;
/// Maximum steps of a chart.
const MOST_STEPS: usize = 62;

/// The response.
#[derive(Default, Serialize)]
pub(super) struct BudgetsReport {
    /// The most used ones come first.
    pub(super) budgets: Vec<BudgetReport>,
    /// Budgets that are not listed.
    pub(super) unlisted: usize,
}

/// A budget in its current window.
#[derive(Serialize)]
pub(super) struct BudgetReport {
    /// `global`, `team` or `key`.
    pub(super) level: &'static str,
    /// The name of the team or the key.
    pub(super) name: Arc<str>,
    pub(super) window: &'static str,
    pub(super) limit_nanodollars: u64,
    pub(super) used_nanodollars: u64,
    pub(super) reserved_nanodollars: u64,
    /// When the window began and ends; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resets: Option<String>,
    /// The spending that the ledger has recorded: the start of each hour or day in UTC, and
    /// its cost.
    pub(super) spent: Vec<SpentStep>,
    /// The elapsed share of the window, from 0 to 1.
    #[serde(skip)]
    pub(super) elapsed: Option<f64>,
}

/// An hour or a day of a budget.
#[derive(Serialize)]
pub(super) struct SpentStep {
    pub(super) at: String,
    pub(super) nanodollars: i64,
}

/// Responds with the budgets that a reader may see.
pub(super) async fn respond(
    context: &ServerContext,
    state: &GatewayState,
    sees: &Visible,
) -> Response<OperatorBody> {
    json_page(StatusCode::OK, &read(context, state, sees).await)
}

/// The budgets that a reader may see.
pub(super) async fn read(
    context: &ServerContext,
    state: &GatewayState,
    sees: &Visible,
) -> BudgetsReport {
    let keys = context.keys();
    let mut states = budget_states(&callers(context, state, &keys)).await;
    states.retain(|budget| is_visible(&budget.usage.level, &keys, sees));
    let share = |budget: &BudgetState| {
        let used = budget.usage.settled.plus(budget.usage.reserved).0;
        u128::from(used) * 1_000_000 / u128::from(budget.usage.limit.0.max(1))
    };
    states.sort_by_key(|budget| std::cmp::Reverse(share(budget)));
    let unlisted = states.len().saturating_sub(MOST_BUDGETS);
    states.truncate(MOST_BUDGETS);
    let now = now_millis();
    let courses = courses(context, &states, now).await;
    let budgets = states.iter().map(|budget| report(budget, &courses, now));
    BudgetsReport {
        budgets: budgets.collect(),
        unlisted,
    }
}

/// A caller without a key, to whom only the global limits apply, and the holder of every key.
fn callers(
    context: &ServerContext,
    state: &GatewayState,
    keys: &ClientKeys,
) -> Vec<Arc<CallerLimits>> {
    let quotas = context.quotas();
    let limits = |key: Option<&ClientKey>, caller: &CallerIdentity| {
        CallerLimits::of(&quotas, &state.limits, key, caller, Flow::named("operator"))
    };
    let budgeted = |key: &&Arc<ClientKey>| {
        let team = key.team().map(|_| key.team_limits());
        !key.limits().budget.is_empty() || team.is_some_and(|limits| !limits.budget.is_empty())
    };
    let of_keys = keys.all().filter(budgeted).filter_map(|key| {
        let caller = CallerIdentity::of_key(key);
        limits(Some(key), &caller)
    });
    let mut callers: Vec<_> = limits(None, &CallerIdentity::default())
        .into_iter()
        .collect();
    callers.extend(of_keys);
    callers
}

/// Whether a reader may see a level's budget.
fn is_visible(level: &LevelId, keys: &ClientKeys, sees: &Visible) -> bool {
    match level.kind {
        LevelKind::Team => sees.includes(None, Some(&level.name)),
        LevelKind::Key => {
            let key = keys.named(&level.name);
            sees.includes(Some(&level.name), key.as_deref().and_then(ClientKey::team))
        }
        _ => *sees == Visible::All,
    }
}

/// The totals over time for one kind of level, separately for each name.
type Courses = BTreeMap<(&'static str, &'static str), (GroupBy, Vec<UsageRow>)>;

/// Queries the ledger once for each kind of level and window. Without a ledger, there is no
/// chart.
async fn courses(context: &ServerContext, states: &[BudgetState], now: i64) -> Courses {
    let mut questions = BTreeMap::new();
    for budget in states {
        let level = budget.usage.level.kind;
        let mut by: Vec<GroupBy> = match level {
            LevelKind::Team => vec![GroupBy::Team],
            LevelKind::Key => vec![GroupBy::Key],
            _ => Vec::new(),
        };
        by.push(step_of(budget.usage.window));
        let question = UsageQuery {
            since_millis: since(budget, now),
            until_millis: now,
            by,
            utc_offset_minutes: 0,
            as_recorded: false,
        };
        questions.insert((level.name(), budget.usage.window.name()), question);
    }
    if questions.is_empty() {
        return Courses::new();
    }
    let asked = ask(context, move |store: &mut dyn Store| {
        let answered = questions.into_iter().map(|(place, question)| {
            let step = question.by.last().copied().unwrap_or(GroupBy::Day);
            Ok((place, (step, store.usage(&question)?)))
        });
        answered.collect::<Result<Courses, StoreError>>()
    });
    asked.await.unwrap_or_default()
}

fn step_of(window: BudgetWindow) -> GroupBy {
    match window {
        BudgetWindow::Day => GroupBy::Hour,
        _ => GroupBy::Day,
    }
}

fn since(budget: &BudgetState, now: i64) -> i64 {
    let total = now.saturating_sub(DAYS_OF_TOTAL * 86_400_000);
    budget.since_millis.unwrap_or(total)
}

fn report(budget: &BudgetState, courses: &Courses, now: i64) -> BudgetReport {
    let usage = &budget.usage;
    let Nanodollars(limit) = usage.limit;
    let place = (usage.level.kind.name(), usage.window.name());
    let spent = courses.get(&place).map(|(by, rows)| {
        let own = rows.iter().filter_map(|row| match row.group.as_slice() {
            [step] => Some((step, row)),
            [name, step] if **name == *usage.level.name => Some((step, row)),
            _ => None,
        });
        let rows = own.map(|(step, row)| UsageRow {
            group: vec![step.clone()],
            sums: row.sums,
        });
        let course = UsageCourse {
            by: *by,
            rows: rows.collect(),
        };
        let steps = course.steps(since(budget, now), now, MOST_STEPS);
        let steps = steps.into_iter().map(|(at, cost, _)| SpentStep {
            at,
            nanodollars: cost.nanodollars(),
        });
        steps.collect()
    });
    let elapsed = budget.since_millis.zip(budget.until_millis);
    BudgetReport {
        level: usage.level.kind.name(),
        name: Arc::clone(&usage.level.name),
        window: usage.window.name(),
        limit_nanodollars: limit,
        used_nanodollars: usage.settled.0,
        reserved_nanodollars: usage.reserved.0,
        since: budget.since_millis.map(timestamp),
        resets: budget.until_millis.map(timestamp),
        spent: spent.unwrap_or_default(),
        elapsed: elapsed.map(|(start, end)| {
            let (over, whole) = (now.saturating_sub(start), end.saturating_sub(start));
            (over as f64 / whole.max(1) as f64).clamp(0.0, 1.0)
        }),
    }
}
