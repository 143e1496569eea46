//! The writer: group commit, outages, the spool, the end.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use majordomo_ledger::{
    FinishedRow, Ledger, LedgerEntry, OpenStore, Pseudonyms, RequestId, RequestQuery, SqliteStore,
    Store, StoreError, WriterOptions,
};

use crate::rows::{NOON, attempt, finished, simple};
use crate::store::total;

const PATIENCE: Duration = Duration::from_secs(20);

fn options() -> WriterOptions {
    let mut options = WriterOptions::new(|| NOON);
    options.retry = Duration::from_millis(10);
    options
}

fn opener(folder: &Path) -> OpenStore {
    let folder = folder.to_owned();
    Box::new(move || Ok(Box::new(SqliteStore::open(&folder)?)))
}

/// An opener that refuses while the switch is off.
fn switched(folder: &Path, on: &Arc<AtomicBool>) -> OpenStore {
    let (folder, on) = (folder.to_owned(), Arc::clone(on));
    Box::new(move || {
        if !on.load(SeqCst) {
            return Err(StoreError::Refused("off".to_owned()));
        }
        Ok(Box::new(SqliteStore::open(&folder)?))
    })
}

fn stored(folder: &Path) -> u64 {
    total(&mut SqliteStore::open(folder).unwrap()).attempts
}

#[test]
fn what_was_sent_is_written_when_the_ledger_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::start(opener(folder.path()), options()).unwrap();
    let sender = ledger.sender();
    for n in 0..5_000 {
        sender.send(simple(n, n as u128, "laptop"));
    }
    drop(ledger);
    assert_eq!(stored(folder.path()), 5_000);
    assert_eq!(sender.status().dropped, 0);
    // A request that ends after the ledger is counted as dropped.
    sender.send(simple(0, 1, "late"));
    assert_eq!(sender.status().dropped, 1);
}

#[test]
fn entries_wait_for_a_store_that_cannot_be_opened_and_arrive_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let on = Arc::new(AtomicBool::new(false));
    let ledger = Ledger::start(switched(folder.path(), &on), options()).unwrap();
    let sender = ledger.sender();
    for n in 0..100 {
        sender.send(simple(n, n as u128, "laptop"));
    }
    assert!(sender.flush(PATIENCE));
    let status = sender.status();
    assert_eq!((status.waiting, status.available), (100, false));
    on.store(true, SeqCst);
    while !sender.status().available {
        sender.flush(Duration::from_millis(20));
        std::thread::yield_now();
    }
    assert_eq!(stored(folder.path()), 100);
    assert_eq!(sender.status().dropped, 0);
}

#[test]
fn what_cannot_be_written_before_the_end_is_spooled_and_delivered_by_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let (store, spool) = (folder.path().join("ledger"), folder.path().join("spool"));
    let on = Arc::new(AtomicBool::new(false));
    let with_spool = || {
        let mut options = options();
        options.spool = Some(spool.clone());
        options
    };
    let ledger = Ledger::start(switched(&store, &on), with_spool()).unwrap();
    for n in 0..3_000 {
        ledger.sender().send(simple(n, n as u128, "laptop"));
    }
    let sender = ledger.sender();
    drop(ledger);
    assert_eq!(sender.status().spooled, 3_000);
    assert!(spool.exists());
    // A crash cut the last line.
    let text = std::fs::read(&spool).unwrap();
    std::fs::write(&spool, &text[..text.len() - 10]).unwrap();
    on.store(true, SeqCst);
    drop(Ledger::start(switched(&store, &on), with_spool()).unwrap());
    assert_eq!(stored(&store), 2_999);
    assert!(!spool.exists());
}

#[test]
fn a_full_spool_drops_and_counts() {
    let folder = tempfile::tempdir().unwrap();
    let on = Arc::new(AtomicBool::new(false));
    let mut options = options();
    options.spool = Some(folder.path().join("spool"));
    options.spool_bytes = 10_000;
    let ledger = Ledger::start(switched(folder.path(), &on), options).unwrap();
    let sender = ledger.sender();
    for n in 0..1_000 {
        sender.send(simple(n, n as u128, "laptop"));
    }
    drop(ledger);
    let status = sender.status();
    assert!(status.spooled > 0 && status.dropped > 0, "{status:?}");
    assert_eq!(status.spooled + status.dropped, 1_000);
    let size = std::fs::metadata(folder.path().join("spool"))
        .unwrap()
        .len();
    assert!(size <= 10_000, "{size}");
}

#[test]
fn memory_is_bounded_without_a_spool() {
    let folder = tempfile::tempdir().unwrap();
    let on = Arc::new(AtomicBool::new(false));
    let mut options = options();
    options.capacity = 10_000;
    let ledger = Ledger::start(switched(folder.path(), &on), options).unwrap();
    let sender = ledger.sender();
    for n in 0..30_000 {
        sender.send(simple(n, n as u128, "laptop"));
    }
    assert!(sender.flush(PATIENCE));
    let status = sender.status();
    assert!(status.waiting <= 10_000, "{status:?}");
    assert_eq!(status.waiting + status.dropped, 30_000, "{status:?}");
}

#[test]
fn a_store_that_fails_while_writing_is_opened_anew_and_nothing_is_written_twice() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::start(opener(folder.path()), options()).unwrap();
    let sender = ledger.sender();
    sender.send(simple(0, 1, "laptop"));
    assert!(sender.flush(PATIENCE));
    let lock = rusqlite::Connection::open(folder.path().join("ledger.db")).unwrap();
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    // The day's rows are committed, the rollups are not.
    sender.send(simple(1, 2, "laptop"));
    assert!(sender.flush(PATIENCE));
    assert!(!sender.status().available);
    lock.execute_batch("ROLLBACK").unwrap();
    drop(ledger);
    assert_eq!(stored(folder.path()), 2);
    let mut store = SqliteStore::open(folder.path()).unwrap();
    assert_eq!(store.verify().unwrap().problems, [] as [&str; 0]);
}

#[test]
fn old_days_are_dropped_when_the_writer_starts() {
    let folder = tempfile::tempdir().unwrap();
    let day = 86_400_000;
    let mut store = SqliteStore::open(folder.path()).unwrap();
    store
        .write(&[simple(-100 * day, 1, "a"), simple(-day, 2, "a")])
        .unwrap();
    drop(store);
    let mut options = options();
    options.retention_days = Some(90);
    drop(Ledger::start(opener(folder.path()), options).unwrap());
    let days = std::fs::read_dir(folder.path().join("days")).unwrap();
    assert_eq!(days.count(), 1);
    assert_eq!(stored(folder.path()), 2);
}

#[test]
fn end_users_can_be_stored_as_pseudonyms() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("pseudonyms.key");
    let pseudonyms = Pseudonyms::load(&key, || [7; 32]).unwrap();
    let same = Pseudonyms::load(&key, || [8; 32]).unwrap();
    assert_eq!(same.of("ada"), pseudonyms.of("ada"));
    let mut options = options();
    options.pseudonyms = Some(pseudonyms);
    let store = folder.path().join("ledger");
    let ledger = Ledger::start(opener(&store), options).unwrap();
    let mut row: FinishedRow =
        finished(RequestId::new(NOON, 1), "k", vec![attempt(1, "up/m", 1, 1)]);
    row.request.user = Some("ada".into());
    ledger.sender().send(LedgerEntry::Finished(row));
    drop(ledger);
    let mut store = SqliteStore::open(&store).unwrap();
    let found = store.requests(&RequestQuery {
        limit: 1,
        ..RequestQuery::default()
    });
    let user = found.unwrap()[0].request.user.clone().unwrap();
    assert_eq!(*user, *same.of("ada"));
    assert_eq!(store.forget_user(&same.of("ada")).unwrap(), 1);
}
