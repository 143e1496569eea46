//! One day's file: inserting rows and reading them back.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, Statement, params};

use crate::money::Cost;
use crate::prices::PriceId;
use crate::quantities::Quantities;
use crate::request_id::RequestId;
use crate::rows::{AttemptKind, AttemptRow, FinishedRow, PriceRef, RequestRow, SettleClass};
use crate::store::StoreError;

use super::connection::{at, damage, open};
use super::fresh_sums::FreshSums;
use super::names::{self, NameIds};
use super::schema;

/// The numbers of a request's names within a day's file.
#[derive(Clone, Copy)]
pub(super) struct RequestNames {
    pub(super) key: i64,
    pub(super) team: i64,
    user: i64,
    pub(super) tags: i64,
    dialect: i64,
    route: i64,
    rule: i64,
    pub(super) model: i64,
    outcome: i64,
}

/// An attempt that was inserted.
pub(super) struct InsertedAttempt {
    pub(super) seq: i64,
    /// The number of its target's name.
    pub(super) target: i64,
}

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

    /// What SQLite finds wrong with the file.
    pub(super) fn damage(&self) -> Option<String> {
        damage(&self.db)
    }

    /// Whether a request has its row.
    pub(super) fn has_request(&self, id: RequestId) -> Result<bool, StoreError> {
        let mut select = self
            .db
            .prepare_cached("SELECT 1 FROM request WHERE id = ?1")
            .map_err(at(&self.path))?;
        select.exists([id.bytes()]).map_err(at(&self.path))
    }

    /// Inserts requests and attempts that are not there yet, and returns the sums of those,
    /// unless rows were withdrawn as well.
    pub(super) fn insert<'a>(
        &mut self,
        rows: impl Iterator<Item = &'a FinishedRow>,
    ) -> Result<Option<FreshSums>, StoreError> {
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
    ) -> rusqlite::Result<Option<FreshSums>> {
        let Self {
            db,
            names,
            prices,
            next_attempt,
            ..
        } = self;
        let db: &Connection = db;
        db.execute_batch("BEGIN IMMEDIATE")?;
        let last = "SELECT ifnull(max(seq), 0) FROM attempt";
        let last = db.prepare_cached(last)?.query_row([], |row| row.get(0))?;
        let mut fresh = Some(FreshSums::after(last));
        let mut request = db.prepare_cached(INSERT_REQUEST)?;
        let mut attempt = db.prepare_cached(INSERT_ATTEMPT)?;
        for row in rows {
            let ids = request_names(db, names, &row.request)?;
            // A request that is there may only have been called lost.
            if !insert_request(&mut request, &row.request, ids)?
                && withdraw_lost(db, next_attempt, row)?
            {
                insert_request(&mut request, &row.request, ids)?;
                fresh = None;
            }
            for sent in &row.attempts {
                let target = names.id(db, Some(&sent.target))?;
                let failure = names.id(db, sent.failure.as_deref())?;
                let price = sent.price.as_ref();
                let price = price.map(|price| price_id(db, prices, price)).transpose()?;
                let numbers = [Some(target), Some(failure), price, *next_attempt];
                if !insert_attempt(&mut attempt, row.request.id, sent, numbers)? {
                    continue;
                }
                *next_attempt = None;
                let seq = db.last_insert_rowid();
                if let Some(fresh) = &mut fresh {
                    fresh.add(&row.request, ids, sent, InsertedAttempt { seq, target });
                }
            }
        }
        db.execute_batch("COMMIT")?;
        Ok(fresh)
    }

    /// The number of a price within this file.
    pub(super) fn price_id(&mut self, price: &PriceRef) -> rusqlite::Result<i64> {
        price_id(&self.db, &mut self.prices, price)
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

const INSERT_REQUEST: &str = "INSERT OR IGNORE INTO request
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

const INSERT_ATTEMPT: &str = "INSERT OR IGNORE INTO attempt (request, number, kind, target, price,
        input, cache_read, cache_write_5m, cache_write_1h, image_input, output, reasoning, images,
        cost, reported_cost, settle, failure, seq)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";

fn request_names(
    db: &Connection,
    names: &mut NameIds,
    row: &RequestRow,
) -> rusqlite::Result<RequestNames> {
    let mut id = |text: Option<&str>| names.id(db, text);
    Ok(RequestNames {
        key: id(row.key.as_deref())?,
        team: id(row.team.as_deref())?,
        user: id(row.user.as_deref())?,
        tags: match row.tags.is_empty() {
            true => 0,
            false => id(Some(&row.tags.join(",")))?,
        },
        dialect: id(Some(&row.dialect))?,
        route: id(row.route.as_deref())?,
        rule: id(row.rule.as_deref())?,
        model: id(Some(&row.model))?,
        outcome: id(Some(&row.outcome))?,
    })
}

/// Returns whether the request was not there yet.
fn insert_request(
    insert: &mut Statement<'_>,
    row: &RequestRow,
    names: RequestNames,
) -> rusqlite::Result<bool> {
    let inserted = insert.execute(params![
        row.id.bytes(),
        names.key,
        names.team,
        names.user,
        names.tags,
        names.dialect,
        names.route,
        names.rule,
        names.model,
        names.outcome,
        row.status,
        stored(row.duration_ms),
        row.first_token_ms.map(stored),
    ])?;
    Ok(inserted > 0)
}

/// Returns whether the attempt was not there yet. `numbers` are those of its target, failure
/// and price, and its own if it must not be the next one.
fn insert_attempt(
    insert: &mut Statement<'_>,
    request: RequestId,
    row: &AttemptRow,
    [target, failure, price, seq]: [Option<i64>; 4],
) -> rusqlite::Result<bool> {
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
        seq,
    ])?;
    Ok(inserted > 0)
}

/// Removes attempts that were called lost, if the row has others. Returns whether there were
/// any.
fn withdraw_lost(
    db: &Connection,
    next_attempt: &mut Option<i64>,
    row: &FinishedRow,
) -> rusqlite::Result<bool> {
    let lost = SettleClass::Lost;
    if row.attempts.iter().any(|attempt| attempt.settle == lost) {
        return Ok(false);
    }
    let id = row.request.id.bytes();
    let withdraw = "INSERT INTO withdrawn (request, number, target, key, team, model, input, cost)
        SELECT request, number, target, key, team, model, input, cost
        FROM attempt JOIN request r ON r.id = request
        WHERE request = ?1 AND settle = ?2";
    let withdrawn = db.execute(withdraw, params![id, lost.number()])?;
    if withdrawn == 0 {
        return Ok(false);
    }
    let last: i64 = db.query_row("SELECT max(seq) FROM attempt", [], |row| row.get(0))?;
    *next_attempt = Some(next_attempt.unwrap_or_default().max(last + 1));
    let delete = "DELETE FROM attempt WHERE request = ?1 AND settle = ?2";
    db.execute(delete, params![id, lost.number()])?;
    db.execute("DELETE FROM request WHERE id = ?1", [id])?;
    Ok(true)
}

/// The number of a price within a file.
fn price_id(
    db: &Connection,
    prices: &mut HashMap<i64, i64>,
    price: &PriceRef,
) -> rusqlite::Result<i64> {
    let hash = price.id.get();
    if let Some(id) = prices.get(&hash) {
        return Ok(*id);
    }
    let mut select = db.prepare_cached("SELECT id FROM price WHERE hash = ?1")?;
    let found = select.query_row([hash], |row| row.get(0)).optional()?;
    let id = match found {
        Some(id) => id,
        None => {
            let insert = "INSERT INTO price (hash, rates) VALUES (?1, ?2)";
            let mut insert = db.prepare_cached(insert)?;
            insert.insert(params![hash, &*price.rates])?
        }
    };
    prices.insert(hash, id);
    Ok(id)
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
