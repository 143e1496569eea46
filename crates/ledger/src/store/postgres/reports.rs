//! Reports: usage from rollups, requests from the days.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row};

use crate::money::Cost;
use crate::prices::PriceId;
use crate::quantities::Quantities;
use crate::report::{RequestQuery, StoredRequest, UsageQuery, UsageRow};
use crate::request_id::RequestId;
use crate::rows::{AttemptKind, AttemptRow, PriceRef, RequestRow, SettleClass};
use crate::store::usage_report;

/// Sums usage by the groups of the query.
pub(super) async fn usage(client: &Client, query: &UsageQuery) -> Result<Vec<UsageRow>, Error> {
    let [since, until] = usage_report::range(query);
    let rows = client
        .query(&usage_report::statement(query), &[&since, &until])
        .await?;
    let rows = rows
        .iter()
        .map(|row| usage_report::row(&query.by, |at| row.try_get(at), |at| row.try_get(at)));
    let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
    usage_report::sort(&query.by, &mut rows);
    Ok(rows)
}

fn count(row: &Row, index: usize) -> Result<u64, Error> {
    let count: i64 = row.try_get(index)?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// Lists requests with their attempts, newest first.
pub(super) async fn requests(
    client: &Client,
    query: &RequestQuery,
) -> Result<Vec<StoredRequest>, Error> {
    let since = RequestId::first_at(query.since_millis);
    let end = RequestId::first_at(query.until_millis.unwrap_or(i64::MAX >> 16));
    let end = query.before.map_or(end, |before| before.min(end));
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let mut sql = "SELECT r.id, k.text, t.text, r.end_user, r.tags, d.text, route.text, rule.text,
            m.text, o.text, r.status, r.duration_ms, r.first_token_ms
        FROM request r JOIN name k ON k.id = r.key JOIN name t ON t.id = r.team
        JOIN name d ON d.id = r.dialect JOIN name route ON route.id = r.route
        JOIN name rule ON rule.id = r.rule JOIN name m ON m.id = r.model
        JOIN name o ON o.id = r.outcome
        WHERE r.id >= $1 AND r.id < $2"
        .to_owned();
    let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&since, &end, &limit];
    let filters = [
        ("k", &query.key),
        ("t", &query.team),
        ("m", &query.model),
        ("o", &query.outcome),
    ];
    for (name, wanted) in filters {
        if let Some(wanted) = wanted {
            parameters.push(wanted);
            sql.push_str(&format!(" AND {name}.text = ${}", parameters.len()));
        }
    }
    sql.push_str(" ORDER BY r.id DESC LIMIT $3");
    let rows = client.query(&sql, &parameters).await?;
    let rows: Vec<RequestRow> = rows.iter().map(request).collect::<Result<_, _>>()?;
    let ids: Vec<RequestId> = rows.iter().map(|row| row.id).collect();
    let mut attempts = attempts(client, &ids).await?;
    let mut corrections: HashMap<RequestId, Cost> = HashMap::new();
    let select = "SELECT request, sum(difference)::bigint FROM correction
                  WHERE request = ANY($1) GROUP BY request";
    for row in client.query(select, &[&ids]).await? {
        corrections.insert(row.try_get(0)?, Cost::from_nanodollars(row.try_get(1)?));
    }
    let found = rows.into_iter().map(|request| StoredRequest {
        attempts: attempts.remove(&request.id).unwrap_or_default(),
        correction: corrections.get(&request.id).copied().unwrap_or_default(),
        request,
    });
    Ok(found.collect())
}

fn request(row: &Row) -> Result<RequestRow, Error> {
    let text = |index| row.try_get::<_, String>(index).map(Arc::<str>::from);
    let some = |index| text(index).map(|text| (!text.is_empty()).then_some(text));
    let tags: Option<String> = row.try_get(4)?;
    let tags = tags.unwrap_or_default();
    let tags = tags.split(',').filter(|tag| !tag.is_empty());
    let first: Option<i64> = row.try_get(12)?;
    Ok(RequestRow {
        id: row.try_get(0)?,
        key: some(1)?,
        team: some(2)?,
        user: row.try_get::<_, Option<String>>(3)?.map(Into::into),
        tags: tags.map(Into::into).collect(),
        dialect: text(5)?,
        route: some(6)?,
        rule: some(7)?,
        model: text(8)?,
        outcome: text(9)?,
        status: u16::try_from(row.try_get::<_, i32>(10)?).unwrap_or_default(),
        duration_ms: count(row, 11)?,
        first_token_ms: first.map(|time| u64::try_from(time).unwrap_or_default()),
    })
}

async fn attempts(
    client: &Client,
    ids: &[RequestId],
) -> Result<HashMap<RequestId, Vec<AttemptRow>>, Error> {
    let select = "SELECT a.request, a.number, a.kind, t.text, a.price, p.rates, a.cost,
            a.reported_cost, a.settle, f.text, a.input, a.cache_read, a.cache_write_5m,
            a.cache_write_1h, a.image_input, a.output, a.reasoning, a.images
        FROM attempt a JOIN name t ON t.id = a.target JOIN name f ON f.id = a.failure
        LEFT JOIN price p ON p.hash = a.price
        WHERE a.request = ANY($1) ORDER BY a.request, a.number";
    let mut found: HashMap<RequestId, Vec<AttemptRow>> = HashMap::new();
    for row in client.query(select, &[&ids]).await? {
        let attempts = found.entry(row.try_get(0)?).or_default();
        attempts.push(attempt(&row)?);
    }
    Ok(found)
}

fn attempt(row: &Row) -> Result<AttemptRow, Error> {
    let hash: Option<i64> = row.try_get(4)?;
    let rates: Option<String> = row.try_get(5)?;
    let price = hash.zip(rates).map(|(hash, rates)| PriceRef {
        id: PriceId::from_stored(hash),
        rates: rates.into(),
    });
    let cost = |index| -> Result<Option<Cost>, Error> {
        let cost: Option<i64> = row.try_get(index)?;
        Ok(cost.map(Cost::from_nanodollars))
    };
    let kind = AttemptKind::from_number(row.try_get::<_, i16>(2)?.into());
    let settle = SettleClass::from_number(row.try_get::<_, i16>(8)?.into());
    let failure: String = row.try_get(9)?;
    Ok(AttemptRow {
        number: u16::try_from(row.try_get::<_, i32>(1)?).unwrap_or(u16::MAX),
        kind: kind.unwrap_or(AttemptKind::Answer),
        target: row.try_get::<_, String>(3)?.into(),
        price,
        used: quantities(row, 10)?,
        cost: cost(6)?,
        reported_cost: cost(7)?,
        settle: settle.unwrap_or(SettleClass::Estimated),
        failure: (!failure.is_empty()).then(|| failure.into()),
    })
}

/// Eight amounts from this column on.
pub(super) fn quantities(row: &Row, first: usize) -> Result<Quantities, Error> {
    Ok(Quantities {
        input: count(row, first)?,
        cache_read: count(row, first + 1)?,
        cache_write_5m: count(row, first + 2)?,
        cache_write_1h: count(row, first + 3)?,
        image_input: count(row, first + 4)?,
        output: count(row, first + 5)?,
        reasoning: count(row, first + 6)?,
        images: count(row, first + 7)?,
    })
}
