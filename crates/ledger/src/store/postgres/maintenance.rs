//! Recovery after a crash, erasure of users, and checks.

use std::collections::{BTreeMap, HashSet};

use tokio_postgres::{Client, Error};

use crate::civil::{Day, quarter_of_millis};
use crate::report::VerifyReport;
use crate::request_id::RequestId;
use crate::rows::{FinishedRow, OpenAttempt};

use super::insert::{self, Batch, Known};
use super::partitions;

/// Turns open attempts of ended runs into `lost` rows, and returns their number.
///
/// A run holds a lock for as long as its connection lives, and the server releases it however
/// the process ended. The same lock excludes two nodes from recovering the same run.
pub(super) async fn recover(
    client: &mut Client,
    known: &mut Known,
    own: i64,
) -> Result<u64, Error> {
    let select = "SELECT DISTINCT run FROM open_attempt WHERE run <> $1";
    let mut lost = 0;
    for row in client.query(select, &[&own]).await? {
        let run: i64 = row.try_get(0)?;
        let locked = client
            .query_one("SELECT pg_try_advisory_lock($1)", &[&run])
            .await?;
        if !locked.try_get::<_, bool>(0)? {
            continue;
        }
        let recovered = recover_run(client, known, run).await;
        client
            .execute("SELECT pg_advisory_unlock($1)", &[&run])
            .await?;
        lost += recovered?;
    }
    Ok(lost)
}

async fn recover_run(client: &mut Client, known: &mut Known, run: i64) -> Result<u64, Error> {
    let select = "SELECT entry FROM open_attempt o WHERE run = $1
                  AND NOT EXISTS (SELECT 1 FROM request r WHERE r.id = o.request)";
    let mut requests: BTreeMap<RequestId, Vec<OpenAttempt>> = BTreeMap::new();
    for row in client.query(select, &[&run]).await? {
        let entry: String = row.try_get(0)?;
        if let Ok(open) = serde_json::from_str::<OpenAttempt>(&entry) {
            requests.entry(open.request).or_default().push(open);
        }
    }
    let rows: Vec<FinishedRow> = requests
        .into_values()
        .filter_map(OpenAttempt::lost)
        .collect();
    let batch = Batch {
        finished: &rows.iter().collect::<Vec<_>>(),
        opened: &[],
        run,
    };
    let lost = insert::write(client, known, &batch).await?;
    client
        .execute("DELETE FROM open_attempt WHERE run = $1", &[&run])
        .await?;
    Ok(lost)
}

/// Erases a user's name, and returns the number of requests. Rollups have no users.
pub(super) async fn erase_user(client: &Client, user: &str) -> Result<u64, Error> {
    let update = "UPDATE request SET end_user = NULL WHERE end_user = $1 RETURNING id";
    let erased = client.query(update, &[&user]).await?;
    let days = erased.iter().map(|row| row.try_get::<_, RequestId>(0));
    let days: HashSet<Day> = days
        .map(|id| id.map(RequestId::day))
        .collect::<Result<_, _>>()?;
    for day in days {
        partitions::rewrite_requests(client, day).await?;
    }
    Ok(erased.len() as u64)
}

/// Compares the rollups of every day that still has its rows with these rows.
pub(super) async fn verify(client: &Client) -> Result<VerifyReport, Error> {
    let mut report = VerifyReport::default();
    for day in partitions::days(client).await? {
        report.days += 1;
        let [from, until] = partitions::id_range(day);
        // A single statement sees one state, even while a gateway writes.
        let select = "SELECT
                (SELECT ARRAY[count(*), coalesce(sum(input), 0), coalesce(sum(output), 0),
                     coalesce(sum(coalesce(reported_cost, cost)), 0)]::bigint[]
                 FROM attempt WHERE request >= $1 AND request < $2)
                || (SELECT coalesce(sum(difference), 0)::bigint
                    FROM correction WHERE request >= $1 AND request < $2),
                (SELECT ARRAY[coalesce(sum(attempts), 0), coalesce(sum(input), 0),
                     coalesce(sum(output), 0), coalesce(sum(cost), 0),
                     coalesce(sum(correction), 0)]::bigint[]
                 FROM rollup WHERE quarter >= $3 AND quarter < $4)";
        let first = quarter_of_millis(day.start_millis());
        let row = client
            .query_one(select, &[&from, &until, &first, &(first + 96)])
            .await?;
        let (rows, rolled): (Vec<i64>, Vec<i64>) = (row.try_get(0)?, row.try_get(1)?);
        report.attempts += u64::try_from(rows[0]).unwrap_or_default();
        if rows != rolled && !partitions::was_dropped(client, day).await? {
            report.problems.push(format!(
                "{day}: the rollups have {rolled:?} (attempts, input, output, cost, \
                 corrections), the rows {rows:?}"
            ));
        }
    }
    Ok(report)
}
