//! Rollups: sums per quarter hour, made from the rows of the days.
//!
//! A day's rollups are a function of its file. `rolled` records how far a day has been summed,
//! in the same transaction as the sums. So the sums catch up after a crash between the two
//! files, and if a damaged journal lost rows, this is detected and the day is summed again.
//! Withdrawn rows are subtracted once.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::civil::{Day, QUARTER_MS, quarter_of_millis};
use crate::money::Cost;
use crate::report::UsageSums;
use crate::request_id::RequestId;

use super::FastMap;
use super::day_file::{DayFile, restored};
use super::fresh_sums::FreshSums;
use super::names::NameIds;
use super::packed::{PackedRequest, unpack};

/// Quarter hours of a day.
const QUARTERS: i64 = 86_400_000 / QUARTER_MS;

/// Sums of one rollup row; corrections are separate.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct RollupSums {
    pub(super) sums: UsageSums,
    pub(super) correction: Cost,
    /// Of this, what corrects estimates.
    pub(super) estimated_correction: Cost,
    pub(super) repriced: u64,
}

/// Sums of a day, by the numbers of the day's names.
#[derive(Default)]
pub(super) struct DaySums {
    pub(super) groups: FastMap<(i64, [i64; 4]), RollupSums>,
    /// By the number of the joined tags.
    pub(super) tags: FastMap<(i64, i64), RollupSums>,
    /// The amounts to subtract.
    pub(super) withdrawn: FastMap<(i64, [i64; 4]), RollupSums>,
    pub(super) last_batch: i64,
    pub(super) last_correction: i64,
    pub(super) last_withdrawn: i64,
}

/// Sums all rows that are there.
pub(super) fn sum_whole_day(file: &Connection) -> rusqlite::Result<DaySums> {
    let mut day = DaySums::default();
    add_batches(file, &mut day)?;
    add_corrections(file, &mut day)?;
    Ok(day)
}

/// Sums the rows after these sequence numbers.
fn sum_day(file: &Connection, after: Rolled) -> rusqlite::Result<DaySums> {
    let mut day = DaySums {
        last_batch: after.batch,
        last_correction: after.correction,
        last_withdrawn: after.withdrawn,
        ..DaySums::default()
    };
    add_batches(file, &mut day)?;
    add_corrections(file, &mut day)?;
    add_withdrawn(file, &mut day)?;
    Ok(day)
}

fn add_batches(file: &Connection, day: &mut DaySums) -> rusqlite::Result<()> {
    let select = "SELECT seq, rows FROM batch WHERE seq > ?1 ORDER BY seq";
    let mut select = file.prepare_cached(select)?;
    let mut batches = select.query([day.last_batch])?;
    while let Some(batch) = batches.next()? {
        for request in unpack(batch.get_ref(1)?.as_blob()?) {
            day.add(&request?);
        }
        day.last_batch = batch.get(0)?;
    }
    Ok(())
}

impl DaySums {
    /// Adds a request.
    pub(super) fn add(&mut self, request: &PackedRequest) {
        let quarter = quarter_of_millis(request.id().millis());
        for attempt in &request.attempts {
            let sums = attempt.sums();
            let group = [request.key, request.team, request.model, attempt.target];
            let groups = self.groups.entry((quarter, group));
            groups.or_default().sums.add(&sums);
            if request.tags != 0 {
                let tags = self.tags.entry((quarter, request.tags));
                tags.or_default().sums.add(&sums);
            }
        }
    }
}

fn add_corrections(file: &Connection, day: &mut DaySums) -> rusqlite::Result<()> {
    let mut select = file.prepare_cached(
        "SELECT seq, request, target, key, team, model, tags, difference, was_unpriced, estimated
         FROM correction WHERE seq > ?1",
    )?;
    let mut rows = select.query([day.last_correction])?;
    while let Some(row) = rows.next()? {
        let quarter = quarter_of_millis(RequestId::from_bytes(row.get(1)?).millis());
        let difference = Cost::from_nanodollars(row.get(7)?);
        let repriced = restored(row.get(8)?);
        let group = [row.get(3)?, row.get(4)?, row.get(5)?, row.get(2)?];
        let tags: i64 = row.get(6)?;
        let tagged = (tags != 0).then(|| day.tags.entry((quarter, tags)).or_default());
        let grouped = day.groups.entry((quarter, group)).or_default();
        for sums in [Some(grouped), tagged].into_iter().flatten() {
            sums.correction += difference;
            if row.get(9)? {
                sums.estimated_correction += difference;
            }
            sums.repriced += repriced;
        }
        day.last_correction = day.last_correction.max(row.get(0)?);
    }
    Ok(())
}

/// Attempts that were marked as lost. They have no tags.
fn add_withdrawn(file: &Connection, day: &mut DaySums) -> rusqlite::Result<()> {
    let mut select = file.prepare_cached(
        "SELECT seq, request, number, target, key, team, model, input, cost
         FROM withdrawn WHERE seq > ?1",
    )?;
    let mut rows = select.query([day.last_withdrawn])?;
    while let Some(row) = rows.next()? {
        let quarter = quarter_of_millis(RequestId::from_bytes(row.get(1)?).millis());
        let known: Option<i64> = row.get(8)?;
        let cost = Cost::from_nanodollars(known.unwrap_or_default());
        let sums = UsageSums {
            requests: u64::from(row.get::<_, i64>(2)? == 1),
            attempts: 1,
            input: row.get(7).map(restored)?,
            cost,
            estimated_cost: cost,
            unpriced: u64::from(known.is_none()),
            lost: 1,
            ..UsageSums::default()
        };
        let group = [row.get(4)?, row.get(5)?, row.get(6)?, row.get(3)?];
        let withdrawn = day.withdrawn.entry((quarter, group)).or_default();
        withdrawn.sums.add(&sums);
        day.last_withdrawn = day.last_withdrawn.max(row.get(0)?);
    }
    Ok(())
}

/// Adds the rows of a day that are not in the rollups yet. Runs in a transaction on
/// `main`.
pub(super) fn roll_up(
    main: &Connection,
    names: &mut NameIds,
    day: Day,
    file: &DayFile,
    fresh: Option<FreshSums>,
) -> rusqlite::Result<()> {
    let before = rolled(main, day)?;
    // Only this process's rows are missing from the rollups, and this process has their sums.
    if let Some(mut fresh) = fresh.filter(|fresh| fresh.after == before.batch) {
        fresh.day.last_correction = before.correction;
        fresh.day.last_withdrawn = before.withdrawn;
        return add_sums(main, names, day, before, &fresh.day, &fresh.texts);
    }
    let mut from = before;
    let last = |table: &str| -> rusqlite::Result<i64> {
        let sql = format!("SELECT ifnull(max(seq), 0) FROM {table}");
        file.db
            .prepare_cached(&sql)?
            .query_row([], |row| row.get(0))
    };
    let (batches, corrections) = (last("batch")?, last("correction")?);
    if from.batch > batches || from.correction > corrections {
        if from.dropped {
            // The rollups also include rows that have been removed.
            (from.batch, from.correction) = (batches, corrections);
        } else {
            remove(main, day)?;
            // Withdrawn rows are not among the rows that are summed again.
            (from.batch, from.correction, from.withdrawn) = (0, 0, last("withdrawn")?);
        }
    }
    let sums = sum_day(&file.db, from)?;
    let from = Rolled {
        dropped: from.dropped,
        ..before
    };
    add_sums(main, names, day, from, &sums, &file.names()?)
}

/// Adds sums to the rollups, and records how far the day has been summed.
fn add_sums(
    main: &Connection,
    names: &mut NameIds,
    day: Day,
    before: Rolled,
    sums: &DaySums,
    texts: &HashMap<i64, String>,
) -> rusqlite::Result<()> {
    let after = Rolled {
        batch: sums.last_batch,
        correction: sums.last_correction,
        withdrawn: sums.last_withdrawn,
        dropped: before.dropped,
    };
    if after == before {
        return Ok(());
    }
    let name = |id: &i64| texts.get(id).map(String::as_str);
    let added = sums.groups.iter().map(|entry| (entry, 1));
    let withdrawn = sums.withdrawn.iter().map(|entry| (entry, -1));
    for (((quarter, group), sums), sign) in added.chain(withdrawn) {
        let mut ids = [0; 4];
        for (id, local) in ids.iter_mut().zip(group) {
            *id = names.id(main, name(local))?;
        }
        let [key, team, model, target] = ids;
        let mut upsert = main.prepare_cached(&format!(
            "INSERT INTO rollup VALUES (?15, ?16, ?17, ?18, ?19, {VALUES})
             ON CONFLICT DO UPDATE SET {ADDED}"
        ))?;
        bind(&mut upsert, sums, sign)?;
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
            bind(&mut upsert, sums, 1)?;
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
    pub(super) batch: i64,
    correction: i64,
    withdrawn: i64,
    /// Whether its rows were ever dropped, so that the rollups exceed the rows.
    pub(super) dropped: bool,
}

fn set_rolled(main: &Connection, day: Day, rolled: Rolled) -> rusqlite::Result<()> {
    main.prepare_cached("INSERT OR REPLACE INTO rolled VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![
            day.number(),
            rolled.batch,
            rolled.correction,
            rolled.dropped,
            rolled.withdrawn
        ])?;
    Ok(())
}

/// Records that a day's rows were removed. Late rows start a new file, which is summed from its
/// beginning.
pub(super) fn set_dropped(main: &Connection, day: Day) -> rusqlite::Result<()> {
    let dropped = Rolled {
        dropped: true,
        ..Rolled::default()
    };
    set_rolled(main, day, dropped)
}

/// The sums in the order of the tables' columns.
const VALUES: &str = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?20,
    ?21, ?22";
const ADDED: &str = "requests = requests + excluded.requests,
    attempts = attempts + excluded.attempts, input = input + excluded.input,
    cache_read = cache_read + excluded.cache_read,
    cache_write_5m = cache_write_5m + excluded.cache_write_5m,
    cache_write_1h = cache_write_1h + excluded.cache_write_1h,
    output = output + excluded.output, reasoning = reasoning + excluded.reasoning,
    images = images + excluded.images, cost = cost + excluded.cost,
    correction = correction + excluded.correction, unpriced = unpriced + excluded.unpriced,
    estimated = estimated + excluded.estimated, lost = lost + excluded.lost,
    repriced = repriced + excluded.repriced,
    estimated_cost = estimated_cost + excluded.estimated_cost,
    estimated_correction = estimated_correction + excluded.estimated_correction";

/// Binds sums, or amounts to subtract.
fn bind(
    statement: &mut rusqlite::Statement<'_>,
    row: &RollupSums,
    sign: i64,
) -> rusqlite::Result<()> {
    let sums = &row.sums;
    let count = |count: u64| sign * i64::try_from(count).unwrap_or(i64::MAX);
    let values = [
        count(sums.requests),
        count(sums.attempts),
        count(sums.input),
        count(sums.cache_read),
        count(sums.cache_write_5m),
        count(sums.cache_write_1h),
        count(sums.output),
        count(sums.reasoning),
        count(sums.images),
        sign * sums.cost.nanodollars(),
        sign * row.correction.nanodollars(),
        count(sums.unpriced),
        count(sums.estimated),
        count(sums.lost),
    ];
    for (index, value) in (1..).zip(values) {
        statement.raw_bind_parameter(index, value)?;
    }
    statement.raw_bind_parameter(20, count(row.repriced))?;
    statement.raw_bind_parameter(21, sign * sums.estimated_cost.nanodollars())?;
    statement.raw_bind_parameter(22, sign * row.estimated_correction.nanodollars())
}

/// How far a day has been summed.
pub(super) fn rolled(main: &Connection, day: Day) -> rusqlite::Result<Rolled> {
    let mut select = main.prepare_cached(
        "SELECT batch, correction, dropped, withdrawn FROM rolled WHERE day = ?1",
    )?;
    let row = select.query_row([day.number()], |row| {
        Ok(Rolled {
            batch: row.get(0)?,
            correction: row.get(1)?,
            dropped: row.get(2)?,
            withdrawn: row.get(3)?,
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
