//! Rollups: sums per quarter hour, made from the rows of the days.
//!
//! A day's rollups are a function of its file. `rolled` remembers how far a day has been
//! summed, in the same transaction as the sums: a crash between the two files is caught
//! up, and rows that a damaged journal lost are noticed and the day is summed anew.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::civil::{Day, QUARTER_MS, quarter_of_millis};
use crate::money::Cost;
use crate::report::UsageSums;
use crate::request_id::RequestId;
use crate::rows::SettleClass;

use super::day_file::{DayFile, restored};
use super::names::NameIds;

/// Quarter hours of a day.
const QUARTERS: i64 = 86_400_000 / QUARTER_MS;

/// Sums of one rollup row; corrections apart.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct RollupSums {
    pub(super) sums: UsageSums,
    pub(super) correction: Cost,
    pub(super) repriced: u64,
}

/// Sums of a day, by the numbers of the day's names.
#[derive(Default)]
pub(super) struct DaySums {
    pub(super) groups: HashMap<(i64, [i64; 4]), RollupSums>,
    /// By the number of the joined tags.
    tags: HashMap<(i64, i64), RollupSums>,
    pub(super) last_attempt: i64,
    last_correction: i64,
}

/// Sums the rows after these sequence numbers.
pub(super) fn sum_day(
    file: &Connection,
    after_attempt: i64,
    after_correction: i64,
) -> rusqlite::Result<DaySums> {
    let mut day = DaySums {
        last_attempt: after_attempt,
        last_correction: after_correction,
        ..DaySums::default()
    };
    let mut select = file.prepare_cached(
        "SELECT seq, request, number, target, input, cache_read, cache_write_5m, cache_write_1h,
                output, reasoning, images, ifnull(reported_cost, cost), settle,
                r.key, r.team, r.model, r.tags
         FROM attempt JOIN request r ON r.id = request WHERE seq > ?1",
    )?;
    let mut rows = select.query([after_attempt])?;
    while let Some(row) = rows.next()? {
        let count = |index| row.get::<_, i64>(index).map(restored);
        let quarter = quarter_of_millis(RequestId::from_bytes(row.get(1)?).millis());
        let cost: Option<i64> = row.get(11)?;
        let settle = SettleClass::from_number(row.get(12)?);
        let sums = UsageSums {
            requests: u64::from(row.get::<_, i64>(2)? == 1),
            attempts: 1,
            input: count(4)?,
            cache_read: count(5)?,
            cache_write_5m: count(6)?,
            cache_write_1h: count(7)?,
            output: count(8)?,
            reasoning: count(9)?,
            images: count(10)?,
            cost: Cost::from_nanodollars(cost.unwrap_or_default()),
            unpriced: u64::from(cost.is_none()),
            estimated: u64::from(matches!(
                settle,
                Some(SettleClass::Partial | SettleClass::Estimated)
            )),
            lost: u64::from(settle == Some(SettleClass::Lost)),
        };
        let group = [row.get(13)?, row.get(14)?, row.get(15)?, row.get(3)?];
        day.groups
            .entry((quarter, group))
            .or_default()
            .sums
            .add(&sums);
        let tags: i64 = row.get(16)?;
        if tags != 0 {
            day.tags.entry((quarter, tags)).or_default().sums.add(&sums);
        }
        day.last_attempt = day.last_attempt.max(row.get(0)?);
    }
    let mut select = file.prepare_cached(
        "SELECT c.seq, c.request, a.target, c.difference, c.was_unpriced, r.key, r.team, r.model,
                r.tags
         FROM correction c JOIN request r ON r.id = c.request
         JOIN attempt a ON a.request = c.request AND a.number = c.number WHERE c.seq > ?1",
    )?;
    let mut rows = select.query([after_correction])?;
    while let Some(row) = rows.next()? {
        let quarter = quarter_of_millis(RequestId::from_bytes(row.get(1)?).millis());
        let difference = Cost::from_nanodollars(row.get(3)?);
        let repriced = restored(row.get(4)?);
        let group = [row.get(5)?, row.get(6)?, row.get(7)?, row.get(2)?];
        let tags: i64 = row.get(8)?;
        let tagged = (tags != 0).then(|| day.tags.entry((quarter, tags)).or_default());
        let grouped = day.groups.entry((quarter, group)).or_default();
        for sums in [Some(grouped), tagged].into_iter().flatten() {
            sums.correction += difference;
            sums.repriced += repriced;
        }
        day.last_correction = day.last_correction.max(row.get(0)?);
    }
    Ok(day)
}

/// Adds the rows of a day that are not in the rollups yet. Runs in a transaction on
/// `main`.
pub(super) fn roll_up(
    main: &Connection,
    names: &mut NameIds,
    day: Day,
    file: &DayFile,
) -> rusqlite::Result<()> {
    let before = rolled(main, day)?;
    let mut from = before;
    let last = |table: &str| -> rusqlite::Result<i64> {
        let sql = format!("SELECT ifnull(max(seq), 0) FROM {table}");
        file.db
            .prepare_cached(&sql)?
            .query_row([], |row| row.get(0))
    };
    let (attempts, corrections) = (last("attempt")?, last("correction")?);
    if from.attempt > attempts || from.correction > corrections {
        if from.dropped {
            // The rollups also have rows that are gone for good.
            (from.attempt, from.correction) = (attempts, corrections);
        } else {
            remove(main, day)?;
            (from.attempt, from.correction) = (0, 0);
        }
    }
    let sums = sum_day(&file.db, from.attempt, from.correction)?;
    let after = Rolled {
        attempt: sums.last_attempt,
        correction: sums.last_correction,
        dropped: from.dropped,
    };
    if after == before {
        return Ok(());
    }
    let day_names = file.names()?;
    let name = |id: &i64| day_names.get(id).map(String::as_str);
    for ((quarter, group), sums) in &sums.groups {
        let mut ids = [0; 4];
        for (id, local) in ids.iter_mut().zip(group) {
            *id = names.id(main, name(local))?;
        }
        let [key, team, model, target] = ids;
        let mut upsert = main.prepare_cached(&format!(
            "INSERT INTO rollup VALUES (?15, ?16, ?17, ?18, ?19, {VALUES})
             ON CONFLICT DO UPDATE SET {ADDED}"
        ))?;
        bind(&mut upsert, sums)?;
        for (index, value) in (15..).zip([*quarter, key, team, model, target]) {
            upsert.raw_bind_parameter(index, value)?;
        }
        upsert.raw_execute()?;
    }
    for ((quarter, tags), sums) in &sums.tags {
        for tag in name(tags).unwrap_or_default().split(',') {
            let tag = names.id(main, Some(tag))?;
            let mut upsert = main.prepare_cached(&format!(
                "INSERT INTO tag_rollup VALUES (?15, ?16, {VALUES})
                 ON CONFLICT DO UPDATE SET {ADDED}"
            ))?;
            bind(&mut upsert, sums)?;
            upsert.raw_bind_parameter(15, *quarter)?;
            upsert.raw_bind_parameter(16, tag)?;
            upsert.raw_execute()?;
        }
    }
    set_rolled(main, day, after)
}

/// How far a day has been summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rolled {
    pub(super) attempt: i64,
    correction: i64,
    /// Whether its rows were dropped once: the rollups then have more than the rows.
    pub(super) dropped: bool,
}

fn set_rolled(main: &Connection, day: Day, rolled: Rolled) -> rusqlite::Result<()> {
    main.prepare_cached("INSERT OR REPLACE INTO rolled VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![
            day.number(),
            rolled.attempt,
            rolled.correction,
            rolled.dropped
        ])?;
    Ok(())
}

/// Records that a day's rows are gone. Late ones start a new file, which is summed from its
/// beginning.
pub(super) fn set_dropped(main: &Connection, day: Day) -> rusqlite::Result<()> {
    let dropped = Rolled {
        dropped: true,
        ..Rolled::default()
    };
    set_rolled(main, day, dropped)
}

/// The sums in the order of the tables' columns.
const VALUES: &str = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?20";
const ADDED: &str = "requests = requests + excluded.requests,
    attempts = attempts + excluded.attempts, input = input + excluded.input,
    cache_read = cache_read + excluded.cache_read,
    cache_write_5m = cache_write_5m + excluded.cache_write_5m,
    cache_write_1h = cache_write_1h + excluded.cache_write_1h,
    output = output + excluded.output, reasoning = reasoning + excluded.reasoning,
    images = images + excluded.images, cost = cost + excluded.cost,
    correction = correction + excluded.correction, unpriced = unpriced + excluded.unpriced,
    estimated = estimated + excluded.estimated, lost = lost + excluded.lost,
    repriced = repriced + excluded.repriced";

fn bind(statement: &mut rusqlite::Statement<'_>, row: &RollupSums) -> rusqlite::Result<()> {
    let sums = &row.sums;
    let values = [
        sums.requests,
        sums.attempts,
        sums.input,
        sums.cache_read,
        sums.cache_write_5m,
        sums.cache_write_1h,
        sums.output,
        sums.reasoning,
        sums.images,
    ];
    for (index, value) in (1..).zip(values) {
        statement.raw_bind_parameter(index, i64::try_from(value).unwrap_or(i64::MAX))?;
    }
    statement.raw_bind_parameter(10, sums.cost.nanodollars())?;
    statement.raw_bind_parameter(11, row.correction.nanodollars())?;
    let counts = [sums.unpriced, sums.estimated, sums.lost];
    for (index, value) in (12..).zip(counts) {
        statement.raw_bind_parameter(index, i64::try_from(value).unwrap_or(i64::MAX))?;
    }
    statement.raw_bind_parameter(20, i64::try_from(row.repriced).unwrap_or(i64::MAX))
}

/// How far a day has been summed.
pub(super) fn rolled(main: &Connection, day: Day) -> rusqlite::Result<Rolled> {
    let mut select =
        main.prepare_cached("SELECT attempt, correction, dropped FROM rolled WHERE day = ?1")?;
    let row = select.query_row([day.number()], |row| {
        Ok(Rolled {
            attempt: row.get(0)?,
            correction: row.get(1)?,
            dropped: row.get(2)?,
        })
    });
    Ok(row.optional()?.unwrap_or_default())
}

/// Removes a day's rollups.
fn remove(main: &Connection, day: Day) -> rusqlite::Result<()> {
    let first = quarter_of_millis(day.start_millis());
    for table in ["rollup", "tag_rollup"] {
        let sql = format!("DELETE FROM {table} WHERE quarter >= ?1 AND quarter < ?2");
        main.execute(&sql, [first, first + QUARTERS])?;
    }
    Ok(())
}
