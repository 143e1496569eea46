//! Reports: usage from rollups, requests from the days.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rusqlite::Connection;

use crate::civil::Day;
use crate::money::Cost;
use crate::report::{RequestQuery, StoredRequest, UsageQuery, UsageRow};
use crate::request_id::RequestId;
use crate::rows::{AttemptKind, AttemptRow, PriceRef, RequestRow, SettleClass};
use crate::store::{StoreError, usage_report};

use super::SqliteStore;
use super::connection::at;
use super::day_file::DayFile;
use super::names;
use super::packed::{PackedAttempt, PackedRequest, unpack};

/// Sums usage by the groups of the query.
pub(super) fn usage(main: &Connection, query: &UsageQuery) -> rusqlite::Result<Vec<UsageRow>> {
    let mut select = main.prepare(&usage_report::statement(query))?;
    let rows = select.query_map(usage_report::range(query), |row| {
        usage_report::row(&query.by, |index| row.get(index), |index| row.get(index))
    })?;
    let mut rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    usage_report::sort(&query.by, &mut rows);
    Ok(rows)
}

impl SqliteStore {
    /// Lists requests, newest day first.
    pub(super) fn list_requests(
        &mut self,
        query: &RequestQuery,
    ) -> Result<Vec<StoredRequest>, StoreError> {
        let until = query.until_millis.unwrap_or(i64::MAX >> 16);
        let last = query.before.map_or(until, |id| id.millis().min(until));
        let days = self.stored_days()?;
        let days = days.into_iter().rev();
        let days = days.filter(|day| {
            *day >= Day::of_millis(query.since_millis) && *day <= Day::of_millis(last)
        });
        let mut found = Vec::new();
        for day in days {
            if found.len() >= query.limit {
                break;
            }
            let file = self.day(day)?;
            let left = query.limit - found.len();
            found.extend(day_requests(file, query, until, left).map_err(at(&file.path))?);
        }
        Ok(found)
    }
}

fn day_requests(
    file: &DayFile,
    query: &RequestQuery,
    until: i64,
    limit: usize,
) -> rusqlite::Result<Vec<StoredRequest>> {
    let since = RequestId::first_at(query.since_millis);
    let end = RequestId::first_at(until);
    let range = since..query.before.map_or(end, |before| before.min(end));
    let Some(filter) = Filter::of(file, query)? else {
        return Ok(Vec::new());
    };
    let mut newest: BTreeMap<RequestId, PackedRequest> = BTreeMap::new();
    let mut select = file.db.prepare_cached(
        "SELECT high, rows FROM batch WHERE high >= ?1 AND low < ?2 ORDER BY high DESC",
    )?;
    let mut batches = select.query([range.start.bytes(), range.end.bytes()])?;
    while let Some(batch) = batches.next()? {
        let high = RequestId::from_bytes(batch.get(0)?);
        let oldest = newest.first_key_value().map(|(id, _)| *id);
        if newest.len() >= limit && oldest.is_none_or(|oldest| high < oldest) {
            break;
        }
        for request in unpack(batch.get_ref(1)?.as_blob()?) {
            let request = request?;
            if range.contains(&request.id()) && filter.selects(&request) {
                newest.insert(request.id(), request);
                if newest.len() > limit {
                    newest.pop_first();
                }
            }
        }
    }
    let (names, prices) = (file.names()?, file.prices()?);
    let mut found = Vec::with_capacity(newest.len());
    for (id, packed) in newest.into_iter().rev() {
        let mut select = file.db.prepare_cached(
            "SELECT ifnull(sum(difference), 0) FROM correction WHERE request = ?1",
        )?;
        let correction = select.query_row([id.bytes()], |row| row.get(0))?;
        found.push(StoredRequest {
            request: request_row(&packed, &names),
            attempts: packed
                .attempts
                .iter()
                .map(|attempt| attempt_row(attempt, &names, &prices))
                .collect(),
            correction: Cost::from_nanodollars(correction),
        });
    }
    Ok(found)
}

/// A query's conditions, as numbers of a day's names.
struct Filter {
    key: Option<i64>,
    team: Option<i64>,
    model: Option<i64>,
    outcome: Option<i64>,
}

impl Filter {
    /// `None` if the day has no such names.
    fn of(file: &DayFile, query: &RequestQuery) -> rusqlite::Result<Option<Self>> {
        let mut ids = [None; 4];
        let wanted = [&query.key, &query.team, &query.model, &query.outcome];
        for (id, wanted) in ids.iter_mut().zip(wanted) {
            if let Some(wanted) = wanted {
                *id = names::find(&file.db, wanted)?;
                if id.is_none() {
                    return Ok(None);
                }
            }
        }
        let [key, team, model, outcome] = ids;
        Ok(Some(Self {
            key,
            team,
            model,
            outcome,
        }))
    }

    fn selects(&self, request: &PackedRequest) -> bool {
        let conditions = [
            (self.key, request.key),
            (self.team, request.team),
            (self.model, request.model),
            (self.outcome, request.outcome),
        ];
        let holds = |(wanted, found): (Option<i64>, i64)| wanted.is_none_or(|id| id == found);
        conditions.into_iter().all(holds)
    }
}

fn request_row(packed: &PackedRequest, names: &HashMap<i64, String>) -> RequestRow {
    let name = |id: i64| names.get(&id).map_or("", String::as_str);
    let tags = name(packed.tags).split(',').filter(|tag| !tag.is_empty());
    RequestRow {
        id: packed.id(),
        key: some_name(name(packed.key)),
        team: some_name(name(packed.team)),
        user: some_name(name(packed.user)),
        tags: tags.map(Into::into).collect(),
        dialect: name(packed.dialect).into(),
        route: some_name(name(packed.route)),
        rule: some_name(name(packed.rule)),
        model: name(packed.model).into(),
        outcome: name(packed.outcome).into(),
        status: packed.status,
        duration_ms: packed.duration_ms,
        first_token_ms: packed.first_token_ms,
    }
}

fn attempt_row(
    packed: &PackedAttempt,
    names: &HashMap<i64, String>,
    prices: &HashMap<i64, PriceRef>,
) -> AttemptRow {
    let name = |id: i64| names.get(&id).map_or("", String::as_str);
    AttemptRow {
        number: packed.number,
        kind: AttemptKind::from_number(packed.kind).unwrap_or(AttemptKind::Answer),
        target: name(packed.target).into(),
        price: packed.price.and_then(|price| prices.get(&price).cloned()),
        used: packed.used,
        cost: packed.cost.map(Cost::from_nanodollars),
        reported_cost: packed.reported_cost.map(Cost::from_nanodollars),
        settle: SettleClass::from_number(packed.settle).unwrap_or(SettleClass::Estimated),
        failure: some_name(name(packed.failure)),
    }
}

/// A name, unless it is the empty one.
fn some_name(name: &str) -> Option<Arc<str>> {
    (!name.is_empty()).then(|| name.into())
}
