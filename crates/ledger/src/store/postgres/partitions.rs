//! One partition per day of each table of rows.

use std::collections::BTreeSet;

use tokio_postgres::{Client, Error, Transaction};

use crate::civil::Day;
use crate::request_id::RequestId;

use super::migrations::SCHEMA_LOCK;

/// The tables that have a partition per day.
const TABLES: [&str; 3] = ["request", "attempt", "correction"];

/// The first ids of a day and of the next one.
pub(super) fn id_range(day: Day) -> [RequestId; 2] {
    [day, day.minus(-1)].map(|day| RequestId::first_at(day.start_millis()))
}

fn partition(table: &str, day: Day) -> String {
    format!("{table}_{}", day.to_string().replace('-', "_"))
}

/// Creates the partitions of days that have none. A partition is built separately and then
/// attached, so that rows of other days can be written in the meantime.
pub(super) async fn ensure(client: &mut Client, days: &BTreeSet<Day>) -> Result<(), Error> {
    for day in days {
        let transaction = client.transaction().await?;
        lock(&transaction).await?;
        if present(&transaction, *day).await? {
            continue;
        }
        let [from, until] = id_range(*day);
        for table in TABLES {
            let name = partition(table, *day);
            let create = format!(
                "CREATE TABLE {name} (LIKE {table} INCLUDING ALL);
                 ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ('{from}') TO ('{until}')"
            );
            transaction.batch_execute(&create).await?;
        }
        let insert = "INSERT INTO day VALUES ($1, true, false)
                      ON CONFLICT (number) DO UPDATE SET present = true";
        transaction.execute(insert, &[&number(*day)]).await?;
        transaction.commit().await?;
    }
    Ok(())
}

/// The days that have rows, oldest first.
pub(super) async fn days(client: &Client) -> Result<Vec<Day>, Error> {
    let select = "SELECT number FROM day WHERE present ORDER BY number";
    let rows = client.query(select, &[]).await?;
    let days = rows.iter().map(|row| {
        let number: i32 = row.try_get(0)?;
        Ok(Day::from_number(number.into()))
    });
    days.collect()
}

/// Removes the rows of a day. Returns whether there were any.
pub(super) async fn remove(client: &mut Client, day: Day) -> Result<bool, Error> {
    let transaction = client.transaction().await?;
    lock(&transaction).await?;
    // Another node may have done it first.
    if !present(&transaction, day).await? {
        return Ok(false);
    }
    for table in TABLES {
        let drop = format!("DROP TABLE {}", partition(table, day));
        transaction.batch_execute(&drop).await?;
    }
    let update = "UPDATE day SET present = false, dropped = true WHERE number = $1";
    transaction.execute(update, &[&number(day)]).await?;
    transaction.commit().await?;
    Ok(true)
}

/// Rewrites the requests of a day, so that deleted values are not on its pages.
pub(super) async fn rewrite_requests(client: &Client, day: Day) -> Result<(), Error> {
    let partition = partition("request", day);
    // The first statement removes old row versions, which the second would copy while an older
    // transaction of any database is open.
    for vacuum in ["VACUUM", "VACUUM FULL"] {
        client
            .batch_execute(&format!("{vacuum} {partition}"))
            .await?;
    }
    Ok(())
}

/// Whether rows of the day were ever dropped, so that its rollups exceed its rows.
pub(super) async fn was_dropped(client: &Client, day: Day) -> Result<bool, Error> {
    let select = "SELECT dropped FROM day WHERE number = $1";
    let row = client.query_opt(select, &[&number(day)]).await?;
    row.map_or(Ok(false), |row| row.try_get(0))
}

async fn present(transaction: &Transaction<'_>, day: Day) -> Result<bool, Error> {
    let select = "SELECT present FROM day WHERE number = $1";
    let row = transaction.query_opt(select, &[&number(day)]).await?;
    row.map_or(Ok(false), |row| row.try_get(0))
}

async fn lock(transaction: &Transaction<'_>) -> Result<(), Error> {
    let lock = "SELECT pg_advisory_xact_lock($1)";
    transaction.execute(lock, &[&SCHEMA_LOCK]).await?;
    Ok(())
}

fn number(day: Day) -> i32 {
    i32::try_from(day.number()).unwrap_or(i32::MAX)
}
