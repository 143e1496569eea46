//! One day's file: inserting rows and reading them back.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::money::Cost;
use crate::prices::PriceId;
use crate::quantities::Quantities;
use crate::request_id::RequestId;
use crate::rows::{AttemptKind, AttemptRow, FinishedRow, PriceRef, RequestRow, SettleClass};
use crate::store::StoreError;

use super::connection::{at, open};
use super::names::{self, NameIds};
use super::schema;

/// An open day.
pub(super) struct DayFile {
    pub(super) db: Connection,
    pub(super) path: PathBuf,
    names: NameIds,
    prices: HashMap<i64, i64>,
    /// The sequence number of the next attempt, if the highest one was withdrawn: rollups
    /// have seen that number already.
    next_attempt: Option<i64>,
}

impl DayFile {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            db: open(path, schema::DAY)?,
            path: path.to_owned(),
            names: NameIds::default(),
            prices: HashMap::new(),
            next_attempt: None,
        })
    }

    /// Whether a request has its row.
    pub(super) fn has_request(&self, id: RequestId) -> Result<bool, StoreError> {
        let mut select = self
            .db
            .prepare_cached("SELECT 1 FROM request WHERE id = ?1")
            .map_err(at(&self.path))?;
        select.exists([id.bytes()]).map_err(at(&self.path))
    }

    /// Inserts requests and attempts that are not there yet.
    pub(super) fn insert<'a>(
        &mut self,
        rows: impl Iterator<Item = &'a FinishedRow>,
    ) -> Result<(), StoreError> {
        let result = self.insert_all(rows);
        if result.is_err() {
            // What was rolled back must not be remembered.
            let _ = self.db.execute_batch("ROLLBACK");
            self.names.clear();
            self.prices.clear();
            self.next_attempt = None;
        }
        result.map_err(at(&self.path))
    }

    fn insert_all<'a>(
        &mut self,
        rows: impl Iterator<Item = &'a FinishedRow>,
    ) -> rusqlite::Result<()> {
        self.db.execute_batch("BEGIN IMMEDIATE")?;
        for row in rows {
            // A request that is there may only have been called lost.
            if !self.insert_request(&row.request)? && self.withdraw_lost(row)? {
                self.insert_request(&row.request)?;
            }
            for attempt in &row.attempts {
                self.insert_attempt(row.request.id, attempt)?;
            }
        }
        self.db.execute_batch("COMMIT")
    }

    /// Removes attempts that were called lost, if the row has others. Returns whether there
    /// were any.
    fn withdraw_lost(&mut self, row: &FinishedRow) -> rusqlite::Result<bool> {
        let lost = SettleClass::Lost;
        if row.attempts.iter().any(|attempt| attempt.settle == lost) {
            return Ok(false);
        }
        let values = params![row.request.id.bytes(), lost.number()];
        let withdrawn = self
            .db
            .prepare_cached(
                "INSERT INTO withdrawn (request, number, target, key, team, model, input, cost)
                 SELECT request, number, target, key, team, model, input, cost
                 FROM attempt JOIN request r ON r.id = request
                 WHERE request = ?1 AND settle = ?2",
            )?
            .execute(values)?;
        if withdrawn == 0 {
            return Ok(false);
        }
        let last: i64 = self
            .db
            .query_row("SELECT max(seq) FROM attempt", [], |row| row.get(0))?;
        self.next_attempt = Some(self.next_attempt.unwrap_or_default().max(last + 1));
        let delete = "DELETE FROM attempt WHERE request = ?1 AND settle = ?2";
        self.db.execute(delete, values)?;
        let delete = "DELETE FROM request WHERE id = ?1";
        self.db.execute(delete, [row.request.id.bytes()])?;
        Ok(true)
    }

    /// Returns whether the request was not there yet.
    fn insert_request(&mut self, row: &RequestRow) -> rusqlite::Result<bool> {
        let tags = row.tags.join(",");
        let texts = [
            row.key.as_deref(),
            row.team.as_deref(),
            row.user.as_deref(),
            Some(tags.as_str()),
            Some(&*row.dialect),
            row.route.as_deref(),
            row.rule.as_deref(),
            Some(&*row.model),
            Some(&*row.outcome),
        ];
        let mut ids = [0; 9];
        for (id, text) in ids.iter_mut().zip(texts) {
            *id = self.names.id(&self.db, text)?;
        }
        let [key, team, user, tags, dialect, route, rule, model, outcome] = ids;
        let mut insert = self.db.prepare_cached(
            "INSERT OR IGNORE INTO request
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?;
        let inserted = insert.execute(params![
            row.id.bytes(),
            key,
            team,
            user,
            tags,
            dialect,
            route,
            rule,
            model,
            outcome,
            row.status,
            stored(row.duration_ms),
            row.first_token_ms.map(stored),
        ])?;
        Ok(inserted > 0)
    }

    fn insert_attempt(&mut self, request: RequestId, row: &AttemptRow) -> rusqlite::Result<()> {
        let target = self.names.id(&self.db, Some(&row.target))?;
        let failure = self.names.id(&self.db, row.failure.as_deref())?;
        let price = match &row.price {
            Some(price) => Some(self.price_id(price)?),
            None => None,
        };
        let mut insert = self.db.prepare_cached(
            "INSERT OR IGNORE INTO attempt (request, number, kind, target, price, input,
                 cache_read, cache_write_5m, cache_write_1h, image_input, output, reasoning,
                 images, cost, reported_cost, settle, failure, seq)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 ?18)",
        )?;
        let used = &row.used;
        let inserted = insert.execute(params![
            request.bytes(),
            row.number,
            row.kind.number(),
            target,
            price,
            stored(used.input),
            stored(used.cache_read),
            stored(used.cache_write_5m),
            stored(used.cache_write_1h),
            stored(used.image_input),
            stored(used.output),
            stored(used.reasoning),
            stored(used.images),
            row.cost.map(Cost::nanodollars),
            row.reported_cost.map(Cost::nanodollars),
            row.settle.number(),
            failure,
            self.next_attempt,
        ])?;
        if inserted > 0 {
            self.next_attempt = None;
        }
        Ok(())
    }

    /// The number of a price within this file.
    pub(super) fn price_id(&mut self, price: &PriceRef) -> rusqlite::Result<i64> {
        let hash = price.id.get();
        if let Some(id) = self.prices.get(&hash) {
            return Ok(*id);
        }
        let mut select = self
            .db
            .prepare_cached("SELECT id FROM price WHERE hash = ?1")?;
        let found = select.query_row([hash], |row| row.get(0)).optional()?;
        let id = match found {
            Some(id) => id,
            None => {
                let mut insert = self
                    .db
                    .prepare_cached("INSERT INTO price (hash, rates) VALUES (?1, ?2)")?;
                insert.insert(params![hash, &*price.rates])?
            }
        };
        self.prices.insert(hash, id);
        Ok(id)
    }

    /// All names, by number.
    pub(super) fn names(&self) -> rusqlite::Result<HashMap<i64, String>> {
        names::all(&self.db)
    }

    /// The attempts of a request, in order.
    pub(super) fn attempts(
        &self,
        request: RequestId,
        names: &HashMap<i64, String>,
    ) -> rusqlite::Result<Vec<AttemptRow>> {
        let mut select = self.db.prepare_cached(
            "SELECT number, kind, target, p.hash, p.rates, input, cache_read, cache_write_5m,
                    cache_write_1h, image_input, output, reasoning, images, cost,
                    reported_cost, settle, failure
             FROM attempt LEFT JOIN price p ON p.id = price
             WHERE request = ?1 ORDER BY number",
        )?;
        let rows = select.query_map([request.bytes()], |row| attempt(row, names))?;
        rows.collect()
    }
}

fn attempt(row: &Row<'_>, names: &HashMap<i64, String>) -> rusqlite::Result<AttemptRow> {
    let name = |id: i64| names.get(&id).map_or("", String::as_str);
    let count = |index| row.get::<_, i64>(index).map(restored);
    let hash: Option<i64> = row.get(3)?;
    let rates: Option<String> = row.get(4)?;
    let price = hash.zip(rates).map(|(hash, rates)| PriceRef {
        id: PriceId::from_stored(hash),
        rates: rates.into(),
    });
    let cost = |index| -> rusqlite::Result<Option<Cost>> {
        let cost: Option<i64> = row.get(index)?;
        Ok(cost.map(Cost::from_nanodollars))
    };
    Ok(AttemptRow {
        number: row.get(0)?,
        kind: AttemptKind::from_number(row.get(1)?).unwrap_or(AttemptKind::Answer),
        target: name(row.get(2)?).into(),
        price,
        used: Quantities {
            input: count(5)?,
            cache_read: count(6)?,
            cache_write_5m: count(7)?,
            cache_write_1h: count(8)?,
            image_input: count(9)?,
            output: count(10)?,
            reasoning: count(11)?,
            images: count(12)?,
        },
        cost: cost(13)?,
        reported_cost: cost(14)?,
        settle: SettleClass::from_number(row.get(15)?).unwrap_or(SettleClass::Estimated),
        failure: some_name(name(row.get(16)?)),
    })
}

/// A name, unless it is the empty one.
pub(super) fn some_name(name: &str) -> Option<Arc<str>> {
    (!name.is_empty()).then(|| name.into())
}

/// A count as SQLite stores it.
fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count as it was stored.
pub(super) fn restored(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}
