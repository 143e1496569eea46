//! Leases of budgets.

use tokio_postgres::{Client, Error};

use crate::money::Cost;
use crate::store::{Lease, LeaseRequest};

/// Grants what is left, at most what is asked for, in one round trip.
pub(super) async fn grant(client: &Client, ask: &LeaseRequest) -> Result<Option<Lease>, Error> {
    let row = client
        .query_one(
            "SELECT lease_id, granted FROM grant_lease($1, $2, $3, $4, $5)",
            &[
                &&*ask.budget,
                &ask.window,
                &&*ask.node,
                &ask.limit.nanodollars(),
                &ask.amount.nanodollars(),
            ],
        )
        .await?;
    let id: Option<i64> = row.try_get(0)?;
    let Some(id) = id else {
        return Ok(None);
    };
    Ok(Some(Lease {
        id,
        budget: ask.budget.clone(),
        window: ask.window,
        amount: Cost::from_nanodollars(row.try_get(1)?),
    }))
}

/// What is settled or leased of a window.
pub(super) async fn taken(client: &Client, budget: &str, window: i64) -> Result<Cost, Error> {
    let sql = "SELECT (coalesce((SELECT settled FROM budget_window WHERE budget = $1 AND number = $2), 0)
            + coalesce((SELECT sum(amount) FROM lease WHERE budget = $1 AND number = $2), 0))::bigint";
    let row = client.query_one(sql, &[&budget, &window]).await?;
    Ok(Cost::from_nanodollars(row.try_get(0)?))
}

/// Settles what was spent of a lease, once.
pub(super) async fn close(client: &Client, lease: &Lease, spent: Cost) -> Result<(), Error> {
    let sql = "SELECT close_lease($1, $2, $3, $4)";
    let spent = spent.nanodollars();
    client
        .execute(sql, &[&lease.id, &&*lease.budget, &lease.window, &spent])
        .await?;
    Ok(())
}

/// The open leases of a node.
pub(super) async fn open_of(client: &Client, node: &str) -> Result<Vec<Lease>, Error> {
    let select = "SELECT id, budget, number, amount FROM lease WHERE node = $1 ORDER BY id";
    let rows = client.query(select, &[&node]).await?;
    let leases = rows.iter().map(|row| {
        Ok(Lease {
            id: row.try_get(0)?,
            budget: row.try_get::<_, String>(1)?.into(),
            window: row.try_get(2)?,
            amount: Cost::from_nanodollars(row.try_get(3)?),
        })
    });
    leases.collect()
}
