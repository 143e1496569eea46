//! Usage and cost by group, over time, and budgets with their burn-down.

use maud::{Markup, html};

use crate::Frame;
use crate::budget::{self, BudgetView};
use crate::chart::{self, Bar};
use crate::figures::{count, counted, percent};

/// Ranges to choose from.
const RANGES: [(&str, &str); 5] = [
    ("24h", "last 24 hours"),
    ("7d", "last 7 days"),
    ("30d", "last 30 days"),
    ("90d", "last 90 days"),
    ("365d", "last year"),
];

/// A report.
#[derive(Clone, Debug, Default)]
pub struct UsageView {
    /// The group of the rows.
    pub by: String,
    /// The group within it; empty for none.
    pub then: String,
    /// The range, such as `7d` or a date.
    pub since: String,
    /// Groups to choose from.
    pub groups: Vec<&'static str>,
    /// The path of the rows as CSV.
    pub csv: String,
    /// Why there is no report.
    pub problem: Option<String>,
    /// The rows.
    pub rows: Vec<UsageLine>,
    /// The number of rows that are not shown.
    pub more_rows: usize,
    /// The sums of all.
    pub total: UsageLine,
    /// Cost over time.
    pub cost: Vec<Bar>,
    /// Requests over time.
    pub requests: Vec<Bar>,
    /// `hour` or `day`.
    pub step: &'static str,
    /// The additional cost of cached input without the cache.
    pub cache_savings: Option<String>,
    /// Targets without a price, with the number of attempts of each.
    pub unknown_prices: Vec<(String, u64)>,
    /// Budgets in their current windows.
    pub budgets: Vec<BudgetView>,
    /// The number of budgets that are not shown.
    pub more_budgets: usize,
}

/// The totals of a group.
#[derive(Clone, Debug, Default)]
pub struct UsageLine {
    /// The values of the groups.
    pub group: Vec<String>,
    /// Requests that reached a provider.
    pub requests: u64,
    /// Attempts sent.
    pub attempts: u64,
    /// Input tokens.
    pub input: u64,
    /// The part read from a cache.
    pub cached: u64,
    /// Output tokens.
    pub output: u64,
    /// The cost with its currency; `None` if no price is known.
    pub cost: Option<String>,
    /// Of this, what providers counted.
    pub exact_cost: Option<String>,
    /// Of this, what the gateway estimated; `None` if nothing is.
    pub estimated_cost: Option<String>,
    /// The cost as a part of the highest one, from 0 to 1.
    pub share: f64,
    /// Attempts that the gateway counted itself.
    pub estimated: u64,
    /// Attempts that were open when the process ended.
    pub lost: u64,
    /// Attempts without a known price, which are not in the cost.
    pub unpriced: u64,
}

/// Renders usage and budgets.
pub fn usage(frame: &Frame, view: &UsageView) -> String {
    let content = html! {
        h1 { "Usage" }
        (controls(view))
        @if let Some(problem) = &view.problem {
            div.empty {
                h2 { "No report" }
                p { (problem) }
            }
        } @else {
            (summary(view))
            (table(view))
            @if !view.unknown_prices.is_empty() { (unknown_prices(view)) }
        }
        section {
            h2 { "Budgets" }
            @if view.budgets.is_empty() {
                p.hint {
                    "No key and no team has a budget. " code { "budget = { month = \"50 USD\" }" }
                    " in its entry sets one."
                }
            }
            div.cards.tight { @for shown in &view.budgets { (budget::card(shown)) } }
            @if view.more_budgets > 0 {
                p.hint {
                    (counted(view.more_budgets as u64, "more budget is", "more budgets are"))
                    " not shown; " code { "/api/budgets" } " has them."
                }
            }
        }
    };
    frame.document("Usage", &content)
}

fn controls(view: &UsageView) -> Markup {
    let known = RANGES.iter().any(|(value, _)| *value == view.since);
    html! {
        form.controls method="get" action="/usage" {
            label for="by" { "Group by" }
            select #by name="by" {
                @for group in &view.groups {
                    option value=(group) selected[view.by == *group] { (group) }
                }
            }
            label for="then" { "then by" }
            select #then name="then" {
                option value="" { "nothing" }
                // A request with two tags is in two rows, so tags are not combined.
                @for group in view.groups.iter().filter(|group| **group != "tag") {
                    option value=(group) selected[view.then == *group] { (group) }
                }
            }
            label for="since" { "Range" }
            select #since name="since" {
                @for (value, name) in RANGES {
                    option value=(value) selected[view.since == value] { (name) }
                }
                @if !known { option value=(view.since) selected { "since " (view.since) } }
            }
            button type="submit" { "Show" }
            a.button.total href=(view.csv) download="usage.csv" { "CSV" }
        }
    }
}

fn summary(view: &UsageView) -> Markup {
    let total = &view.total;
    let exact = total.attempts.saturating_sub(total.estimated + total.lost);
    let span = format!("by {} (UTC)", view.step);
    html! {
        section.charts aria-label="Over time" {
            (chart::bars("cost", &format!("Cost {span}"), &amount(total), &view.cost))
            (chart::bars("requests", &format!("Requests {span}"), &count(total.requests), &view.requests))
        }
        dl.stats {
            div { dt { "Cost" } dd #total-cost { (amount(total)) } }
            div {
                dt { "Counted by the provider" }
                dd #exact-cost { (cost(&total.exact_cost)) }
                dd.hint { (counted(exact, "attempt", "attempts")) }
            }
            div {
                dt { "Estimated" }
                dd #estimated-cost { (cost(&total.estimated_cost)) }
                dd.hint {
                    (counted(total.estimated, "attempt", "attempts"))
                    @if total.lost > 0 { ", " (count(total.lost)) " lost in a crash" }
                }
            }
            div {
                dt { "Price unknown" }
                dd { @if total.unpriced > 0 { "unknown" } @else { "–" } }
                dd.hint { (counted(total.unpriced, "attempt", "attempts")) }
            }
            div {
                dt { "Input tokens" }
                dd { (count(total.input)) }
                dd.hint {
                    (count(total.cached)) " cached"
                    @if let Some(share) = percent(total.cached, total.input) { " (" (share) ")" }
                }
            }
            div { dt { "Output tokens" } dd { (count(total.output)) } }
            @if let Some(savings) = &view.cache_savings {
                div {
                    dt { "Saved by caching" }
                    dd { (savings) }
                    dd.hint { "at today's prices" }
                }
            }
        }
    }
}

/// A part of the cost, if there is one.
fn cost(part: &Option<String>) -> &str {
    part.as_deref().unwrap_or("–")
}

/// The cost, and that some of it is unknown.
fn amount(line: &UsageLine) -> String {
    match (&line.cost, line.unpriced) {
        (Some(cost), 0) => cost.clone(),
        (Some(cost), _) => format!("{cost} + unknown"),
        (None, _) => "unknown".to_owned(),
    }
}

fn table(view: &UsageView) -> Markup {
    let groups: Vec<&str> = match view.then.is_empty() || view.then == view.by {
        true => vec![&view.by],
        false => vec![&view.by, &view.then],
    };
    html! {
        section aria-label="Rows" {
            @if view.rows.is_empty() {
                div.empty {
                    h2 { "Nothing was used in this range" }
                    p.hint { a href="/connect" { "Connect a client" } ", or choose a longer range." }
                }
            } @else {
                div.scroll tabindex="0" role="region" aria-label="Usage" {
                    table.usage {
                        thead {
                            tr {
                                @for group in &groups { th scope="col" { (group) } }
                                th.number scope="col" { "Requests" }
                                th.number scope="col" { "Input" }
                                th.number scope="col" { "Cached" }
                                th.number scope="col" { "Output" }
                                th.number scope="col" { "Cost" }
                                th scope="col" { span.visually-hidden { "Share of the highest cost" } }
                                th.number scope="col" { "of it estimated" }
                                th.number scope="col" { "No price" }
                            }
                        }
                        tbody { @for line in &view.rows { (row(line)) } }
                    }
                }
                @if view.more_rows > 0 {
                    p.hint {
                        (counted(view.more_rows as u64, "more row is", "more rows are"))
                        " not shown; the CSV has all."
                    }
                }
            }
        }
    }
}

fn row(line: &UsageLine) -> Markup {
    let name = |value: &str| match value.is_empty() {
        true => html! { span.hint { "none" } },
        false => html! { bdi { (value) } },
    };
    html! {
        tr {
            @for (index, value) in line.group.iter().enumerate() {
                @if index == 0 { th scope="row" { (name(value)) } } @else { td { (name(value)) } }
            }
            td.number { (count(line.requests)) }
            td.number { (count(line.input)) }
            td.number { (count(line.cached)) }
            td.number { (count(line.output)) }
            td.number { (amount(line)) }
            td.share { (chart::share(line.share)) }
            td.number title=(counted(line.estimated + line.lost, "attempt", "attempts")) {
                (cost(&line.estimated_cost))
            }
            td.number { (count(line.unpriced)) }
        }
    }
}

fn unknown_prices(view: &UsageView) -> Markup {
    html! {
        section {
            h2 { "Prices that are unknown" }
            p {
                "What these targets cost is not in the sums. " code { "[prices.\"provider/model\"]" }
                " in the configuration sets a price, and " code { "majordomo ledger reprice" }
                " applies it to what was recorded."
            }
            ul.plain {
                @for (target, attempts) in &view.unknown_prices {
                    li {
                        code { bdi { (target) } } " "
                        span.hint { (counted(*attempts, "attempt", "attempts")) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Screen;

    fn line(group: &str, cost: Option<&str>, unpriced: u64) -> UsageLine {
        UsageLine {
            group: vec![group.to_owned()],
            cost: cost.map(str::to_owned),
            attempts: 10,
            estimated: 3,
            unpriced,
            ..UsageLine::default()
        }
    }

    #[test]
    fn known_estimated_and_unknown_amounts_are_apart() {
        let view = UsageView {
            by: "model".to_owned(),
            rows: vec![
                line("a/known", Some("$1.50"), 0),
                line("b/partly", Some("$0.50"), 4),
                line("c/unknown", None, 10),
            ],
            total: UsageLine {
                exact_cost: Some("$1.25".to_owned()),
                estimated_cost: Some("$0.75".to_owned()),
                ..line("", Some("$2.00"), 14)
            },
            unknown_prices: vec![("c/unknown".to_owned(), 10)],
            ..UsageView::default()
        };
        let html = usage(&Frame::new(Screen::Usage, "1"), &view);
        for text in [
            ">$1.50</td>",
            ">$0.50 + unknown</td>",
            ">unknown</td>",
            "id=\"exact-cost\">$1.25</dd><dd class=\"hint\">7 attempts",
            "id=\"estimated-cost\">$0.75</dd><dd class=\"hint\">3 attempts",
            "unknown</dd><dd class=\"hint\">14 attempts",
            "Prices that are unknown",
        ] {
            assert!(html.contains(text), "{text} in {html}");
        }
    }
}
