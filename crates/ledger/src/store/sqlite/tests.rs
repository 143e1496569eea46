//! Schema versions.

use super::connection::open_older;
use super::*;

#[test]
fn an_older_schema_is_migrated() {
    let folder = tempfile::tempdir().unwrap();
    open_older(&folder.path().join(MAIN), &schema::MAIN[..1]);
    let mut store = SqliteStore::open(folder.path()).unwrap();
    assert_eq!(store.close_abandoned_leases().unwrap(), 0);
}

#[test]
fn a_newer_schema_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(folder.path()).unwrap());
    let path = folder.path().join(MAIN);
    let db = Connection::open(&path).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    let error = SqliteStore::open(folder.path()).err().unwrap().to_string();
    assert!(error.contains("has schema 99"), "{error}");
    assert!(error.contains("upgrade majordomo"), "{error}");
}

#[test]
fn a_day_with_a_row_per_attempt_is_packed_and_summed_again() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(DAYS)).unwrap();
    let main = folder.path().join(MAIN);
    open_older(&main, &schema::MAIN[..3]);
    let id = RequestId::new(1_794_924_000_000, 7);
    // Two of three attempts are in the rollups: the process died before the third was.
    let rolled = format!(
        "INSERT INTO rolled VALUES ({}, 2, 0, 0, 0)",
        id.day().number()
    );
    Connection::open(&main)
        .unwrap()
        .execute_batch(&rolled)
        .unwrap();
    let day = folder.path().join(DAYS).join(format!("{}.db", id.day()));
    open_older(&day, &schema::DAY[..2]);
    let db = Connection::open(&day).unwrap();
    db.execute_batch("INSERT INTO name VALUES (1, 'laptop'), (2, 'coder'), (3, 'up/m')")
        .unwrap();
    db.execute(
        "INSERT INTO request VALUES (?1, 1, 0, 0, 0, 0, 0, 0, 2, 0, 200, 5, NULL)",
        [id.bytes()],
    )
    .unwrap();
    for number in 1..=3 {
        db.execute(
            "INSERT INTO attempt VALUES (NULL, ?1, ?2, 0, 3, NULL, 10, 0, 0, 0, 0, 4, 0, 0, 9,
                 NULL, ?3, 0)",
            params![id.bytes(), number, if number == 2 { 2 } else { 0 }],
        )
        .unwrap();
    }
    db.execute(
        "INSERT INTO correction VALUES (1, ?1, 3, 1, 1, 5, 0)",
        [id.bytes()],
    )
    .unwrap();
    drop(db);

    let mut store = SqliteStore::open(folder.path()).unwrap();
    store.recover().unwrap();
    let usage = UsageQuery {
        since_millis: 0,
        until_millis: i64::MAX >> 16,
        by: vec![crate::report::GroupBy::Target],
        utc_offset_minutes: 0,
        as_recorded: false,
    };
    let usage = store.usage(&usage).unwrap();
    assert_eq!(usage.len(), 1);
    assert_eq!(usage[0].group, ["up/m"]);
    let sums = &usage[0].sums;
    assert_eq!((sums.requests, sums.attempts, sums.input), (1, 3, 30));
    assert_eq!(sums.cost, Cost::from_nanodollars(3 * 9 + 5));
    assert_eq!(sums.estimated_cost, Cost::from_nanodollars(9));
    let query = RequestQuery {
        limit: 9,
        ..RequestQuery::default()
    };
    let found = store.requests(&query).unwrap();
    assert_eq!(found[0].request.key.as_deref(), Some("laptop"));
    assert_eq!(found[0].attempts.len(), 3);
    assert_eq!(found[0].correction, Cost::from_nanodollars(5));
    assert_eq!(store.verify().unwrap().problems, [] as [&str; 0]);
}

/// A file and its journals, with what they contain.
fn contents(folder: &std::path::Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

#[test]
fn the_schema_is_read_without_changing_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("50% #1?");
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(inspect(&folder).unwrap(), StoreSchema::Missing);
    assert_eq!(contents(&folder).len(), 0);

    open_older(&folder.join(MAIN), &schema::MAIN[..1]);
    let before = contents(&folder);
    assert_eq!(inspect(&folder).unwrap(), StoreSchema::Older);
    assert_eq!(contents(&folder), before);

    let store = SqliteStore::open(&folder).unwrap();
    assert_eq!(inspect(&folder).unwrap(), StoreSchema::Current, "in use");
    drop(store);
    let before = contents(&folder);
    assert_eq!(inspect(&folder).unwrap(), StoreSchema::Current);
    assert_eq!(contents(&folder), before);

    let main = rusqlite::Connection::open(folder.join(MAIN)).unwrap();
    main.pragma_update(None, "user_version", 1_000).unwrap();
    drop(main);
    let newer = inspect(&folder).unwrap_err();
    assert!(matches!(newer, StoreError::Newer { found: 1_000, .. }));
}
