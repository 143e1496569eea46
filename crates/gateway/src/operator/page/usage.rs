//! Usage and cost by group, and budgets.

use majordomo_ledger::{Cost, GroupBy, UsageRow, UsageSums};
use majordomo_page::{Bar, BudgetView, Screen, UsageLine, UsageView};

use super::PageContext;
use crate::operator::budgets::{self, BudgetReport};
use crate::operator::usage_report::{self, UsageReport};
use crate::trust::Visible;

/// Maximum rows of the table; the CSV has all.
const MOST_ROWS: usize = 500;
/// Maximum bars of the chart.
const MOST_BARS: usize = 120;
/// Maximum budgets with a chart.
const MOST_BUDGETS: usize = 24;

pub(super) async fn render(context: &PageContext<'_>) -> String {
    let sees = context.caller.sees();
    let mut view = UsageView {
        by: selected(context.parameter("by"), "model"),
        then: context.parameter("then"),
        since: selected(context.parameter("since"), "7d"),
        groups: groups(&sees),
        ..UsageView::default()
    };
    // A request with two tags is in two rows, so tags are not combined.
    if view.by == "tag" || view.then == "tag" {
        view.then.clear();
    }
    let by = match view.then.is_empty() || view.then == view.by {
        true => view.by.clone(),
        false => format!("{},{}", view.by, view.then),
    };
    let encode = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let query = format!("by={}&since={}", encode(&by), encode(&view.since));
    view.csv = format!("/api/usage?{query}&format=csv");
    let read = usage_report::read(context.server, context.state, &query, &sees);
    match read.await {
        Ok(report) => fill(&mut view, &report),
        Err(response) => view.problem = Some(reason(*response).await),
    }
    let report = budgets::read(context.server, context.state, &sees).await;
    let shown = report.budgets.iter().take(MOST_BUDGETS);
    view.budgets = shown.map(budget).collect();
    view.more_budgets = report.unlisted + report.budgets.len() - view.budgets.len();
    majordomo_page::usage(&context.frame(Screen::Usage), &view)
}

fn selected(value: String, default: &str) -> String {
    match value.is_empty() {
        true => default.to_owned(),
        false => value,
    }
}

/// Sums by tag cover all teams.
fn groups(sees: &Visible) -> Vec<&'static str> {
    let all = GroupBy::ALL.iter();
    let all = all.filter(|(_, group)| *group != GroupBy::Tag || *sees == Visible::All);
    all.map(|(name, _)| *name).collect()
}

/// The text of a refusal.
async fn reason(response: http::Response<super::OperatorBody>) -> String {
    use http_body_util::BodyExt;
    let body = response.into_body().collect().await;
    let text = body.map(|body| body.to_bytes()).unwrap_or_default();
    String::from_utf8_lossy(&text).trim().to_owned()
}

fn fill(view: &mut UsageView, report: &UsageReport) {
    let most = report.rows.iter().map(|row| row.sums.cost).max();
    let most = most.unwrap_or_default();
    let mut rows: Vec<&UsageRow> = report.rows.iter().collect();
    let over_time = |group: &GroupBy| matches!(group, GroupBy::Day | GroupBy::Hour);
    if !report.by.iter().any(over_time) {
        rows.sort_by_key(|row| std::cmp::Reverse((row.sums.cost, row.sums.requests)));
    }
    view.more_rows = rows.len().saturating_sub(MOST_ROWS);
    let shown = rows.into_iter().take(MOST_ROWS);
    view.rows = shown
        .map(|row| line(row.group.clone(), &row.sums, most))
        .collect();
    view.total = line(Vec::new(), &report.total, Cost::ZERO);
    let steps = report
        .course
        .steps(report.since_millis, report.until_millis, MOST_BARS);
    view.cost = steps
        .iter()
        .map(|(label, cost, _)| bar(label, cost.nanodollars() as f64, format!("${cost}")))
        .collect();
    view.requests = steps
        .iter()
        .map(|(label, _, requests)| bar(label, *requests as f64, format!("{requests} requests")))
        .collect();
    view.step = report.course.by.as_str();
    view.cache_savings =
        (report.cache_savings != Cost::ZERO).then(|| dollars(report.cache_savings));
    let unknown = report.unknown_prices.iter();
    view.unknown_prices = unknown
        .map(|unknown| (unknown.target.clone(), unknown.attempts))
        .collect();
}

fn bar(label: &str, value: f64, text: String) -> Bar {
    Bar {
        label: label.to_owned(),
        value,
        text,
    }
}

fn line(group: Vec<String>, sums: &UsageSums, most: Cost) -> UsageLine {
    let share = sums.cost.nanodollars().max(0) as f64 / most.nanodollars().max(1) as f64;
    let known = sums.attempts == 0 || sums.unpriced < sums.attempts;
    UsageLine {
        group,
        requests: sums.requests,
        attempts: sums.attempts,
        input: sums.input,
        cached: sums.cache_read,
        output: sums.output,
        cost: known.then(|| dollars(sums.cost)),
        exact_cost: known.then(|| dollars(sums.cost - sums.estimated_cost)),
        estimated_cost: (sums.estimated_cost != Cost::ZERO).then(|| dollars(sums.estimated_cost)),
        share: share.clamp(0.0, 1.0),
        estimated: sums.estimated,
        lost: sums.lost,
        unpriced: sums.unpriced,
    }
}

fn dollars(cost: Cost) -> String {
    match cost < Cost::ZERO {
        true => format!("-${}", -cost),
        false => format!("${cost}"),
    }
}

fn budget(report: &BudgetReport) -> BudgetView {
    let nano = |amount: u64| Cost::from_nanodollars(i64::try_from(amount).unwrap_or(i64::MAX));
    let limit = nano(report.limit_nanodollars);
    let used = report.used_nanodollars;
    let mut left = limit;
    let spent = report.spent.iter().map(|step| {
        left = left - Cost::from_nanodollars(step.nanodollars);
        let shown = left.max(Cost::ZERO);
        let text = format!("{} left", dollars(shown));
        bar(&step.at, shown.nanodollars() as f64, text)
    });
    let left_of = report
        .limit_nanodollars
        .saturating_sub(used + report.reserved_nanodollars);
    let pace = report.elapsed.filter(|elapsed| *elapsed > 0.01);
    let pace = pace.map(|elapsed| used as f64 / elapsed / report.limit_nanodollars.max(1) as f64);
    BudgetView {
        level: report.level.to_owned(),
        name: report.name.to_string(),
        window: report.window.to_owned(),
        limit: dollars(limit),
        used: dollars(nano(used)),
        reserved: (report.reserved_nanodollars > 0)
            .then(|| dollars(nano(report.reserved_nanodollars))),
        left: dollars(nano(left_of)),
        share: used as f64 / report.limit_nanodollars.max(1) as f64,
        resets: report.resets.clone(),
        // A chart that does not start with its window cannot burn down from the full budget.
        course: match report.since {
            Some(_) => spent.collect(),
            None => Vec::new(),
        },
        whole: limit.nanodollars() as f64,
        elapsed: report.elapsed,
        pace,
    }
}
