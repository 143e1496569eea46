//! A budget as a card: what is left of it, its course, and whether it lasts.

use maud::{Markup, html};

use crate::chart::{self, Bar};

/// A budget in its current window.
#[derive(Clone, Debug, Default)]
pub struct BudgetView {
    /// `global`, `team` or `key`.
    pub level: String,
    /// Of the team or the key.
    pub name: String,
    /// `day`, `week`, `month` or `total`.
    pub window: String,
    /// The amount.
    pub limit: String,
    /// What is settled.
    pub used: String,
    /// What running requests reserve.
    pub reserved: Option<String>,
    /// What is left.
    pub left: String,
    /// The used part, from 0; may exceed 1.
    pub share: f64,
    /// When the window ends.
    pub resets: Option<String>,
    /// What was left after each step.
    pub course: Vec<Bar>,
    /// The value of a bar of full height.
    pub whole: f64,
    /// How much of the window is over, from 0 to 1.
    pub elapsed: Option<f64>,
    /// The part that is used at the end of the window at this pace.
    pub pace: Option<f64>,
}

/// Renders the card.
pub(crate) fn card(budget: &BudgetView) -> Markup {
    let state = match budget.share {
        share if share >= 1.0 => "failed",
        share if share >= 0.8 => "running",
        _ => "complete",
    };
    html! {
        article.card.budget {
            h3 {
                @match budget.level.as_str() {
                    "global" => "everyone",
                    level => { (level) " " bdi { (budget.name) } },
                }
                ", per " (budget.window)
            }
            p {
                strong { (budget.left) } " left of " (budget.limit) " "
                span class={ "badge " (state) } { (format!("{:.0} % used", budget.share * 100.0)) }
            }
            @if !budget.course.is_empty() {
                (chart::burn_down("Left over time", &budget.used, &budget.course, budget.whole, budget.elapsed))
            }
            p.hint {
                (budget.used) " used"
                @if let Some(reserved) = &budget.reserved { ", " (reserved) " reserved by running requests" }
                @if let Some(resets) = &budget.resets {
                    "; resets " time.full datetime=(resets) { (resets) }
                }
                @if let Some(pace) = budget.pace {
                    @if pace > 1.0 {
                        span.bad { ". At this pace it is exhausted before that." }
                    } @else {
                        (format!(". At this pace {:.0} % will be used by then.", pace * 100.0))
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_says_whether_it_lasts() {
        let mut budget = BudgetView {
            level: "team".to_owned(),
            name: "search".to_owned(),
            window: "month".to_owned(),
            share: 0.5,
            pace: Some(0.8),
            ..BudgetView::default()
        };
        assert!(
            card(&budget)
                .into_string()
                .contains("80 % will be used by then")
        );
        budget.pace = Some(1.2);
        assert!(
            card(&budget)
                .into_string()
                .contains("exhausted before that")
        );
    }
}
