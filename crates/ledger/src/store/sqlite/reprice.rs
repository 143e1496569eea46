//! Prices past attempts anew, by compensating rows.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::params;

use crate::civil::Day;
use crate::money::Cost;
use crate::quantities::Quantities;
use crate::report::{RepriceReport, RepriceSubject};
use crate::request_id::RequestId;
use crate::rows::{PriceRef, SettleClass};
use crate::store::{RepriceFn, StoreError};

use super::SqliteStore;
use super::connection::at;
use super::day_file::{DayFile, restored};

/// An attempt and what it counts for now.
struct PastAttempt {
    request: RequestId,
    number: i64,
    target: i64,
    used: Quantities,
    charged: Option<Cost>,
}

impl SqliteStore {
    /// Corrects the rows of the range, day by day.
    pub(super) fn reprice_rows(
        &mut self,
        since: i64,
        until: i64,
        made: i64,
        price: &mut RepriceFn<'_>,
    ) -> Result<RepriceReport, StoreError> {
        let mut report = RepriceReport::default();
        for day in self.stored_days()? {
            if day < Day::of_millis(since) || day.start_millis() >= until {
                continue;
            }
            let file = self.day(day)?;
            let path = file.path.clone();
            let result = reprice_day(file, [since, until], made, price, &mut report);
            if result.is_err() {
                // Ends a transaction that was left open.
                self.days.retain(|(open, _)| *open != day);
            }
            result.map_err(at(&path))?;
            self.roll_up(day, None)?;
        }
        Ok(report)
    }
}

fn reprice_day(
    file: &mut DayFile,
    range: [i64; 2],
    made: i64,
    price: &mut RepriceFn<'_>,
    report: &mut RepriceReport,
) -> rusqlite::Result<()> {
    let names = file.names()?;
    let attempts = past_attempts(file, range)?;
    file.db.execute_batch("BEGIN IMMEDIATE")?;
    let mut remembered: HashMap<i64, Arc<str>> = HashMap::new();
    for attempt in attempts {
        report.attempts += 1;
        let name = || names.get(&attempt.target).map_or("", String::as_str).into();
        let target = remembered.entry(attempt.target).or_insert_with(name);
        let subject = RepriceSubject {
            target: Arc::clone(target),
            at_millis: attempt.request.millis(),
        };
        let priced = price(&subject).and_then(|card| Some((card.cost(&attempt.used)?, card)));
        let Some((cost, card)) = priced else {
            report.unpriced += u64::from(attempt.charged.is_none());
            continue;
        };
        let difference = cost - attempt.charged.unwrap_or_default();
        if difference == Cost::ZERO && attempt.charged.is_some() {
            continue;
        }
        let price = file.price_id(&PriceRef::from(&*card))?;
        let mut insert = file.db.prepare_cached(
            "INSERT OR IGNORE INTO correction
                 (request, number, made, price, difference, was_unpriced)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let inserted = insert.execute(params![
            attempt.request.bytes(),
            attempt.number,
            made,
            price,
            difference.nanodollars(),
            attempt.charged.is_none(),
        ])?;
        report.corrected += inserted as u64;
        report.difference += difference;
    }
    file.db.execute_batch("COMMIT")
}

/// Attempts that have a price of ours: not those that were free, or whose upstream reported
/// its own cost.
fn past_attempts(file: &DayFile, [since, until]: [i64; 2]) -> rusqlite::Result<Vec<PastAttempt>> {
    let mut select = file.db.prepare(
        "SELECT request, number, target, input, cache_read, cache_write_5m, cache_write_1h,
                image_input, output, reasoning, images, cost,
                (SELECT sum(difference) FROM correction c
                 WHERE c.request = a.request AND c.number = a.number)
         FROM attempt a
         WHERE request >= ?1 AND request < ?2 AND reported_cost IS NULL AND settle != ?3",
    )?;
    let range = [since, until].map(|millis| RequestId::first_at(millis).bytes());
    let free = SettleClass::Free.number();
    let rows = select.query_map(params![range[0], range[1], free], |row| {
        let count = |index| row.get::<_, i64>(index).map(restored);
        let cost: Option<i64> = row.get(11)?;
        let corrected: Option<i64> = row.get(12)?;
        let charged = match (cost, corrected) {
            (None, None) => None,
            (cost, corrected) => Some(cost.unwrap_or(0).saturating_add(corrected.unwrap_or(0))),
        };
        Ok(PastAttempt {
            request: RequestId::from_bytes(row.get(0)?),
            number: row.get(1)?,
            target: row.get(2)?,
            used: Quantities {
                input: count(3)?,
                cache_read: count(4)?,
                cache_write_5m: count(5)?,
                cache_write_1h: count(6)?,
                image_input: count(7)?,
                output: count(8)?,
                reasoning: count(9)?,
                images: count(10)?,
            },
            charged: charged.map(Cost::from_nanodollars),
        })
    })?;
    rows.collect()
}
