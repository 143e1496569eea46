//! Leases of budgets, in `ledger.db`.

use rusqlite::{Connection, params};

use crate::money::Cost;
use crate::store::{Lease, LeaseRequest};

/// Grants what is left, at most what is asked for. Runs in a transaction.
pub(super) fn grant(main: &Connection, ask: &LeaseRequest) -> rusqlite::Result<Option<Lease>> {
    let left = ask.limit - taken(main, &ask.budget, ask.window)?;
    let amount = ask.amount.min(left);
    if amount <= Cost::ZERO {
        return Ok(None);
    }
    let id = main
        .prepare_cached("INSERT INTO lease (budget, window, node, amount) VALUES (?1, ?2, ?3, ?4)")?
        .insert(params![
            &*ask.budget,
            ask.window,
            &*ask.node,
            amount.nanodollars()
        ])?;
    Ok(Some(Lease {
        id,
        budget: ask.budget.clone(),
        window: ask.window,
        amount,
    }))
}

/// What is settled or leased of a window.
pub(super) fn taken(main: &Connection, budget: &str, window: i64) -> rusqlite::Result<Cost> {
    let taken = main
        .prepare_cached(
            "SELECT ifnull((SELECT settled FROM budget_window WHERE budget = ?1 AND window = ?2), 0)
                  + ifnull((SELECT sum(amount) FROM lease WHERE budget = ?1 AND window = ?2), 0)",
        )?
        .query_row(params![budget, window], |row| row.get(0))?;
    Ok(Cost::from_nanodollars(taken))
}

/// Settles what was spent of a lease, once. Runs in a transaction.
pub(super) fn close(main: &Connection, lease: &Lease, spent: Cost) -> rusqlite::Result<()> {
    let closed = main
        .prepare_cached("DELETE FROM lease WHERE id = ?1 AND budget = ?2 AND window = ?3")?
        .execute(params![lease.id, &*lease.budget, lease.window])?;
    if closed == 0 {
        return Ok(());
    }
    main.prepare_cached(
        "INSERT INTO budget_window VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET settled = settled + excluded.settled",
    )?
    .execute(params![&*lease.budget, lease.window, spent.nanodollars()])?;
    Ok(())
}

/// The open leases of a node.
pub(super) fn open_of(main: &Connection, node: &str) -> rusqlite::Result<Vec<Lease>> {
    let mut select = main.prepare_cached(
        "SELECT id, budget, window, amount FROM lease WHERE node = ?1 ORDER BY id",
    )?;
    let rows = select.query_map([node], |row| {
        Ok(Lease {
            id: row.get(0)?,
            budget: row.get::<_, String>(1)?.into(),
            window: row.get(2)?,
            amount: Cost::from_nanodollars(row.get(3)?),
        })
    })?;
    rows.collect()
}
