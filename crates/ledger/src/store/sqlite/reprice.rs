//! Reprices past attempts, with compensating rows.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::params;

use crate::civil::Day;
use crate::money::Cost;
use crate::report::{RepriceReport, RepriceSubject};
use crate::request_id::RequestId;
use crate::rows::{PriceRef, SettleClass};
use crate::store::{RepriceFn, StoreError};

use super::SqliteStore;
use super::connection::at;
use super::day_file::DayFile;
use super::packed::PackedAttempt;

/// An attempt with our own price, and its present cost.
struct PastAttempt {
    request: RequestId,
    attempt: PackedAttempt,
    /// Key, team, model and tags, by the numbers of their names.
    names: [i64; 4],
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
                // Rolls back a transaction that was left open.
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
        let PackedAttempt { target, used, .. } = &attempt.attempt;
        let name = || names.get(target).map_or("", String::as_str).into();
        let subject = RepriceSubject {
            target: Arc::clone(remembered.entry(*target).or_insert_with(name)),
            at_millis: attempt.request.millis(),
        };
        let priced = price(&subject).and_then(|card| Some((card.cost(used)?, card)));
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
                 (request, number, made, price, difference, was_unpriced, target, key, team,
                  model, tags, estimated)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?;
        let [key, team, model, tags] = attempt.names;
        let inserted = insert.execute(params![
            attempt.request.bytes(),
            attempt.attempt.number,
            made,
            price,
            difference.nanodollars(),
            attempt.charged.is_none(),
            target,
            key,
            team,
            model,
            tags,
            attempt.attempt.is_estimate(),
        ])?;
        report.corrected += inserted as u64;
        report.difference += difference;
    }
    file.db.execute_batch("COMMIT")
}

/// Attempts with our own price: not free ones, or ones with a cost reported by the upstream.
fn past_attempts(file: &DayFile, [since, until]: [i64; 2]) -> rusqlite::Result<Vec<PastAttempt>> {
    let corrected = corrections(file)?;
    let unpriced = [SettleClass::Free, SettleClass::ClientPaid].map(SettleClass::number);
    let mut found = Vec::new();
    let range = RequestId::first_at(since)..RequestId::first_at(until);
    file.visit(range, |request| {
        let id = request.id();
        let names = [request.key, request.team, request.model, request.tags];
        let ours = |attempt: &PackedAttempt| {
            attempt.reported_cost.is_none() && !unpriced.contains(&attempt.settle)
        };
        for attempt in request.attempts.into_iter().filter(ours) {
            let corrected = corrected.get(&(id, attempt.number)).copied();
            let charged = match (attempt.cost, corrected) {
                (None, None) => None,
                (cost, corrected) => Some(cost.unwrap_or(0).saturating_add(corrected.unwrap_or(0))),
            };
            found.push(PastAttempt {
                request: id,
                attempt,
                names,
                charged: charged.map(Cost::from_nanodollars),
            });
        }
    })?;
    Ok(found)
}

/// The sums of earlier corrections, in nanodollars, by attempt.
fn corrections(file: &DayFile) -> rusqlite::Result<HashMap<(RequestId, u16), i64>> {
    let select = "SELECT request, number, sum(difference) FROM correction GROUP BY 1, 2";
    let mut select = file.db.prepare_cached(select)?;
    let rows = select.query_map([], |row| {
        Ok((
            (RequestId::from_bytes(row.get(0)?), row.get(1)?),
            row.get(2)?,
        ))
    })?;
    rows.collect()
}
