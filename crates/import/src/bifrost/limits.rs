//! Budgets and rates of virtual keys and teams.

use crate::credentials::window;
use crate::draft::{DraftLimits, dollars};
use crate::source::Field;

/// Budget and rates that an entry refers to or contains. A budget may also refer to its
/// entry, by this key.
pub(super) fn limits(
    entry: &Field<'_>,
    back: &str,
    budgets: &[Field<'_>],
    rates: &[Field<'_>],
) -> DraftLimits {
    let mut limits = DraftLimits::default();
    let referred = |key: &str, list: &[Field<'_>]| -> Option<usize> {
        let field = entry.get(key)?;
        let id = field.text();
        let at = list.iter().position(|it| {
            let known = it.get("id");
            id.is_some() && known.as_ref().and_then(Field::text) == id
        });
        match at {
            Some(_) => field.mapped("its limits are here"),
            None => field.skipped("the file has no such entry"),
        }
        at
    };
    let inline = entry
        .get("budget")
        .into_iter()
        .chain(entry.get("budgets").into_iter().flat_map(|it| it.items()));
    let budget = referred("budget_id", budgets).map(|at| budgets[at].clone());
    let own = entry.get("id");
    let own = own.as_ref().and_then(Field::text);
    let referring = budgets.iter().filter(|budget| {
        let owner = budget.get(back);
        let owner = owner.filter(|it| own.is_some() && it.text() == own);
        owner
            .inspect(|it| it.mapped("its limits are there"))
            .is_some()
    });
    let referring = referring.cloned();
    for budget in budget.into_iter().chain(inline).chain(referring) {
        let time = budget.get("reset_duration");
        let window = time.as_ref().and_then(Field::text).and_then(window);
        let most = budget.get("max_limit");
        let amount = most
            .as_ref()
            .and_then(Field::number)
            .and_then(|amount| dollars(amount, 2));
        if let (Some(window), Some(amount)) = (window, amount)
            && limits.budget.is_none()
        {
            limits.budget = Some((window, amount));
            most.iter()
                .chain(&time)
                .for_each(|field| field.mapped("budget"));
        } else {
            let parts = most.iter().chain(&time);
            parts.for_each(|field| field.skipped("majordomo has budgets per day, week or month"));
        }
    }
    let rate = referred("rate_limit_id", rates).map(|at| rates[at].clone());
    for rate in rate.into_iter().chain(entry.get("rate_limit")) {
        for (most, time, place) in [
            (
                "request_max_limit",
                "request_reset_duration",
                &mut limits.requests_per_minute,
            ),
            (
                "token_max_limit",
                "token_reset_duration",
                &mut limits.tokens_per_minute,
            ),
        ] {
            let (Some(most), time) = (rate.get(most), rate.get(time)) else {
                continue;
            };
            let minutes = time.as_ref().and_then(Field::text).and_then(minutes);
            let is_rate_of_tokens = most.path.ends_with("token_max_limit");
            match (most.number(), minutes) {
                // A request is charged for all its tokens at once: in a minute's share of an
                // hour, few would ever fit.
                (Some(_), Some(minutes)) if is_rate_of_tokens && minutes > 1.0 => {
                    for field in [Some(&most), time.as_ref()].into_iter().flatten() {
                        field
                            .skipped("tokens are limited per minute; a budget limits longer times");
                    }
                }
                (Some(number), Some(minutes)) => {
                    let per_minute = (number / minutes).ceil().clamp(1.0, f64::from(u32::MAX));
                    *place = Some(per_minute as u32);
                    let fields = [Some(&most), time.as_ref()].into_iter().flatten();
                    match minutes == 1.0 {
                        true => fields.for_each(|field| field.mapped("limits per minute")),
                        false => {
                            fields.for_each(|field| field.approximated("the same rate per minute"))
                        }
                    }
                }
                _ => most.unusable("a number with a duration"),
            }
        }
    }
    limits
}

/// A duration in minutes.
fn minutes(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: f64 = digits.parse().ok().filter(|number| *number > 0.0)?;
    let unit = match &text[digits.len()..] {
        "s" => 1.0 / 60.0,
        "m" => 1.0,
        "h" => 60.0,
        "d" => 1_440.0,
        "w" => 10_080.0,
        _ => return None,
    };
    Some(number * unit)
}
