//! The limits of a level (everyone, a team, a key, an end user), as configured: plain data.
//!
//! Money is whole nanodollars; `None` means unlimited. Knows no other module.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// An amount of money in nanodollars. Arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanodollars(pub u64);

impl Nanodollars {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// More than any budget.
    pub const MAX: Self = Self(u64::MAX);

    /// The sum.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or zero if it would be negative.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// Rates and concurrency: `limits = { … }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficLimits {
    /// Requests per minute, with a burst of a sixth.
    pub requests_per_minute: Option<NonZeroU64>,
    /// Tokens per minute, input and output, with a burst of the whole.
    pub tokens_per_minute: Option<NonZeroU64>,
    /// Concurrent requests.
    pub concurrent: Option<NonZeroU64>,
    /// How long a request waits for its turn; `None` for the default of
    /// [`DEFAULT_QUEUE`](Self::DEFAULT_QUEUE), zero to refuse at once.
    pub queue: Option<Duration>,
}

impl TrafficLimits {
    /// How long requests wait if no time is configured.
    pub const DEFAULT_QUEUE: Duration = Duration::from_secs(5);
}

/// A calendar window of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BudgetWindow {
    /// A calendar day.
    Day,
    /// A week, from Monday.
    Week,
    /// A calendar month.
    Month,
    /// For ever.
    Total,
}

impl BudgetWindow {
    /// All windows, shortest first.
    pub const ALL: [Self; 4] = [Self::Day, Self::Week, Self::Month, Self::Total];

    /// The name in configurations, such as `day`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Total => "total",
        }
    }
}

/// Money per calendar window: `budget = { … }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetLimits {
    /// Per day.
    pub day: Option<Nanodollars>,
    /// Per week.
    pub week: Option<Nanodollars>,
    /// Per month.
    pub month: Option<Nanodollars>,
    /// In all.
    pub total: Option<Nanodollars>,
}

impl BudgetLimits {
    /// The limit of a window.
    pub const fn of(&self, window: BudgetWindow) -> Option<Nanodollars> {
        match window {
            BudgetWindow::Day => self.day,
            BudgetWindow::Week => self.week,
            BudgetWindow::Month => self.month,
            BudgetWindow::Total => self.total,
        }
    }

    /// A mutable reference to the limit of a window.
    pub const fn of_mut(&mut self, window: BudgetWindow) -> &mut Option<Nanodollars> {
        match window {
            BudgetWindow::Day => &mut self.day,
            BudgetWindow::Week => &mut self.week,
            BudgetWindow::Month => &mut self.month,
            BudgetWindow::Total => &mut self.total,
        }
    }

    /// Whether no window is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The action on a request that a budget does not cover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenExhausted {
    /// It is refused.
    #[default]
    Refuse,
    /// Its output is limited to the remaining budget; if none is left, it is refused.
    Clamp,
    /// It goes to this cheaper spec.
    Spec(Arc<str>),
    /// It is served and marked.
    Warn,
}

impl WhenExhausted {
    /// Parses `refuse`, `clamp`, `warn` or `spec:<spec>`.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "refuse" => Self::Refuse,
            "clamp" => Self::Clamp,
            "warn" => Self::Warn,
            other => {
                let spec = other.strip_prefix("spec:")?.trim();
                if spec.is_empty() {
                    return None;
                }
                Self::Spec(spec.into())
            }
        })
    }
}

/// The action on a request of unknown price if a budget applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnpricedPolicy {
    /// It is refused: an unknown price is not zero.
    #[default]
    Refuse,
    /// It is served and not counted.
    Allow,
}

/// Everything that is configured for one level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitPolicy {
    /// Rates and concurrency.
    pub traffic: TrafficLimits,
    /// Money.
    pub budget: BudgetLimits,
    /// The action when the budget is spent.
    pub when_exhausted: WhenExhausted,
    /// The action if a price is unknown.
    pub unpriced: UnpricedPolicy,
}

impl LimitPolicy {
    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        let TrafficLimits {
            requests_per_minute,
            tokens_per_minute,
            concurrent,
            queue: _,
        } = self.traffic;
        let traffic = [requests_per_minute, tokens_per_minute, concurrent];
        traffic.iter().all(Option::is_none) && self.budget.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reaction_to_an_empty_budget_is_a_word_or_a_spec() {
        let spec = |text: &str| Some(WhenExhausted::Spec(text.into()));
        for (text, parsed) in [
            ("refuse", Some(WhenExhausted::Refuse)),
            ("clamp", Some(WhenExhausted::Clamp)),
            ("warn", Some(WhenExhausted::Warn)),
            ("spec:demo/text, cheap", spec("demo/text, cheap")),
            ("spec: cheap", spec("cheap")),
            ("spec:", None),
            ("Refuse", None),
            ("", None),
        ] {
            assert_eq!(WhenExhausted::parse(text), parsed, "{text}");
        }
    }
}
