//! One day's file: adding batches of requests and reading them back.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use crate::money::Cost;
use crate::prices::PriceId;
use crate::request_id::RequestId;
use crate::rows::{AttemptRow, FinishedRow, PriceRef, SettleClass};
use crate::store::StoreError;

use super::connection::{at, damage, open};
use super::fresh_sums::FreshSums;
use super::known_ids::{Known, KnownIds};
use super::names::{self, NameIds};
use super::packed::{PackedAttempt, PackedRequest, unpack};
use super::rollup::sum_whole_day;
use super::{FastMap, FastSet, schema, unpacked};

/// An open day.
pub(super) struct DayFile {
    pub(super) db: Connection,
    pub(super) path: PathBuf,
    names: NameIds,
    prices: FastMap<i64, i64>,
    ids: KnownIds,
    /// The last batch that `ids` covers.
    last_batch: i64,
}

impl DayFile {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let mut db = open(path, schema::DAY)?;
        unpacked::convert(&mut db).map_err(at(path))?;
        Ok(Self {
            db,
            path: path.to_owned(),
            names: NameIds::default(),
            prices: FastMap::default(),
            ids: KnownIds::default(),
            last_batch: 0,
        })
    }

    /// The problems of the file or its batches.
    pub(super) fn damage(&self) -> Option<String> {
        let unreadable = || sum_whole_day(&self.db).err().map(|error| error.to_string());
        damage(&self.db).or_else(unreadable)
    }

    /// Whether the file has a request. Reads every batch of that time.
    pub(super) fn has_request(&self, id: RequestId) -> Result<bool, StoreError> {
        let found = find_request(&self.db, id).map_err(at(&self.path))?;
        Ok(found.is_some())
    }

    /// Adds the new requests as one batch, and returns their sums, unless requests were
    /// withdrawn as well.
    pub(super) fn insert(
        &mut self,
        rows: &[&FinishedRow],
    ) -> Result<Option<FreshSums>, StoreError> {
        let result = self.insert_all(rows);
        if result.is_err() {
            // Names and ids that were rolled back must not be cached.
            let _ = self.db.execute_batch("ROLLBACK");
            self.names.clear();
            self.prices.clear();
        }
        result.map_err(at(&self.path))
    }

    fn insert_all(&mut self, rows: &[&FinishedRow]) -> rusqlite::Result<Option<FreshSums>> {
        self.db.execute_batch("BEGIN IMMEDIATE")?;
        let last = last_batch(&self.db)?;
        if last != self.last_batch {
            // Another process wrote to the file, or this one has just opened it.
            let highest = "SELECT max(high) FROM batch";
            let highest: Option<[u8; 16]> = self.db.query_row(highest, [], |row| row.get(0))?;
            self.ids = KnownIds::of_file(highest.map(RequestId::from_bytes));
            self.last_batch = last;
        }
        let mut fresh = Some(FreshSums::after(last));
        let mut added = FastSet::default();
        added.reserve(rows.len());
        let mut batch = Vec::with_capacity(rows.len() * 96);
        for row in rows {
            let id = row.request.id;
            if added.contains(&id) {
                continue;
            }
            if self.is_stored(id)? {
                // An existing request may only have been marked as lost.
                if !withdraw_lost(&self.db, row)? {
                    continue;
                }
                fresh = None;
            }
            let packed = self.pack(row)?;
            packed.append_to(&mut batch)?;
            added.insert(id);
            if let Some(fresh) = &mut fresh {
                fresh.add(&packed, row);
            }
        }
        if let (Some(low), Some(high)) = (added.iter().min(), added.iter().max()) {
            let insert = "INSERT INTO batch (low, high, rows) VALUES (?1, ?2, ?3)";
            let mut insert = self.db.prepare_cached(insert)?;
            let number = insert.insert(params![low.bytes(), high.bytes(), batch])?;
            if let Some(fresh) = &mut fresh {
                fresh.day.last_batch = number;
            }
            self.last_batch = number;
        }
        if let Err(error) = self.db.execute_batch("COMMIT") {
            self.last_batch = last;
            return Err(error);
        }
        self.ids.extend(added.into_iter());
        Ok(fresh)
    }

    fn is_stored(&self, id: RequestId) -> rusqlite::Result<bool> {
        Ok(match self.ids.lookup(id) {
            Known::Stored => true,
            Known::New => false,
            Known::Unclear => find_request(&self.db, id)?.is_some(),
        })
    }

    fn pack(&mut self, row: &FinishedRow) -> rusqlite::Result<PackedRequest> {
        let request = &row.request;
        let mut attempts = Vec::with_capacity(row.attempts.len());
        for attempt in &row.attempts {
            attempts.push(self.pack_attempt(attempt)?);
        }
        let Self { db, names, .. } = self;
        let mut id = |text: Option<&str>| names.id(db, text);
        Ok(PackedRequest {
            id: request.id.bytes(),
            key: id(request.key.as_deref())?,
            team: id(request.team.as_deref())?,
            user: id(request.user.as_deref())?,
            tags: match request.tags.is_empty() {
                true => 0,
                false => id(Some(&request.tags.join(",")))?,
            },
            dialect: id(Some(&request.dialect))?,
            route: id(request.route.as_deref())?,
            rule: id(request.rule.as_deref())?,
            model: id(Some(&request.model))?,
            outcome: id(Some(&request.outcome))?,
            status: request.status,
            duration_ms: request.duration_ms,
            first_token_ms: request.first_token_ms,
            attempts,
        })
    }

    fn pack_attempt(&mut self, row: &AttemptRow) -> rusqlite::Result<PackedAttempt> {
        let price = row.price.as_ref();
        Ok(PackedAttempt {
            number: row.number,
            kind: row.kind.number(),
            target: self.names.id(&self.db, Some(&row.target))?,
            price: price.map(|price| self.price_id(price)).transpose()?,
            used: row.used,
            cost: row.cost.map(Cost::nanodollars),
            reported_cost: row.reported_cost.map(Cost::nanodollars),
            settle: row.settle.number(),
            failure: self.names.id(&self.db, row.failure.as_deref())?,
        })
    }

    /// Visits the requests of a range of ids.
    pub(super) fn visit(
        &self,
        range: Range<RequestId>,
        mut visit: impl FnMut(PackedRequest),
    ) -> rusqlite::Result<()> {
        let mut select = self
            .db
            .prepare_cached("SELECT rows FROM batch WHERE high >= ?1 AND low < ?2")?;
        let mut batches = select.query([range.start.bytes(), range.end.bytes()])?;
        while let Some(batch) = batches.next()? {
            for request in unpack(batch.get_ref(0)?.as_blob()?) {
                let request = request?;
                if range.contains(&request.id()) {
                    visit(request);
                }
            }
        }
        Ok(())
    }

    /// The number of a price within this file.
    pub(super) fn price_id(&mut self, price: &PriceRef) -> rusqlite::Result<i64> {
        let hash = price.id.get();
        if let Some(id) = self.prices.get(&hash) {
            return Ok(*id);
        }
        let select = "SELECT id FROM price WHERE hash = ?1";
        let mut select = self.db.prepare_cached(select)?;
        let found = select.query_row([hash], |row| row.get(0)).optional()?;
        let id = match found {
            Some(id) => id,
            None => {
                let insert = "INSERT INTO price (hash, rates) VALUES (?1, ?2)";
                let mut insert = self.db.prepare_cached(insert)?;
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

    /// All prices, by number.
    pub(super) fn prices(&self) -> rusqlite::Result<HashMap<i64, PriceRef>> {
        let mut select = self
            .db
            .prepare_cached("SELECT id, hash, rates FROM price")?;
        let prices = select.query_map([], |row| {
            let price = PriceRef {
                id: PriceId::from_stored(row.get(1)?),
                rates: row.get::<_, String>(2)?.into(),
            };
            Ok((row.get(0)?, price))
        })?;
        prices.collect()
    }
}

/// The number of the last batch.
pub(super) fn last_batch(db: &Connection) -> rusqlite::Result<i64> {
    let last = "SELECT ifnull(max(seq), 0) FROM batch";
    db.prepare_cached(last)?.query_row([], |row| row.get(0))
}

/// The batch that has a request, and the request.
fn find_request(db: &Connection, id: RequestId) -> rusqlite::Result<Option<(i64, PackedRequest)>> {
    let select = "SELECT seq, rows FROM batch WHERE high >= ?1 AND low <= ?1";
    let mut select = db.prepare_cached(select)?;
    let mut batches = select.query([id.bytes()])?;
    while let Some(batch) = batches.next()? {
        for request in unpack(batch.get_ref(1)?.as_blob()?) {
            let request = request?;
            if request.id() == id {
                return Ok(Some((batch.get(0)?, request)));
            }
        }
    }
    Ok(None)
}

/// Replaces the requests of a batch with their remaining parts.
pub(super) fn rewrite_batch(
    db: &Connection,
    number: i64,
    mut keep: impl FnMut(PackedRequest) -> Option<PackedRequest>,
) -> rusqlite::Result<()> {
    let select = "SELECT rows FROM batch WHERE seq = ?1";
    let rows: Vec<u8> = db.query_row(select, [number], |row| row.get(0))?;
    let mut kept = Vec::with_capacity(rows.len());
    for request in unpack(&rows) {
        if let Some(request) = keep(request?) {
            request.append_to(&mut kept)?;
        }
    }
    if kept != rows {
        let update = "UPDATE batch SET rows = ?2 WHERE seq = ?1";
        db.execute(update, params![number, kept])?;
    }
    Ok(())
}

/// Removes a request that was marked as lost, if the new row has more. Returns whether there
/// was one.
fn withdraw_lost(db: &Connection, row: &FinishedRow) -> rusqlite::Result<bool> {
    let lost = SettleClass::Lost;
    if row.attempts.iter().any(|attempt| attempt.settle == lost) {
        return Ok(false);
    }
    let Some((number, stored)) = find_request(db, row.request.id)? else {
        return Ok(false);
    };
    if !stored.attempts.iter().all(PackedAttempt::is_lost) || stored.attempts.is_empty() {
        return Ok(false);
    }
    let mut withdraw = db.prepare_cached(
        "INSERT INTO withdrawn (request, number, target, key, team, model, input, cost)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for attempt in &stored.attempts {
        withdraw.execute(params![
            row.request.id.bytes(),
            attempt.number,
            attempt.target,
            stored.key,
            stored.team,
            stored.model,
            i64::try_from(attempt.used.input).unwrap_or(i64::MAX),
            attempt.cost,
        ])?;
    }
    rewrite_batch(db, number, |request| {
        (request.id() != row.request.id).then_some(request)
    })?;
    Ok(true)
}

/// A count as it was stored.
pub(super) fn restored(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}
