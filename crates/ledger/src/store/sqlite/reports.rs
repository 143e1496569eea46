//! Answers: usage from rollups, requests from the days.

use std::collections::HashMap;

use rusqlite::{Connection, Row, params_from_iter, types::Value};

use crate::civil::Day;
use crate::money::Cost;
use crate::report::{RequestQuery, StoredRequest, UsageQuery, UsageRow};
use crate::request_id::RequestId;
use crate::rows::RequestRow;
use crate::store::{StoreError, usage_report};

use super::SqliteStore;
use super::connection::at;
use super::day_file::{DayFile, restored, some_name};
use super::names;

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
    let end = RequestId::first_at(until);
    let end = query.before.map_or(end, |before| before.min(end));
    let mut sql = "SELECT id, key, team, user, tags, dialect, route, rule, model, outcome, status,
                          duration_ms, first_token_ms
                   FROM request WHERE id >= ? AND id < ?"
        .to_owned();
    let since = RequestId::first_at(query.since_millis);
    let mut values: Vec<Value> = [since, end]
        .iter()
        .map(|id| Value::Blob(id.bytes().to_vec()))
        .collect();
    let filters = [
        ("key", &query.key),
        ("team", &query.team),
        ("model", &query.model),
        ("outcome", &query.outcome),
    ];
    for (column, wanted) in filters {
        if let Some(wanted) = wanted {
            let Some(id) = names::find(&file.db, wanted)? else {
                return Ok(Vec::new());
            };
            sql.push_str(&format!(" AND {column} = ?"));
            values.push(Value::Integer(id));
        }
    }
    sql.push_str(" ORDER BY id DESC LIMIT ?");
    values.push(Value::Integer(i64::try_from(limit).unwrap_or(i64::MAX)));
    let names = file.names()?;
    let mut select = file.db.prepare_cached(&sql)?;
    let rows = select.query_map(params_from_iter(values), |row| request(row, &names))?;
    let mut found = Vec::new();
    for request in rows {
        let request = request?;
        let attempts = file.attempts(request.id, &names)?;
        let mut select = file.db.prepare_cached(
            "SELECT ifnull(sum(difference), 0) FROM correction WHERE request = ?1",
        )?;
        let correction = select.query_row([request.id.bytes()], |row| row.get(0))?;
        found.push(StoredRequest {
            request,
            attempts,
            correction: Cost::from_nanodollars(correction),
        });
    }
    Ok(found)
}

fn request(row: &Row<'_>, names: &HashMap<i64, String>) -> rusqlite::Result<RequestRow> {
    let name = |index| -> rusqlite::Result<&str> {
        let id: i64 = row.get(index)?;
        Ok(names.get(&id).map_or("", String::as_str))
    };
    let tags = name(4)?.split(',').filter(|tag| !tag.is_empty());
    Ok(RequestRow {
        id: RequestId::from_bytes(row.get(0)?),
        key: some_name(name(1)?),
        team: some_name(name(2)?),
        user: some_name(name(3)?),
        tags: tags.map(Into::into).collect(),
        dialect: name(5)?.into(),
        route: some_name(name(6)?),
        rule: some_name(name(7)?),
        model: name(8)?.into(),
        outcome: name(9)?.into(),
        status: row.get(10)?,
        duration_ms: restored(row.get(11)?),
        first_token_ms: row.get::<_, Option<i64>>(12)?.map(restored),
    })
}
