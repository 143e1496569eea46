//! `limits`, `budget`, `when_exhausted` and `unpriced`, in every section that has them:
//! `[limits]` for everyone, teams, keys and `[end_users]`.

use std::num::NonZeroU64;
use std::sync::Arc;

use majordomo::dsn::SecretString;
use majordomo_ledger::Cost;
use majordomo_limits::{
    BudgetLimits, BudgetWindow, LimitPolicy, Nanodollars, TrafficLimits, UnpricedPolicy,
    WhenExhausted,
};

use super::Config;
use super::reader::{ConfigField, Section};

const BUDGET_HINT: &str = "write an amount per window: `budget = { day = \"5 USD\" }`";
const EXHAUSTED_HINT: &str = "write \"refuse\", \"clamp\", \"warn\" or \"spec:<cheaper spec>\"";

/// `[limits]`: the limits of everyone, and settings of budgets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LimitSettings {
    /// The limits of all clients together.
    pub everyone: Arc<LimitPolicy>,
    /// The limits of each end user, from `[end_users]`.
    pub end_users: Arc<LimitPolicy>,
    /// The time zone of budget windows; UTC by default.
    pub time_zone: jiff::tz::TimeZone,
    /// Output tokens to reserve and request for a request without a maximum, if a strict
    /// budget applies.
    pub reserve_output: u64,
    /// The webhook for alerts.
    pub alerts: Option<AlertSettings>,
}

/// The webhook for alerts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AlertSettings {
    /// The address.
    pub url: String,
    /// Signs the body.
    pub secret: SecretString,
}

impl Config {
    /// Whether money is limited anywhere.
    pub(crate) fn has_budgets(&self) -> bool {
        let keys = self.keys.iter().map(|key| &key.limits);
        let teams = self.teams.iter().map(|team| &team.limits);
        let others = [&self.limits.everyone, &self.limits.end_users];
        let mut all = keys.chain(teams).chain(others);
        all.any(|policy| !policy.budget.is_empty())
    }
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            everyone: Arc::default(),
            end_users: Arc::default(),
            time_zone: jiff::tz::TimeZone::UTC,
            reserve_output: 8_192,
            alerts: None,
        }
    }
}

pub(super) fn read_limits(mut section: Section<'_>) -> LimitSettings {
    let mut everyone = read_money(&mut section);
    everyone.traffic = read_traffic(&mut section);
    let mut settings = LimitSettings {
        everyone: everyone.into(),
        ..LimitSettings::default()
    };
    if let Some(field) = section.take("time_zone")
        && let Some(text) = field.non_empty()
    {
        match jiff::tz::TimeZone::get(&text.value) {
            Ok(zone) => settings.time_zone = zone,
            Err(_) => field.report(
                format!("{} is not a time zone", text.shown()),
                "write an IANA name such as \"Europe/Berlin\"",
            ),
        }
    }
    if let Some(most) = section.number("reserve_output", 1, 10_000_000) {
        settings.reserve_output = most;
    }
    let alerts = section.take("alerts");
    let alerts = alerts.and_then(|field| field.section("[limits.alerts]"));
    settings.alerts = alerts.and_then(read_alerts);
    section.finish();
    settings
}

pub(super) fn read_end_users(mut section: Section<'_>) -> Arc<LimitPolicy> {
    let policy = read_policy(&mut section);
    section.finish();
    policy.into()
}

fn read_alerts(mut section: Section<'_>) -> Option<AlertSettings> {
    let url = section.require("url", "name the webhook: `url = \"https://…\"`");
    let secret = section.require("secret", "it signs alerts: `secret = \"${ALERT_SECRET}\"`");
    let url = url.and_then(|field| {
        let text = field.non_empty()?;
        let uri = text.value.parse::<http::Uri>().ok();
        let http = uri.is_some_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
        if !http {
            field.report("`url` is not an http address", "write `https://host/path`");
        }
        http.then_some(text.value)
    });
    let secret = secret.and_then(|field| {
        if field.is_literal() {
            section.reader.note_secret();
        }
        field.secret()
    });
    section.finish();
    Some(AlertSettings {
        url: url?,
        secret: secret?,
    })
}

/// Takes the limits of one level from its section.
pub(super) fn read_policy(section: &mut Section<'_>) -> LimitPolicy {
    let hint = "write it as `limits = { requests_per_minute = 60 }`";
    let traffic = section.take("limits");
    let traffic = traffic.and_then(|field| field.section_or("`limits`", hint));
    let mut policy = read_money(section);
    if let Some(mut traffic) = traffic {
        policy.traffic = read_traffic(&mut traffic);
        traffic.finish();
    }
    policy
}

/// Takes `budget`, `when_exhausted` and `unpriced`.
pub(super) fn read_money(section: &mut Section<'_>) -> LimitPolicy {
    let budget = section.take("budget");
    let budget = budget.and_then(|field| field.section_or("`budget`", BUDGET_HINT));
    let when = section.take("when_exhausted");
    let when = when.and_then(|field| {
        let text = field.text()?;
        let parsed = WhenExhausted::parse(&text.value);
        if parsed.is_none() {
            let message = format!("{} is not a value of `when_exhausted`", text.shown());
            field.report(message, EXHAUSTED_HINT);
        }
        parsed
    });
    let unpriced = section.take("unpriced");
    let unpriced = unpriced.and_then(|field| {
        field.choice(&[
            ("refuse", UnpricedPolicy::Refuse),
            ("allow", UnpricedPolicy::Allow),
        ])
    });
    LimitPolicy {
        traffic: TrafficLimits::default(),
        budget: budget.map(read_budget).unwrap_or_default(),
        when_exhausted: when.unwrap_or_default(),
        unpriced: unpriced.unwrap_or_default(),
    }
}

/// Takes the rates and the concurrency.
pub(super) fn read_traffic(section: &mut Section<'_>) -> TrafficLimits {
    let mut number = |key| {
        let number = section.number(key, 1, u64::from(u32::MAX));
        number.and_then(NonZeroU64::new)
    };
    TrafficLimits {
        requests_per_minute: number("requests_per_minute"),
        tokens_per_minute: number("tokens_per_minute"),
        concurrent: number("concurrent"),
        queue: section.duration("queue"),
    }
}

fn read_budget(mut section: Section<'_>) -> BudgetLimits {
    let mut budget = BudgetLimits::default();
    for window in BudgetWindow::ALL {
        if let Some(field) = section.take(window.name()) {
            *budget.of_mut(window) = read_amount(&field);
        }
    }
    section.finish();
    budget
}

/// An amount such as `5 USD`.
fn read_amount(field: &ConfigField<'_>) -> Option<Nanodollars> {
    let text = field.text()?;
    let digits = text.value.trim().strip_suffix("USD").map(str::trim_end);
    let Some(digits) = digits else {
        let message = format!("{} is not an amount of US dollars", text.shown());
        field.report(message, BUDGET_HINT);
        return None;
    };
    match Cost::parse_usd(digits) {
        Ok(cost) => Some(Nanodollars(u64::try_from(cost.nanodollars()).unwrap_or(0))),
        Err(error) => {
            field.report(error.to_string(), BUDGET_HINT);
            None
        }
    }
}
