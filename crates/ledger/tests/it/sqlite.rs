//! SQLite, beyond what every store does: files, crashes, size.

use std::fs;
use std::path::{Path, PathBuf};

use majordomo_ledger::{
    Cost, FinishedRow, GroupBy, LedgerEntry, RequestId, RequestQuery, SqliteStore, Store,
    UsageQuery,
};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::rows::{NOON, SIMPLE_COST, attempt, finished, simple};
use crate::store::{Place, total};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("ledger")
    }
}

impl Place for Folder {
    fn open(&self) -> Box<dyn Store> {
        Box::new(SqliteStore::open(self.path()).expect("a ledger"))
    }
}

mod same_as_every_store {
    use super::Folder;
    use crate::store_tests;

    store_tests!(Some(Folder::new()));
}

fn day_file(folder: &Path) -> PathBuf {
    folder.join("days/2026-11-17.db")
}

/// Copies a ledger with its journals as a crash would leave it.
fn crashed(folder: &Path, to: &Path) {
    fs::create_dir_all(to.join("days")).unwrap();
    for name in ["ledger.db", "days/2026-11-17.db"] {
        for end in ["", "-wal"] {
            let name = format!("{name}{end}");
            let _ = fs::copy(folder.join(&name), to.join(&name));
        }
    }
}

#[test]
fn rows_without_rollups_are_caught_up() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    store.write(&[simple(0, 1, "a")]).unwrap();
    // A crash after the day's commit: the rollups are unchanged.
    let copy = tempfile::tempdir().unwrap();
    crashed(&folder.path(), copy.path());
    store.write(&[simple(1, 2, "a")]).unwrap();
    for end in ["", "-wal"] {
        let name = format!("days/2026-11-17.db{end}");
        fs::copy(folder.path().join(&name), copy.path().join(&name)).unwrap();
    }
    let mut store = SqliteStore::open(copy.path()).unwrap();
    assert_eq!(store.verify().unwrap().problems.len(), 1);
    store.recover().unwrap();
    assert_eq!(total(&mut store).cost, SIMPLE_COST + SIMPLE_COST);
    assert_eq!(store.verify().unwrap().problems, [] as [&str; 0]);
}

#[test]
fn a_journal_cut_at_every_page_leaves_a_consistent_ledger() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    for n in 0..8 {
        store.write(&[simple(n, n as u128, "laptop")]).unwrap();
    }
    for journal in ["ledger.db-wal", "days/2026-11-17.db-wal"] {
        let whole = fs::read(folder.path().join(journal)).unwrap();
        // A header of 32 bytes, then frames of a header of 24 bytes and a page.
        let frames = (whole.len() - 32) / (24 + 4_096);
        assert!(frames > 8, "{journal} has {frames} frames");
        for frame in 0..=frames {
            for extra in [0, 100] {
                let copy = tempfile::tempdir().unwrap();
                crashed(&folder.path(), copy.path());
                let kept = (32 + frame * (24 + 4_096) + extra).min(whole.len());
                fs::write(copy.path().join(journal), &whole[..kept]).unwrap();
                let mut store = SqliteStore::open(copy.path()).unwrap();
                store.recover().unwrap();
                let report = store.verify().unwrap();
                assert_eq!(report.problems, [] as [&str; 0], "{journal} {frame}");
                let sums = total(&mut store);
                assert_eq!(sums.attempts, report.attempts);
                let cost = SIMPLE_COST.nanodollars() * i64::try_from(sums.attempts).unwrap();
                assert_eq!(sums.cost, Cost::from_nanodollars(cost));
            }
        }
    }
}

#[test]
fn a_store_that_is_locked_refuses_and_serves_again_afterwards() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    store.write(&[simple(0, 1, "a")]).unwrap();
    let other = Connection::open(day_file(&folder.path())).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let entries = [simple(1, 2, "a")];
    assert!(store.write(&entries).is_err());
    other.execute_batch("ROLLBACK").unwrap();
    store.write(&entries).unwrap();
    assert_eq!(total(&mut store).attempts, 2);
}

#[test]
fn a_copy_made_while_the_ledger_is_in_use_can_be_restored() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    let day = 86_400_000;
    store
        .write(&[simple(0, 1, "a"), simple(-day, 2, "a")])
        .unwrap();
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("copy");
    assert_eq!(store.backup(&copy).unwrap(), 2);
    store.write(&[simple(5, 3, "a")]).unwrap();
    let error = store.backup(&copy).unwrap_err().to_string();
    assert!(error.contains("not empty"), "{error}");
    let restored = copies.path().join("restored");
    SqliteStore::restore(&copy, &restored).unwrap();
    let mut restored = SqliteStore::open(&restored).unwrap();
    restored.recover().unwrap();
    assert_eq!(total(&mut restored).attempts, 2);
    assert_eq!(restored.verify().unwrap().problems, [] as [&str; 0]);
    let error = SqliteStore::restore(copies.path(), &copies.path().join("x"));
    assert!(error.unwrap_err().to_string().contains("not a ledger"));
}

#[test]
fn a_forgotten_user_is_not_in_the_bytes_of_the_files() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    let name = "ada.lovelace@example.com";
    let mut row = finished(RequestId::new(NOON, 1), "k", vec![attempt(1, "up/m", 1, 1)]);
    row.request.user = Some(name.into());
    store.write(&[LedgerEntry::Finished(row)]).unwrap();
    let found = |folder: &Path| {
        let files = [
            "ledger.db",
            "ledger.db-wal",
            "days/2026-11-17.db",
            "days/2026-11-17.db-wal",
        ];
        files.iter().any(|file| {
            let bytes = fs::read(folder.join(file)).unwrap_or_default();
            bytes
                .windows(name.len())
                .any(|part| part == name.as_bytes())
        })
    };
    assert!(found(&folder.path()));
    store.forget_user(name).unwrap();
    assert!(!found(&folder.path()));
}

#[test]
fn a_damaged_day_is_named_by_verify() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    let entries: Vec<_> = (0..200).map(|n| simple(n, n as u128, "a")).collect();
    store.write(&entries).unwrap();
    drop(store);
    let path = day_file(&folder.path());
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0xab);
    fs::write(&path, bytes).unwrap();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    let report = store.verify().unwrap();
    assert!(report.problems[0].contains("2026-11-17"), "{report:?}");
}

#[test]
fn a_batch_that_cannot_be_unpacked_is_named_by_verify_and_recovered_around() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    store.write(&[simple(0, 1, "a")]).unwrap();
    let day = Connection::open(day_file(&folder.path())).unwrap();
    day.execute_batch("UPDATE batch SET rows = x'ffffff'")
        .unwrap();
    let main = Connection::open(folder.path().join("ledger.db")).unwrap();
    main.execute_batch("DELETE FROM rolled").unwrap();
    store.recover().unwrap();
    let report = store.verify().unwrap();
    assert!(report.problems[0].contains("2026-11-17"), "{report:?}");
}

#[test]
fn a_damaged_day_does_not_keep_the_others_from_being_recovered_or_dropped() {
    let folder = Folder::new();
    let day = 86_400_000;
    let mut store = SqliteStore::open(folder.path()).unwrap();
    let entries: Vec<_> = (0..200).map(|n| simple(n, n as u128, "a")).collect();
    store.write(&entries).unwrap();
    drop(store);
    let path = day_file(&folder.path());
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0xab);
    fs::write(&path, bytes).unwrap();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    store.write(&[simple(day, 1_000, "a")]).unwrap();
    let main = Connection::open(folder.path().join("ledger.db")).unwrap();
    // As if a crash had left nothing but the days.
    main.execute_batch("DELETE FROM rolled; DELETE FROM rollup")
        .unwrap();
    store.recover().unwrap();
    assert_eq!(total(&mut store).attempts, 1);
    let tomorrow = majordomo_ledger::Day::of_millis(NOON + day);
    store.drop_before(tomorrow).unwrap();
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_the_folder_and_its_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    drop(folder.open());
    let mode = |name: &str| {
        let path = folder.path().join(name);
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode(""), 0o700);
    assert_eq!(mode("ledger.db"), 0o600);
    // A file of an earlier version is closed as well.
    let path = folder.path().join("ledger.db");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    store.write(&[simple(0, 1, "a")]).unwrap();
    for name in [
        "ledger.db",
        "ledger.db-wal",
        "days/2026-11-17.db",
        "days/2026-11-17.db-wal",
    ] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
}

/// Realistic rows: an agent's requests with growing cached prompts, now and then a retry.
pub(crate) fn realistic(n: u64) -> LedgerEntry {
    let at = i64::try_from(n).unwrap() * 60;
    let random = (u128::from(n) << 64 | u128::from(n)).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c);
    let id = RequestId::new(NOON - 12 * 3_600_000 + at, random);
    let target = ["anthropic/claude-sonnet-5", "openai/gpt-6-sol", "m5/qwen3"][(n % 3) as usize];
    let mut served = attempt(1, target, 8_000 + n * 37 % 120_000, 200 + n * 13 % 3_000);
    served.used.cache_read = served.used.input * 9 / 10;
    served.used.cache_write_5m = served.used.input / 20;
    served.used.reasoning = served.used.output / 3;
    let mut attempts = vec![served];
    if n.is_multiple_of(20) {
        attempts[0].number = 2;
        let mut failed = attempt(1, "openrouter/kimi-k2", 0, 0);
        failed.failure = Some("rate_limited".into());
        attempts.insert(0, failed);
    }
    let key = format!("key-{}", n % 40);
    let mut row: FinishedRow = finished(id, &key, attempts);
    row.request.duration_ms = 900 + n * 7 % 60_000;
    row.request.first_token_ms = Some(200 + n % 3_000);
    row.request.tags = vec![format!("project=p{}", n % 10).as_str().into()];
    LedgerEntry::Finished(row)
}

/// Average bytes per attempt, with its request.
fn size(rows: u64) -> u64 {
    let folder = Folder::new();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    for batch in 0..rows / 1_000 {
        let entries: Vec<_> = (0..1_000).map(|n| realistic(batch * 1_000 + n)).collect();
        store.write(&entries).unwrap();
    }
    let attempts = total(&mut store).attempts;
    drop(store);
    let whole = fs::metadata(day_file(&folder.path())).unwrap().len();
    println!(
        "{attempts} attempts: {} bytes each with its request",
        whole / attempts
    );
    whole / attempts
}

#[test]
fn an_attempt_takes_at_most_two_hundred_bytes_with_its_indexes_and_its_request() {
    // MAJORDOMO_LEDGER_ROWS: a million by `./test --long`.
    let rows = majordomo_testkit::started("MAJORDOMO_LEDGER_ROWS");
    let rows = rows.map_or(20_000, |rows| rows.parse().expect("a number of rows"));
    let whole = size(rows);
    assert!(whole <= 200, "{whole} bytes");
}

#[test]
fn a_months_report_is_quick_and_retention_frees_the_disk() {
    // The long form has ten million rows, is optimized and is timed.
    let long = majordomo_testkit::started("MAJORDOMO_LEDGER_MONTH");
    let rows: u64 = long
        .as_ref()
        .map_or(30_000, |rows| rows.parse().expect("a number of rows"));
    let folder = Folder::new();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    let day = 86_400_000;
    let per_day = rows / 30;
    for before in 0..30 {
        for batch in 0..per_day / 500 {
            let entries = (0..500).map(|n| {
                let LedgerEntry::Finished(mut row) = realistic(batch * 500 + n) else {
                    unreachable!()
                };
                // Spread over the day: every quarter hour has its sums.
                let n = batch * 500 + n;
                let at = i64::try_from(n * 86_400_000 / per_day.max(1)).unwrap();
                let start = NOON - 12 * 3_600_000 - before * day;
                row.request.id = RequestId::new(start + at, u128::from(n));
                LedgerEntry::Finished(row)
            });
            store.write(&entries.collect::<Vec<_>>()).unwrap();
        }
    }
    let query = UsageQuery {
        by: vec![GroupBy::Key, GroupBy::Model],
        ..crate::rows::all()
    };
    let began = tokio::time::Instant::now();
    let report = store.usage(&query).unwrap();
    let took = began.elapsed();
    let size = || -> u64 {
        let files = fs::read_dir(folder.path().join("days")).unwrap();
        files
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum()
    };
    let before = size();
    println!(
        "{rows} rows: {} groups of a month in {took:?}, {before} bytes",
        report.len()
    );
    assert_eq!(report.len(), 40);
    assert!(long.is_none() || took.as_millis() <= 200, "{took:?}");
    store
        .drop_before(majordomo_ledger::Day::of_millis(NOON).minus(14))
        .unwrap();
    assert!(size() < before * 6 / 10, "{} of {before} bytes", size());
}

#[test]
fn listing_reads_only_the_days_that_it_needs() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    store.write(&[simple(0, 1, "a")]).unwrap();
    // A file of another day that is no database.
    fs::write(folder.path().join("days/2026-11-10.db"), b"no database").unwrap();
    let found = store.requests(&RequestQuery {
        since_millis: NOON - 1_000,
        limit: 10,
        ..RequestQuery::default()
    });
    assert_eq!(found.unwrap().len(), 1);
}
