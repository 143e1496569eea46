//! Day files of the schemas 1 and 2, which had a row for each request and attempt.

use rusqlite::{Connection, TransactionBehavior, params};

use crate::quantities::Quantities;
use crate::request_id::RequestId;

use super::day_file::restored;
use super::packed::{PackedAttempt, PackedRequest};

/// Requests of a batch.
const BATCH: usize = 1_000;

/// Packs the rows of an old file into batches. Does nothing with a new one.
pub(super) fn convert(db: &mut Connection) -> rusqlite::Result<()> {
    if !is_old(db)? {
        return Ok(());
    }
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it first.
    if is_old(&change)? {
        let requests = requests(&change)?;
        for batch in requests.chunks(BATCH) {
            let mut rows = Vec::new();
            for request in batch {
                request.append_to(&mut rows)?;
            }
            let ids = || batch.iter().map(PackedRequest::id);
            if let (Some(low), Some(high)) = (ids().min(), ids().max()) {
                let insert = "INSERT INTO batch (low, high, rows) VALUES (?1, ?2, ?3)";
                change.execute(insert, params![low.bytes(), high.bytes(), rows])?;
            }
        }
        change.execute_batch("DROP TABLE attempt; DROP TABLE request")?;
    }
    change.commit()
}

fn is_old(db: &Connection) -> rusqlite::Result<bool> {
    db.table_exists(None, "attempt")
}

fn requests(db: &Connection) -> rusqlite::Result<Vec<PackedRequest>> {
    let mut select = db.prepare(
        "SELECT id, key, team, user, tags, dialect, route, rule, model, outcome, status,
                duration_ms, first_token_ms
         FROM request ORDER BY id",
    )?;
    let requests = select.query_map([], |row| {
        let id = RequestId::from_bytes(row.get(0)?);
        Ok(PackedRequest {
            id: id.bytes(),
            key: row.get(1)?,
            team: row.get(2)?,
            user: row.get(3)?,
            tags: row.get(4)?,
            dialect: row.get(5)?,
            route: row.get(6)?,
            rule: row.get(7)?,
            model: row.get(8)?,
            outcome: row.get(9)?,
            status: row.get(10)?,
            duration_ms: restored(row.get(11)?),
            first_token_ms: row.get::<_, Option<i64>>(12)?.map(restored),
            attempts: attempts(db, id)?,
        })
    })?;
    requests.collect()
}

fn attempts(db: &Connection, request: RequestId) -> rusqlite::Result<Vec<PackedAttempt>> {
    let mut select = db.prepare_cached(
        "SELECT number, kind, target, price, input, cache_read, cache_write_5m, cache_write_1h,
                image_input, output, reasoning, images, cost, reported_cost, settle, failure
         FROM attempt WHERE request = ?1 ORDER BY number",
    )?;
    let attempts = select.query_map([request.bytes()], |row| {
        let count = |index| row.get::<_, i64>(index).map(restored);
        Ok(PackedAttempt {
            number: row.get(0)?,
            kind: row.get(1)?,
            target: row.get(2)?,
            price: row.get(3)?,
            used: Quantities {
                input: count(4)?,
                cache_read: count(5)?,
                cache_write_5m: count(6)?,
                cache_write_1h: count(7)?,
                image_input: count(8)?,
                output: count(9)?,
                reasoning: count(10)?,
                images: count(11)?,
            },
            cost: row.get(12)?,
            reported_cost: row.get(13)?,
            settle: row.get(14)?,
            failure: row.get(15)?,
        })
    })?;
    attempts.collect()
}
