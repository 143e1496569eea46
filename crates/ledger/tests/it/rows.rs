//! Rows for tests.

use std::sync::Arc;

use majordomo_ledger::{
    AttemptKind, AttemptRow, Cost, Day, FinishedRow, LedgerEntry, OpenAttempt, PriceCard,
    PriceOverride, Quantities, RequestId, RequestRow, SettleClass, UsageQuery,
};

/// Noon of 17 November 2026, UTC.
pub(crate) const NOON: i64 = 1_794_916_800_000;

pub(crate) fn card(input: &str, output: &str) -> PriceCard {
    let price = PriceOverride {
        input: Some(input.to_owned()),
        output: Some(output.to_owned()),
        ..PriceOverride::default()
    };
    price.card().unwrap()
}

pub(crate) fn attempt(number: u16, target: &str, input: u64, output: u64) -> AttemptRow {
    let row = AttemptRow {
        number,
        kind: AttemptKind::Answer,
        target: target.into(),
        price: None,
        used: Quantities {
            input,
            output,
            ..Quantities::default()
        },
        cost: None,
        reported_cost: None,
        settle: SettleClass::Reported,
        failure: None,
    };
    row.priced(Some(&card("1", "10")))
}

pub(crate) fn finished(id: RequestId, key: &str, attempts: Vec<AttemptRow>) -> FinishedRow {
    FinishedRow {
        request: RequestRow {
            id,
            key: Some(key.into()),
            team: Some("search".into()),
            user: None,
            tags: Vec::new(),
            dialect: "chat".into(),
            route: Some("coder".into()),
            rule: None,
            model: "coder".into(),
            outcome: "complete".into(),
            status: 200,
            duration_ms: 1_234,
            first_token_ms: Some(200),
        },
        attempts,
    }
}

/// A request at `NOON` + `at` milliseconds with one attempt of 100 and 10 tokens.
pub(crate) fn simple(at: i64, random: u128, key: &str) -> LedgerEntry {
    let id = RequestId::new(NOON + at, random);
    LedgerEntry::Finished(finished(id, key, vec![attempt(1, "up/m", 100, 10)]))
}

/// The cost of an attempt of [`simple`].
pub(crate) const SIMPLE_COST: Cost = Cost::from_nanodollars(100 * 1_000 + 10 * 10_000);

pub(crate) fn opened(id: RequestId, number: u16) -> LedgerEntry {
    LedgerEntry::Opened(OpenAttempt {
        request: id,
        number,
        kind: AttemptKind::Answer,
        target: "up/m".into(),
        key: Some(Arc::from("laptop")),
        team: None,
        model: "coder".into(),
        input_estimate: 500,
        cost_if_lost: Some(Cost::from_nanodollars(500_000)),
    })
}

/// Everything around `NOON`, as a total.
pub(crate) fn all() -> UsageQuery {
    let day = Day::of_millis(NOON);
    UsageQuery {
        since_millis: day.minus(400).start_millis(),
        until_millis: day.minus(-400).start_millis(),
        by: Vec::new(),
        utc_offset_minutes: 0,
        as_recorded: false,
    }
}
