//! Requests, errors and cost of the last hour, by minute.

use maud::{Markup, html};

use crate::chart::{self, Bar};

/// The figures above the live feed.
#[derive(Clone, Debug, Default)]
pub struct LastHour {
    /// Requests per minute.
    pub requests: Vec<Bar>,
    /// Failed requests per minute.
    pub errors: Vec<Bar>,
    /// Cost per minute.
    pub cost: Vec<Bar>,
    /// The sums of requests, errors and cost.
    pub totals: [String; 3],
}

/// Renders only the figures, for a page that is already open.
pub fn last_hour(hour: &LastHour) -> String {
    charts(hour).into_string()
}

pub(crate) fn charts(hour: &LastHour) -> Markup {
    html! {
        (chart::bars("requests", "Requests, last hour", &hour.totals[0], &hour.requests))
        (chart::bars("errors", "Errors, last hour", &hour.totals[1], &hour.errors))
        (chart::bars("cost", "Cost, last hour", &hour.totals[2], &hour.cost))
    }
}
