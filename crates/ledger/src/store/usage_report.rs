//! Usage reports: one statement for every database, and the order of its rows.
//!
//! Both databases have the same rollups. They differ only in how a column is read.

use std::cmp::Reverse;

use crate::civil::{Day, QUARTER_MS, quarter_of_millis};
use crate::money::Cost;
use crate::report::{GroupBy, UsageQuery, UsageRow, UsageSums};

/// Quarter hours of an hour and of a day.
const HOUR: i64 = 4;
const DAY: i64 = 96;

/// The columns before the groups.
const SUMS: usize = 14;

/// The statement of a query. Its parameters are those of [`range`].
pub(super) fn statement(query: &UsageQuery) -> String {
    // Offsets of zones are multiples of a quarter hour.
    let offset = i64::from(query.utc_offset_minutes).div_euclid(15);
    let (cost, unpriced, estimated_cost) = match query.as_recorded {
        true => ("cost", "unpriced", "estimated_cost"),
        false => (
            "cost + correction",
            "unpriced - repriced",
            "estimated_cost + estimated_correction",
        ),
    };
    let sums: [&str; SUMS] = [
        "requests",
        "attempts",
        "input",
        "cache_read",
        "cache_write_5m",
        "cache_write_1h",
        "output",
        "reasoning",
        "images",
        cost,
        unpriced,
        "estimated",
        "lost",
        estimated_cost,
    ];
    let mut inner = Vec::new();
    let mut outer = Vec::new();
    let mut joins = String::new();
    for (index, sum) in sums.iter().enumerate() {
        // A sum over no rows is null, and PostgreSQL's sum of integers is not an integer.
        inner.push(format!(
            "CAST(coalesce(sum({sum}), 0) AS bigint) AS s{index}"
        ));
        outer.push(format!("s{index}"));
    }
    let mut groups = Vec::new();
    for (index, group) in query.by.iter().enumerate() {
        let column = match group {
            GroupBy::Hour => format!("(quarter + {offset}) / {HOUR}"),
            GroupBy::Day => format!("(quarter + {offset}) / {DAY}"),
            // Sum by number, then look up the names.
            named => {
                joins.push_str(&format!(
                    " LEFT JOIN name n{index} ON n{index}.id = g{index}"
                ));
                named.as_str().to_owned()
            }
        };
        outer.push(match is_time(*group) {
            true => format!("g{index}"),
            false => format!("coalesce(n{index}.text, '')"),
        });
        inner.push(format!("{column} AS g{index}"));
        groups.push(column);
    }
    let table = match query.by.contains(&GroupBy::Tag) {
        true => "tag_rollup",
        false => "rollup",
    };
    let grouped = match groups.is_empty() {
        true => String::new(),
        false => format!("GROUP BY {}", groups.join(", ")),
    };
    format!(
        "SELECT {} FROM (SELECT {} FROM {table} WHERE quarter >= $1 AND quarter < $2 {grouped}) s
         {joins}",
        outer.join(", "),
        inner.join(", ")
    )
}

/// The quarter hours of a query, excluding the end.
pub(super) fn range(query: &UsageQuery) -> [i64; 2] {
    let until = query.until_millis.saturating_add(QUARTER_MS - 1);
    [
        quarter_of_millis(query.since_millis),
        quarter_of_millis(until),
    ]
}

/// A row of the statement, by its columns.
pub(super) fn row<E>(
    by: &[GroupBy],
    number: impl Fn(usize) -> Result<i64, E>,
    text: impl Fn(usize) -> Result<String, E>,
) -> Result<UsageRow, E> {
    let mut group = Vec::with_capacity(by.len());
    for (index, by) in (SUMS..).zip(by) {
        group.push(match by {
            GroupBy::Day => Day::from_number(number(index)?).to_string(),
            GroupBy::Hour => {
                let hour = number(index)?;
                let day = Day::from_number(hour.div_euclid(24));
                format!("{day} {:02}:00", hour.rem_euclid(24))
            }
            _ => text(index)?,
        });
    }
    let count = |index| number(index).map(|count| u64::try_from(count).unwrap_or_default());
    let sums = UsageSums {
        requests: count(0)?,
        attempts: count(1)?,
        input: count(2)?,
        cache_read: count(3)?,
        cache_write_5m: count(4)?,
        cache_write_1h: count(5)?,
        output: count(6)?,
        reasoning: count(7)?,
        images: count(8)?,
        cost: Cost::from_nanodollars(number(9)?),
        unpriced: count(10)?,
        estimated: count(11)?,
        lost: count(12)?,
        estimated_cost: Cost::from_nanodollars(number(13)?),
    };
    Ok(UsageRow { group, sums })
}

/// Sorts the rows of a report by time, then most expensive first, then by name.
pub(super) fn sort(by: &[GroupBy], rows: &mut [UsageRow]) {
    rows.sort_by_cached_key(|row| {
        let times = row.group.iter().zip(by).filter(|(_, by)| is_time(**by));
        let times: Vec<String> = times.map(|(time, _)| time.clone()).collect();
        (times, Reverse(row.sums.cost), row.group.clone())
    });
}

fn is_time(group: GroupBy) -> bool {
    matches!(group, GroupBy::Hour | GroupBy::Day)
}
