//! Writes entries and their rollups in one transaction.

use std::collections::{BTreeSet, HashMap, HashSet};

use tokio_postgres::{Client, Error, Transaction};

use crate::civil::Day;
use crate::money::Cost;
use crate::request_id::RequestId;
use crate::rows::{AttemptRow, FinishedRow, OpenAttempt, RequestRow, SettleClass};

use super::names::NameIds;
use super::partitions;
use super::rollup::{self, Group, RollupChanges, stored};

/// A connection's cache of its database.
#[derive(Default)]
pub(super) struct Known {
    pub(super) names: NameIds,
    days: BTreeSet<Day>,
    prices: HashSet<i64>,
}

impl Known {
    /// The day's partitions are gone.
    pub(super) fn forget_day(&mut self, day: Day) {
        self.days.remove(&day);
    }
}

/// Rows that are written together.
pub(super) struct Batch<'a> {
    pub(super) finished: &'a [&'a FinishedRow],
    pub(super) opened: &'a [&'a OpenAttempt],
    /// The run that opened them.
    pub(super) run: i64,
}

/// Writes a batch. Returns the number of new attempts.
pub(super) async fn write(
    client: &mut Client,
    known: &mut Known,
    batch: &Batch<'_>,
) -> Result<u64, Error> {
    let names = batch.finished.iter().flat_map(|row| texts(row)).collect();
    known.names.learn(client, &names).await?;
    let days: BTreeSet<Day> = batch
        .finished
        .iter()
        .map(|row| row.request.id.day())
        .collect();
    let new = &days - &known.days;
    partitions::ensure(client, &new).await?;
    let transaction = client.transaction().await?;
    let mut rollup = RollupChanges::default();
    let ids: Vec<RequestId> = batch.finished.iter().map(|row| row.request.id).collect();
    if !ids.is_empty() {
        withdraw_lost(&transaction, &mut rollup, &ids).await?;
        let delete = "DELETE FROM open_attempt WHERE request = ANY($1)";
        transaction.execute(delete, &[&ids]).await?;
    }
    insert_open(&transaction, batch).await?;
    let written = insert_rows(&transaction, known, &mut rollup, batch.finished).await?;
    rollup.apply(&transaction).await?;
    transaction.commit().await?;
    known.days.extend(days);
    Ok(written)
}

/// The names of a request and its attempts.
fn texts(row: &FinishedRow) -> impl Iterator<Item = &str> {
    let request = &row.request;
    let optional = [&request.key, &request.team, &request.route, &request.rule];
    let optional = optional.into_iter().filter_map(|name| name.as_deref());
    let required = [&request.dialect, &request.model, &request.outcome];
    let tags = request.tags.iter().map(|tag| &**tag);
    let attempts = row.attempts.iter().flat_map(|attempt| {
        let failure = attempt.failure.as_deref();
        [Some(&*attempt.target), failure].into_iter().flatten()
    });
    optional
        .chain(required.map(|name| &**name))
        .chain(tags)
        .chain(attempts)
}

/// Removes `lost` rows of requests whose own rows arrive after all, because their process was
/// only unreachable.
async fn withdraw_lost(
    transaction: &Transaction<'_>,
    rollup: &mut RollupChanges,
    ids: &[RequestId],
) -> Result<(), Error> {
    let lost = SettleClass::Lost.number() as i16;
    let delete = "DELETE FROM attempt a USING request r
        WHERE a.request = ANY($1) AND a.settle = $2 AND r.id = a.request
        RETURNING a.request, a.number, a.input, a.cost, r.key, r.team, r.model, a.target";
    let rows = transaction.query(delete, &[&ids, &lost]).await?;
    let mut requests = Vec::new();
    for row in rows {
        let request: RequestId = row.try_get(0)?;
        let cost: Option<i64> = row.try_get(3)?;
        let number: i32 = row.try_get(1)?;
        let input: i64 = row.try_get(2)?;
        let amounts = rollup::of_lost(number, input, cost);
        let group = Group {
            key: row.try_get(4)?,
            team: row.try_get(5)?,
            model: row.try_get(6)?,
            target: row.try_get(7)?,
            tags: Vec::new(),
        };
        rollup.withdraw(request, &group, &amounts);
        requests.push(request);
    }
    if !requests.is_empty() {
        let delete = "DELETE FROM request WHERE id = ANY($1)";
        transaction.execute(delete, &[&requests]).await?;
    }
    Ok(())
}

async fn insert_open(transaction: &Transaction<'_>, batch: &Batch<'_>) -> Result<(), Error> {
    if batch.opened.is_empty() {
        return Ok(());
    }
    let requests: Vec<RequestId> = batch.opened.iter().map(|open| open.request).collect();
    let numbers: Vec<i32> = batch.opened.iter().map(|open| open.number.into()).collect();
    let entries = batch.opened.iter();
    let entries: Vec<String> = entries
        .map(|open| serde_json::to_string(open).unwrap_or_default())
        .collect();
    // A batch that is delivered again must not reopen attempts that have ended since.
    let insert = "INSERT INTO open_attempt
        SELECT o.request, o.number, $4, o.entry
        FROM unnest($1::uuid[], $2::integer[], $3::text[]) AS o (request, number, entry)
        WHERE NOT EXISTS (SELECT 1 FROM request r WHERE r.id = o.request)
        ON CONFLICT DO NOTHING";
    transaction
        .execute(insert, &[&requests, &numbers, &entries, &batch.run])
        .await?;
    Ok(())
}

async fn insert_rows(
    transaction: &Transaction<'_>,
    known: &mut Known,
    rollup: &mut RollupChanges,
    rows: &[&FinishedRow],
) -> Result<u64, Error> {
    if rows.is_empty() {
        return Ok(0);
    }
    insert_prices(transaction, known, rows).await?;
    insert_requests(transaction, &known.names, rows).await?;
    let inserted = insert_attempts(transaction, &known.names, rows).await?;
    let names = &known.names;
    let mut groups: HashMap<(RequestId, u16), (&RequestRow, &AttemptRow)> = HashMap::new();
    for row in rows {
        for attempt in &row.attempts {
            // Of two rows with one number, the first one was inserted.
            let key = (row.request.id, attempt.number);
            groups.entry(key).or_insert((&row.request, attempt));
        }
    }
    for key in &inserted {
        let Some((request, attempt)) = groups.get(key) else {
            continue;
        };
        let group = Group {
            key: names.id(request.key.as_deref()),
            team: names.id(request.team.as_deref()),
            model: names.id(Some(&request.model)),
            target: names.id(Some(&attempt.target)),
            tags: request.tags.iter().map(|tag| names.id(Some(tag))).collect(),
        };
        rollup.add(key.0, &group, &rollup::of_attempt(attempt));
    }
    Ok(inserted.len() as u64)
}

async fn insert_prices(
    transaction: &Transaction<'_>,
    known: &mut Known,
    rows: &[&FinishedRow],
) -> Result<(), Error> {
    let attempts = rows.iter().flat_map(|row| &row.attempts);
    for price in attempts.filter_map(|attempt| attempt.price.as_ref()) {
        let hash = price.id.get();
        if known.prices.insert(hash) {
            let insert = "INSERT INTO price VALUES ($1, $2) ON CONFLICT DO NOTHING";
            transaction
                .execute(insert, &[&hash, &&*price.rates])
                .await?;
        }
    }
    Ok(())
}

async fn insert_requests(
    transaction: &Transaction<'_>,
    names: &NameIds,
    rows: &[&FinishedRow],
) -> Result<(), Error> {
    let requests = || rows.iter().map(|row| &row.request);
    let ids: Vec<RequestId> = requests().map(|row| row.id).collect();
    let durations: Vec<i64> = requests().map(|row| stored(row.duration_ms)).collect();
    let first: Vec<Option<i64>> = requests()
        .map(|row| row.first_token_ms.map(stored))
        .collect();
    let name = |of: &dyn Fn(&RequestRow) -> i32| -> Vec<i32> { requests().map(of).collect() };
    let keys = name(&|row| names.id(row.key.as_deref()));
    let teams = name(&|row| names.id(row.team.as_deref()));
    let dialects = name(&|row| names.id(Some(&row.dialect)));
    let routes = name(&|row| names.id(row.route.as_deref()));
    let rules = name(&|row| names.id(row.rule.as_deref()));
    let models = name(&|row| names.id(Some(&row.model)));
    let outcomes = name(&|row| names.id(Some(&row.outcome)));
    let statuses = name(&|row| row.status.into());
    let users: Vec<Option<&str>> = requests().map(|row| row.user.as_deref()).collect();
    let tags = requests().map(|row| (!row.tags.is_empty()).then(|| row.tags.join(",")));
    let tags: Vec<Option<String>> = tags.collect();
    let insert = "INSERT INTO request
        SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::integer[],
            $5::integer[], $6::integer[], $7::integer[], $8::integer[], $9::integer[],
            $10::integer[], $11::integer[], $12::text[], $13::text[])
        ON CONFLICT DO NOTHING";
    transaction
        .execute(
            insert,
            &[
                &ids, &durations, &first, &keys, &teams, &dialects, &routes, &rules, &models,
                &outcomes, &statuses, &users, &tags,
            ],
        )
        .await?;
    Ok(())
}

/// Inserts attempts and returns the new ones.
async fn insert_attempts(
    transaction: &Transaction<'_>,
    names: &NameIds,
    rows: &[&FinishedRow],
) -> Result<Vec<(RequestId, u16)>, Error> {
    let attempts: Vec<(RequestId, &AttemptRow)> = rows
        .iter()
        .flat_map(|row| row.attempts.iter().map(|attempt| (row.request.id, attempt)))
        .collect();
    let requests: Vec<RequestId> = attempts.iter().map(|(id, _)| *id).collect();
    let each = || attempts.iter().map(|(_, row)| *row);
    let numbers: Vec<i32> = each().map(|row| row.number.into()).collect();
    let targets: Vec<i32> = each().map(|row| names.id(Some(&row.target))).collect();
    let count = |of: &dyn Fn(&AttemptRow) -> u64| -> Vec<i64> {
        each().map(|row| stored(of(row))).collect()
    };
    let input = count(&|row| row.used.input);
    let cache_read = count(&|row| row.used.cache_read);
    let cache_write_5m = count(&|row| row.used.cache_write_5m);
    let cache_write_1h = count(&|row| row.used.cache_write_1h);
    let image_input = count(&|row| row.used.image_input);
    let output = count(&|row| row.used.output);
    let reasoning = count(&|row| row.used.reasoning);
    let images = count(&|row| row.used.images);
    let prices = each().map(|row| row.price.as_ref().map(|price| price.id.get()));
    let prices: Vec<Option<i64>> = prices.collect();
    let costs: Vec<Option<i64>> = each().map(|row| row.cost.map(Cost::nanodollars)).collect();
    let reported = each().map(|row| row.reported_cost.map(Cost::nanodollars));
    let reported: Vec<Option<i64>> = reported.collect();
    let failures: Vec<i32> = each().map(|row| names.id(row.failure.as_deref())).collect();
    let kinds: Vec<i16> = each().map(|row| row.kind.number() as i16).collect();
    let settles: Vec<i16> = each().map(|row| row.settle.number() as i16).collect();
    let insert = "INSERT INTO attempt
        SELECT * FROM unnest($1::uuid[], $2::integer[], $3::integer[], $4::bigint[],
            $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
            $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
            $15::integer[], $16::smallint[], $17::smallint[])
        ON CONFLICT DO NOTHING RETURNING request, number";
    let inserted = transaction
        .query(
            insert,
            &[
                &requests,
                &numbers,
                &targets,
                &input,
                &cache_read,
                &cache_write_5m,
                &cache_write_1h,
                &image_input,
                &output,
                &reasoning,
                &images,
                &prices,
                &costs,
                &reported,
                &failures,
                &kinds,
                &settles,
            ],
        )
        .await?;
    let inserted = inserted.iter().map(|row| {
        let number: i32 = row.try_get(1)?;
        Ok((row.try_get(0)?, u16::try_from(number).unwrap_or(u16::MAX)))
    });
    inserted.collect()
}
