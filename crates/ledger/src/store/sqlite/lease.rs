//! Leases of budgets, in `ledger.db`.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};

use crate::civil::quarter_of_millis;
use crate::money::Cost;
use crate::store::{Lease, LeaseDecision, LeaseRequest, Opening};

/// Grants a run the remainder, up to the requested amount. Runs in a transaction.
pub(super) fn grant(
    main: &Connection,
    ask: &LeaseRequest,
    run: &str,
) -> rusqlite::Result<LeaseDecision> {
    if let Some(opening) = &ask.opening
        && !is_known(main, &ask.budget, ask.window)?
    {
        let spent = cost_of(main, opening)?.max(Cost::ZERO);
        main.execute(
            "INSERT INTO budget_window VALUES (?1, ?2, ?3)",
            params![&*ask.budget, ask.window, spent.nanodollars()],
        )?;
    }
    let taken = taken(main, &ask.budget, ask.window)?;
    let Some(amount) = ask.granted_of(taken) else {
        return Ok(LeaseDecision { lease: None, taken });
    };
    let id = main
        .prepare_cached("INSERT INTO lease (budget, window, node, amount) VALUES (?1, ?2, ?3, ?4)")?
        .insert(params![&*ask.budget, ask.window, run, amount.nanodollars()])?;
    let lease = Lease {
        id,
        budget: ask.budget.clone(),
        window: ask.window,
        amount,
    };
    Ok(LeaseDecision {
        lease: Some(lease),
        taken,
    })
}

/// Whether a window, or the previous one, has spending.
fn is_known(main: &Connection, budget: &str, window: i64) -> rusqlite::Result<bool> {
    main.query_row(
        "SELECT EXISTS (SELECT 1 FROM budget_window
                        WHERE budget = ?1 AND window BETWEEN ?2 - 1 AND ?2)
             OR EXISTS (SELECT 1 FROM lease WHERE budget = ?1 AND window BETWEEN ?2 - 1 AND ?2)",
        params![budget, window],
        |row| row.get(0),
    )
}

/// A payer's charges, from rollups.
fn cost_of(main: &Connection, opening: &Opening) -> rusqlite::Result<Cost> {
    let (filter, name) = match opening.payer.column() {
        Some((column, name)) => {
            let id = "(SELECT id FROM name WHERE text = ?2)";
            (format!("{column} = {id}"), name)
        }
        None => ("?2 = ''".to_owned(), ""),
    };
    let select = format!(
        "SELECT ifnull(sum(cost + correction), 0) FROM rollup WHERE quarter >= ?1 AND {filter}"
    );
    let since = quarter_of_millis(opening.since_millis);
    let sum = main.query_row(&select, params![since, name], |row| row.get(0))?;
    Ok(Cost::from_nanodollars(sum))
}

/// The settled or leased amount of a window.
fn taken(main: &Connection, budget: &str, window: i64) -> rusqlite::Result<Cost> {
    let taken = main
        .prepare_cached(
            "SELECT ifnull((SELECT settled FROM budget_window WHERE budget = ?1 AND window = ?2), 0)
                  + ifnull((SELECT sum(amount) FROM lease WHERE budget = ?1 AND window = ?2), 0)",
        )?
        .query_row(params![budget, window], |row| row.get(0))?;
    Ok(Cost::from_nanodollars(taken))
}

/// Settles the spent amount of a lease, once. Runs in a transaction.
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

/// The runs that have leases.
pub(super) fn runs(main: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let mut select = main.prepare_cached("SELECT DISTINCT node FROM lease")?;
    select.query_map([], |row| row.get(0))?.collect()
}

/// Closes the leases of a run as spent. Runs in a transaction.
pub(super) fn close_all(main: &Connection, run: &str) -> rusqlite::Result<u64> {
    main.prepare_cached(
        "INSERT INTO budget_window
         SELECT budget, window, sum(amount) FROM lease WHERE node = ?1 GROUP BY budget, window
         ON CONFLICT DO UPDATE SET settled = settled + excluded.settled",
    )?
    .execute([run])?;
    let closed = main
        .prepare_cached("DELETE FROM lease WHERE node = ?1")?
        .execute([run])?;
    Ok(closed as u64)
}
