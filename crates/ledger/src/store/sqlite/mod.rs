//! SQLite: one file per day for rows, and `ledger.db` for everything that outlives them.
//!
//! `day_file` adds and reads batches of rows in the form of `packed`, `rollup` sums them,
//! `reports` runs queries, `maintenance` checks, erases and drops, `reprice` corrects, `lease`
//! stores budgets, `backup` copies, `access` stores keys and teams. Several processes may use
//! one folder; SQLite's locks serialize them.

mod access;
mod backup;
mod connection;
mod day_file;
mod fresh_sums;
mod known_ids;
mod lease;
mod maintenance;
mod names;
mod packed;
mod reports;
mod reprice;
mod rollup;
mod run_lock;
mod schema;
mod unpacked;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use crate::civil::Day;
use crate::money::Cost;
use crate::report::{
    RepriceReport, RequestQuery, StoredRequest, UsageQuery, UsageRow, VerifyReport,
};
use crate::request_id::RequestId;
use crate::rows::{FinishedRow, LedgerEntry, OpenAttempt};
use crate::store::{Lease, LeaseDecision, LeaseRequest, RepriceFn, Store, StoreError, StoreSchema};

pub use access::SqliteAccess;
use connection::{SyncMode, at, open, set_sync};
use day_file::DayFile;
use fresh_sums::FreshSums;
use names::NameIds;
use run_lock::RunLock;

/// A hash for maps that are read several times per request. Clients choose some of the keys,
/// so it is seeded.
type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
type FastSet<K> = HashSet<K, foldhash::fast::RandomState>;

/// The file that outlives the days.
const MAIN: &str = "ledger.db";
/// The folder of the days.
const DAYS: &str = "days";
/// The entries of a commit under load, and how many such commits may pass before one is
/// synced: about half a second.
const LARGE: usize = 64;
const UNSYNCED: u32 = 12;
/// Day files kept open: today's, and its neighbours' around midnight.
const OPEN_DAYS: usize = 3;

/// A ledger in a folder.
pub struct SqliteStore {
    folder: PathBuf,
    main: Connection,
    main_path: PathBuf,
    names: NameIds,
    days: Vec<(Day, DayFile)>,
    run: RunLock,
    /// Requests with open attempts in the store.
    open: FastSet<RequestId>,
    /// Commits since the last synced one.
    unsynced: u32,
}

/// Reads the schema of the ledger in a folder without changing it.
pub(super) fn inspect(folder: &Path) -> Result<StoreSchema, StoreError> {
    connection::inspect(&folder.join(MAIN), schema::MAIN)
}

impl SqliteStore {
    /// Opens the ledger in a folder, and creates both if they are missing.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be used, or if a newer version wrote it.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let folder = folder.into();
        let days = folder.join(DAYS);
        make_private(&folder)?;
        make_private(&days)?;
        let main_path = folder.join(MAIN);
        let main = open(&main_path, schema::MAIN)?;
        let run = RunLock::new(&folder)?;
        Ok(Self {
            folder,
            main,
            main_path,
            names: NameIds::default(),
            days: Vec::new(),
            run,
            open: FastSet::default(),
            unsynced: 0,
        })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn day_path(&self, day: Day) -> PathBuf {
        self.folder.join(DAYS).join(format!("{day}.db"))
    }

    /// The days that have a file, oldest first.
    fn stored_days(&self) -> Result<Vec<Day>, StoreError> {
        let folder = self.folder.join(DAYS);
        let io = |source| StoreError::Io {
            path: folder.clone(),
            source,
        };
        let mut days = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(io)? {
            let name = entry.map_err(io)?.file_name();
            let day = name.to_str().and_then(|name| name.strip_suffix(".db"));
            days.extend(day.and_then(|day| day.parse::<Day>().ok()));
        }
        days.sort_unstable();
        Ok(days)
    }

    /// An open day, at the end of the list.
    fn day(&mut self, day: Day) -> Result<&mut DayFile, StoreError> {
        let found = self.days.iter().position(|(open, _)| *open == day);
        let entry = match found {
            Some(index) => self.days.remove(index),
            None => {
                if self.days.len() >= OPEN_DAYS {
                    self.days.remove(0);
                }
                (day, DayFile::open(&self.day_path(day))?)
            }
        };
        self.days.push(entry);
        let (_, file) = self.days.last_mut().expect("just pushed");
        Ok(file)
    }

    /// Runs `work` in a transaction on `ledger.db`.
    fn in_main<T>(
        &mut self,
        work: impl FnOnce(&Connection, &mut NameIds) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let begin = self.main.execute_batch("BEGIN IMMEDIATE");
        let result = begin
            .and_then(|()| work(&self.main, &mut self.names))
            .and_then(|value| self.main.execute_batch("COMMIT").map(|()| value));
        if result.is_err() {
            // Names that were rolled back must not be cached.
            let _ = self.main.execute_batch("ROLLBACK");
            self.names.clear();
        }
        result.map_err(at(&self.main_path))
    }

    /// Sums the rows of a day that its rollups lack.
    fn roll_up(&mut self, day: Day, fresh: Option<FreshSums>) -> Result<(), StoreError> {
        self.day(day)?;
        let (_, file) = self.days.pop().expect("just opened");
        let result = self.in_main(|main, names| rollup::roll_up(main, names, day, &file, fresh));
        // Two files were read: damage is reported for the damaged one.
        let result = result.map_err(|error| match error {
            StoreError::Sqlite { source, .. } if error.is_damage() && file.damage().is_some() => {
                at(&file.path)(source)
            }
            error => error,
        });
        self.days.push((day, file));
        result
    }

    fn write_finished(
        &mut self,
        finished: &[&FinishedRow],
        sync: SyncMode,
    ) -> Result<(), StoreError> {
        let mut by_day: BTreeMap<Day, Vec<&FinishedRow>> = BTreeMap::new();
        for row in finished {
            by_day.entry(row.request.id.day()).or_default().push(row);
        }
        for (day, rows) in by_day {
            let file = self.day(day)?;
            set_sync(&file.db, sync).map_err(at(&file.path))?;
            let result = file.insert(&rows);
            if result.is_err() {
                // A file that was removed or replaced is reopened.
                self.days.retain(|(open, _)| *open != day);
            }
            self.roll_up(day, result?)?;
        }
        Ok(())
    }

    /// Under load, only some commits are synced: syncing each takes a third of the writer's
    /// time.
    fn next_sync(&mut self, entries: usize) -> SyncMode {
        if entries < LARGE || self.unsynced >= UNSYNCED {
            self.unsynced = 0;
            return SyncMode::Now;
        }
        self.unsynced += 1;
        SyncMode::Later
    }

    fn set_main_sync(&self, sync: SyncMode) -> Result<(), StoreError> {
        set_sync(&self.main, sync).map_err(at(&self.main_path))
    }

    fn write_open(
        &mut self,
        opened: &[&OpenAttempt],
        finished: &[&FinishedRow],
    ) -> Result<(), StoreError> {
        let closed: Vec<RequestId> = finished
            .iter()
            .map(|row| row.request.id)
            .filter(|id| self.open.contains(id))
            .collect();
        if opened.is_empty() && closed.is_empty() {
            return Ok(());
        }
        let run = self.run.name().to_owned();
        self.in_main(|main, _| {
            let mut insert =
                main.prepare_cached("INSERT OR REPLACE INTO open_attempt VALUES (?1, ?2, ?3, ?4)")?;
            for open in opened {
                let entry = serde_json::to_string(open).unwrap_or_default();
                insert.execute(params![open.request.bytes(), open.number, run, entry])?;
            }
            let mut delete = main.prepare_cached("DELETE FROM open_attempt WHERE request = ?1")?;
            for id in &closed {
                delete.execute([id.bytes()])?;
            }
            Ok(())
        })?;
        self.open.extend(opened.iter().map(|open| open.request));
        for id in closed {
            self.open.remove(&id);
        }
        Ok(())
    }
}

impl Store for SqliteStore {
    fn write(&mut self, entries: &[LedgerEntry]) -> Result<(), StoreError> {
        let mut finished = Vec::new();
        let mut opened = Vec::new();
        for entry in entries {
            match entry {
                LedgerEntry::Finished(row) => finished.push(row),
                LedgerEntry::Opened(open) => opened.push(open),
            }
        }
        // An attempt that ended within the batch leaves no open row.
        let ended: FastSet<RequestId> = finished.iter().map(|row| row.request.id).collect();
        opened.retain(|open| !ended.contains(&open.request));
        let sync = self.next_sync(entries.len());
        self.set_main_sync(sync)?;
        let result = self
            .write_finished(&finished, sync)
            .and_then(|()| self.write_open(&opened, &finished));
        // Leases and maintenance are on disk when they are committed.
        self.set_main_sync(SyncMode::Now)?;
        result
    }

    fn recover(&mut self) -> Result<u64, StoreError> {
        // Rows from before a crash between the two files.
        for day in self.stored_days()? {
            match self.roll_up(day, None) {
                // The other days are not affected.
                Err(error) if error.is_damage() => {
                    tracing::warn!(%error, "a day of the ledger is damaged");
                }
                result => result?,
            }
        }
        self.recover_open()
    }

    fn drop_before(&mut self, day: Day) -> Result<Vec<Day>, StoreError> {
        self.drop_days(day)
    }

    fn usage(&mut self, query: &UsageQuery) -> Result<Vec<UsageRow>, StoreError> {
        reports::usage(&self.main, query).map_err(at(&self.main_path))
    }

    fn requests(&mut self, query: &RequestQuery) -> Result<Vec<StoredRequest>, StoreError> {
        self.list_requests(query)
    }

    fn forget_user(&mut self, user: &str) -> Result<u64, StoreError> {
        self.erase_user(user)
    }

    fn verify(&mut self) -> Result<VerifyReport, StoreError> {
        self.check()
    }

    fn reprice(
        &mut self,
        since_millis: i64,
        until_millis: i64,
        made_millis: i64,
        price: &mut RepriceFn<'_>,
    ) -> Result<RepriceReport, StoreError> {
        self.reprice_rows(since_millis, until_millis, made_millis, price)
    }

    fn grant_lease(&mut self, request: &LeaseRequest) -> Result<LeaseDecision, StoreError> {
        let run = self.run.name().to_owned();
        self.in_main(|main, _| lease::grant(main, request, &run))
    }

    fn close_lease(&mut self, lease: &Lease, spent: Cost) -> Result<(), StoreError> {
        self.in_main(|main, _| lease::close(main, lease, spent))
    }

    fn close_abandoned_leases(&mut self) -> Result<u64, StoreError> {
        let runs = lease::runs(&self.main).map_err(at(&self.main_path))?;
        let mut closed = 0;
        for run in runs {
            if self.run.is_over(&run) {
                closed += self.in_main(|main, _| lease::close_all(main, &run))?;
            }
        }
        Ok(closed)
    }
}

/// Creates a folder that only its owner may read: names of users are in it.
fn make_private(folder: &Path) -> Result<(), StoreError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|source| StoreError::Io {
        path: folder.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests;
