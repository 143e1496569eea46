//! Rollups, updated in the transaction that writes their rows.

use std::collections::BTreeMap;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Transaction};

use crate::civil::quarter_of_millis;
use crate::money::Cost;
use crate::request_id::RequestId;
use crate::rows::{AttemptRow, SettleClass};

/// The summed columns of both tables, in their order.
pub(super) const COLUMNS: [&str; 17] = [
    "requests",
    "attempts",
    "input",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "output",
    "reasoning",
    "images",
    "cost",
    "correction",
    "unpriced",
    "estimated",
    "lost",
    "repriced",
    "estimated_cost",
    "estimated_correction",
];

/// The amount to add to each column.
type Amounts = [i64; COLUMNS.len()];

/// The party of the usage, as numbers of names.
#[derive(Clone)]
pub(super) struct Group {
    pub(super) key: i32,
    pub(super) team: i32,
    pub(super) model: i32,
    pub(super) target: i32,
    pub(super) tags: Vec<i32>,
}

/// Amounts to add. Sorted, so that two nodes lock rows in the same order.
#[derive(Default)]
pub(super) struct RollupChanges {
    groups: BTreeMap<(i64, [i32; 4]), Amounts>,
    tags: BTreeMap<(i64, i32), Amounts>,
}

/// The amounts of an attempt.
pub(super) fn of_attempt(row: &AttemptRow) -> Amounts {
    let used = &row.used;
    let charged = row.charged();
    let estimated = matches!(row.settle, SettleClass::Partial | SettleClass::Estimated);
    let cost = charged.unwrap_or_default().nanodollars();
    [
        i64::from(row.number == 1),
        1,
        stored(used.input),
        stored(used.cache_read),
        stored(used.cache_write_5m),
        stored(used.cache_write_1h),
        stored(used.output),
        stored(used.reasoning),
        stored(used.images),
        cost,
        0,
        i64::from(charged.is_none()),
        i64::from(estimated),
        i64::from(row.settle == SettleClass::Lost),
        0,
        if row.settle.is_estimate() { cost } else { 0 },
        0,
    ]
}

/// The amounts of a lost attempt, which has only an estimate.
pub(super) fn of_lost(number: i32, input: i64, cost: Option<i64>) -> Amounts {
    let mut amounts = Amounts::default();
    (amounts[0], amounts[1], amounts[2]) = (i64::from(number == 1), 1, input);
    amounts[9] = cost.unwrap_or_default();
    amounts[11] = i64::from(cost.is_none());
    amounts[13] = 1;
    amounts[15] = amounts[9];
    amounts
}

/// The amounts of a correction, perhaps of an estimate.
pub(super) fn of_correction(difference: Cost, was_unpriced: bool, estimate: bool) -> Amounts {
    let mut amounts = Amounts::default();
    amounts[10] = difference.nanodollars();
    amounts[14] = i64::from(was_unpriced);
    if estimate {
        amounts[16] = difference.nanodollars();
    }
    amounts
}

/// A count as it is stored.
pub(super) fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl RollupChanges {
    /// Adds amounts of a request's attempt.
    pub(super) fn add(&mut self, request: RequestId, group: &Group, amounts: &Amounts) {
        let quarter = quarter_of_millis(request.millis());
        let names = [group.key, group.team, group.model, group.target];
        let sums = self.groups.entry((quarter, names)).or_default();
        add(sums, amounts);
        for tag in &group.tags {
            add(self.tags.entry((quarter, *tag)).or_default(), amounts);
        }
    }

    /// Takes amounts away again.
    pub(super) fn withdraw(&mut self, request: RequestId, group: &Group, amounts: &Amounts) {
        self.add(request, group, &amounts.map(i64::wrapping_neg));
    }

    pub(super) async fn apply(&self, transaction: &Transaction<'_>) -> Result<(), Error> {
        let mut keys: [Vec<i64>; 5] = Default::default();
        for (quarter, names) in self.groups.keys() {
            keys[0].push(*quarter);
            for (column, name) in keys[1..].iter_mut().zip(names) {
                column.push((*name).into());
            }
        }
        let names = ["quarter", "key", "team", "model", "target"];
        upsert(transaction, "rollup", &names, &keys, self.groups.values()).await?;
        let mut keys: [Vec<i64>; 2] = Default::default();
        for (quarter, tag) in self.tags.keys() {
            keys[0].push(*quarter);
            keys[1].push((*tag).into());
        }
        let names = ["quarter", "tag"];
        upsert(transaction, "tag_rollup", &names, &keys, self.tags.values()).await
    }
}

fn add(sums: &mut Amounts, amounts: &Amounts) {
    for (sum, amount) in sums.iter_mut().zip(amounts) {
        *sum = sum.saturating_add(*amount);
    }
}

async fn upsert(
    transaction: &Transaction<'_>,
    table: &str,
    names: &[&str],
    keys: &[Vec<i64>],
    rows: impl Iterator<Item = &Amounts>,
) -> Result<(), Error> {
    if keys[0].is_empty() {
        return Ok(());
    }
    let mut columns: Vec<Vec<i64>> = vec![Vec::new(); COLUMNS.len()];
    for row in rows {
        for (column, amount) in columns.iter_mut().zip(row) {
            column.push(*amount);
        }
    }
    let count = names.len() + COLUMNS.len();
    let arrays: Vec<String> = (1..=count).map(|n| format!("${n}::bigint[]")).collect();
    let added = COLUMNS.map(|name| format!("{name} = {table}.{name} + excluded.{name}"));
    // Keys are read as bigint and assigned to the columns' own types.
    let listed: Vec<String> = (1..=count).map(|n| format!("c{n}")).collect();
    let sql = format!(
        "INSERT INTO {table} SELECT {} FROM unnest({}) AS row ({})
         ON CONFLICT ({}) DO UPDATE SET {}",
        listed.join(", "),
        arrays.join(", "),
        listed.join(", "),
        names.join(", "),
        added.join(", ")
    );
    let keys = keys.iter().map(|column| column as &(dyn ToSql + Sync));
    let columns = columns.iter().map(|column| column as &(dyn ToSql + Sync));
    let parameters: Vec<_> = keys.chain(columns).collect();
    transaction.execute(&sql, &parameters).await?;
    Ok(())
}
