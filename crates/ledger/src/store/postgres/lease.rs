//! Leases of budgets.

use tokio_postgres::{Client, Error};

use crate::civil::quarter_of_millis;
use crate::money::Cost;
use crate::store::{Lease, LeaseDecision, LeaseRequest, Opening};

/// Grants a run the remainder, up to the requested amount. Takes one round trip, and more for
/// the first request of a budget.
pub(super) async fn grant(
    client: &Client,
    ask: &LeaseRequest,
    run: i64,
) -> Result<LeaseDecision, Error> {
    if let Some(opening) = &ask.opening {
        open_window(client, ask, opening).await?;
    }
    let row = client
        .query_one(
            "SELECT lease_id, granted, taken FROM grant_lease($1, $2, $3, $4, $5, $6)",
            &[
                &&*ask.budget,
                &ask.window,
                &run.to_string(),
                &ask.limit.nanodollars(),
                &ask.amount.nanodollars(),
                &ask.least.nanodollars(),
            ],
        )
        .await?;
    let id: Option<i64> = row.try_get(0)?;
    let amount = Cost::from_nanodollars(row.try_get(1)?);
    Ok(LeaseDecision {
        lease: id.map(|id| Lease {
            id,
            budget: ask.budget.clone(),
            window: ask.window,
            amount,
        }),
        taken: Cost::from_nanodollars(row.try_get(2)?),
    })
}

/// Starts an unknown window with its payer's charges so far, from rollups.
async fn open_window(client: &Client, ask: &LeaseRequest, opening: &Opening) -> Result<(), Error> {
    let (filter, name) = match opening.payer.column() {
        Some((column, name)) => {
            let id = "(SELECT id FROM name WHERE text = $4::text)";
            (format!("{column} = {id}"), name)
        }
        None => ("$4::text = ''".to_owned(), ""),
    };
    let insert = format!(
        "INSERT INTO budget_window
         SELECT $1::text, $2::bigint, greatest(coalesce(sum(cost + correction), 0), 0)::bigint
         FROM rollup WHERE quarter >= $3 AND {filter}
         HAVING NOT EXISTS (SELECT 1 FROM budget_window
                            WHERE budget = $1::text AND number BETWEEN $2::bigint - 1 AND $2::bigint)
         ON CONFLICT DO NOTHING"
    );
    let since = quarter_of_millis(opening.since_millis);
    client
        .execute(&insert, &[&&*ask.budget, &ask.window, &since, &name])
        .await?;
    Ok(())
}

/// Settles the spent amount of a lease, once.
pub(super) async fn close(client: &Client, lease: &Lease, spent: Cost) -> Result<(), Error> {
    let sql = "SELECT close_lease($1, $2, $3, $4)";
    let spent = spent.nanodollars();
    client
        .execute(sql, &[&lease.id, &&*lease.budget, &lease.window, &spent])
        .await?;
    Ok(())
}

/// Closes the leases of ended runs as spent. A live run holds a lock.
pub(super) async fn close_abandoned(client: &Client, own: i64) -> Result<u64, Error> {
    let runs = client.query("SELECT DISTINCT node FROM lease", &[]).await?;
    let mut closed = 0;
    for row in runs {
        let node: String = row.try_get(0)?;
        let Ok(run) = node.parse::<i64>() else {
            continue;
        };
        if run == own {
            continue;
        }
        let locked = client
            .query_one("SELECT pg_try_advisory_lock($1)", &[&run])
            .await?;
        if !locked.try_get::<_, bool>(0)? {
            continue;
        }
        let count = client
            .query_one("SELECT close_leases_of($1)", &[&node])
            .await;
        client
            .execute("SELECT pg_advisory_unlock($1)", &[&run])
            .await?;
        closed += u64::try_from(count?.try_get::<_, i64>(0)?).unwrap_or(0);
    }
    Ok(closed)
}
