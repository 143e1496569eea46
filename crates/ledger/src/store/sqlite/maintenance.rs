//! Recovery after a crash, retention, erasure of users, and checks.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::civil::Day;
use crate::money::Cost;
use crate::report::VerifyReport;
use crate::request_id::RequestId;
use crate::rows::{FinishedRow, OpenAttempt};
use crate::store::StoreError;

use super::connection::{SyncMode, at, damage};
use super::day_file::rewrite_batch;
use super::names;
use super::rollup::{self, sum_whole_day};
use super::run_lock;
use super::{DAYS, SqliteStore};

impl SqliteStore {
    /// Turns open attempts of ended runs into `lost` rows.
    pub(super) fn recover_open(&mut self) -> Result<u64, StoreError> {
        for run in run_lock::all(&self.folder) {
            self.run.is_over(&run);
        }
        let open = open_attempts(&self.main).map_err(at(&self.main_path))?;
        let mut over: BTreeMap<String, bool> = BTreeMap::new();
        let mut requests: BTreeMap<RequestId, Vec<OpenAttempt>> = BTreeMap::new();
        for (run, attempt) in open {
            let run = self.run.name() != run && {
                let is_over = || self.run.is_over(&run);
                *over.entry(run.clone()).or_insert_with(is_over)
            };
            if run {
                requests.entry(attempt.request).or_default().push(attempt);
            }
        }
        let ended: Vec<RequestId> = requests.keys().copied().collect();
        let mut lost: Vec<FinishedRow> = Vec::new();
        for (id, attempts) in requests {
            // The row of a request that ended may have been written without closing these.
            if !self.day(id.day())?.has_request(id)? {
                lost.extend(OpenAttempt::lost(attempts));
            }
        }
        let count = lost.iter().map(|row| row.attempts.len() as u64).sum();
        self.write_finished(&lost.iter().collect::<Vec<_>>(), SyncMode::Now)?;
        self.in_main(|main, _| {
            let mut delete = main.prepare_cached("DELETE FROM open_attempt WHERE request = ?1")?;
            for id in &ended {
                delete.execute([id.bytes()])?;
            }
            Ok(())
        })?;
        Ok(count)
    }

    /// Removes the files of all days before this one.
    pub(super) fn drop_days(&mut self, before: Day) -> Result<Vec<Day>, StoreError> {
        let mut dropped = Vec::new();
        for day in self.stored_days()?.into_iter().filter(|day| *day < before) {
            // Rows that are not summed yet are summed first, because rollups outlive their
            // rows.
            match self.roll_up(day, None) {
                // A file is removed even if it cannot be read.
                Err(error) if error.is_damage() => {}
                result => result?,
            }
            self.days.retain(|(open, _)| *open != day);
            for end in ["", "-wal", "-shm"] {
                let path = self.folder.join(DAYS).join(format!("{day}.db{end}"));
                match std::fs::remove_file(&path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(StoreError::Io {
                            path,
                            source: error,
                        });
                    }
                    _ => {}
                }
            }
            self.in_main(|main, _| rollup::set_dropped(main, day))?;
            dropped.push(day);
        }
        Ok(dropped)
    }

    /// Erases a user's name. Rollups have no users.
    pub(super) fn erase_user(&mut self, user: &str) -> Result<u64, StoreError> {
        let mut count = 0;
        for day in self.stored_days()? {
            let file = self.day(day)?;
            let path = file.path.clone();
            count += erase(&file.db, user).map_err(at(&path))?;
            // The name may be remembered.
            self.days.retain(|(open, _)| *open != day);
        }
        Ok(count)
    }

    /// Checks every file, and the rollups of every day that still has its rows.
    pub(super) fn check(&mut self) -> Result<VerifyReport, StoreError> {
        let mut report = VerifyReport::default();
        let damage = damage(&self.main);
        let damage = damage.map(|damage| format!("{}: {damage}", self.main_path.display()));
        report.problems.extend(damage);
        for day in self.stored_days()? {
            let file = match self.day(day) {
                Ok(file) => file,
                Err(error) => {
                    report.problems.push(error.to_string());
                    continue;
                }
            };
            report.days += 1;
            if let Some(damage) = file.damage() {
                report.problems.push(format!("{day}: {damage}"));
                continue;
            }
            let sums = match sum_whole_day(&file.db) {
                Ok(sums) => sums,
                Err(error) => {
                    report.problems.push(format!("{day}: {error}"));
                    continue;
                }
            };
            let last = sums.last_batch;
            let mut total = rollup::RollupSums::default();
            for group in sums.groups.values() {
                total.sums.add(&group.sums);
                total.correction += group.correction;
            }
            report.attempts += total.sums.attempts;
            let rolled = rollup::rolled(&self.main, day).map_err(at(&self.main_path))?;
            if rolled.batch != last {
                let rolled = rolled.batch;
                let text = format!("{day}: {last} batches of rows, {rolled} in the rollups");
                report.problems.push(text);
                continue;
            }
            if rolled.dropped {
                continue;
            }
            let stored = day_total(&self.main, day).map_err(at(&self.main_path))?;
            let expected = (
                total.sums.attempts,
                total.sums.input,
                total.sums.output,
                total.sums.cost,
                total.correction,
            );
            if stored != expected {
                let text = format!(
                    "{day}: the rollups have {stored:?} (attempts, input, output, cost, \
                     corrections), the rows {expected:?}"
                );
                report.problems.push(text);
            }
        }
        Ok(report)
    }
}

fn open_attempts(main: &Connection) -> rusqlite::Result<Vec<(String, OpenAttempt)>> {
    let mut select = main.prepare("SELECT run, entry FROM open_attempt")?;
    let rows = select.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let mut open = Vec::new();
    for row in rows {
        let (run, entry) = row?;
        open.extend(serde_json::from_str(&entry).ok().map(|entry| (run, entry)));
    }
    Ok(open)
}

fn erase(db: &Connection, user: &str) -> rusqlite::Result<u64> {
    let Some(id) = names::find(db, user)? else {
        return Ok(0);
    };
    // Freed pages are overwritten, and the journal, which has copies, is emptied.
    db.pragma_update(None, "secure_delete", "ON")?;
    db.execute_batch("BEGIN IMMEDIATE")?;
    let result = erase_from_batches(db, id).and_then(|(erased, is_used)| {
        if !is_used {
            db.execute("DELETE FROM name WHERE id = ?1", [id])?;
        }
        db.execute_batch("COMMIT")?;
        Ok(erased)
    });
    if result.is_err() {
        let _ = db.execute_batch("ROLLBACK");
    }
    let erased = result?;
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(erased)
}

/// Erases a user's number. Returns the number of requests, and whether the same text is also
/// a model's or a key's name.
fn erase_from_batches(db: &Connection, user: i64) -> rusqlite::Result<(u64, bool)> {
    let mut select = db.prepare("SELECT seq FROM batch")?;
    let numbers = select.query_map([], |row| row.get(0))?;
    let numbers: Vec<i64> = numbers.collect::<Result<_, _>>()?;
    let (mut erased, mut is_used) = (0, false);
    for number in numbers {
        rewrite_batch(db, number, |mut request| {
            is_used |= request.uses_name(user);
            if request.user == user {
                request.user = 0;
                erased += 1;
            }
            Some(request)
        })?;
    }
    Ok((erased, is_used))
}

fn day_total(main: &Connection, day: Day) -> rusqlite::Result<(u64, u64, u64, Cost, Cost)> {
    let quarters =
        [day, day.minus(-1)].map(|day| crate::civil::quarter_of_millis(day.start_millis()));
    main.query_row(
        "SELECT ifnull(sum(attempts), 0), ifnull(sum(input), 0), ifnull(sum(output), 0),
                ifnull(sum(cost), 0), ifnull(sum(correction), 0)
         FROM rollup WHERE quarter >= ?1 AND quarter < ?2",
        quarters,
        |row| {
            let count = |index| row.get::<_, i64>(index).map(super::day_file::restored);
            let cost = |index| row.get(index).map(Cost::from_nanodollars);
            Ok((count(0)?, count(1)?, count(2)?, cost(3)?, cost(4)?))
        },
    )
}
