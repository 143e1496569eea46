//! Schema versions.

use super::connection::open_older;
use super::*;

#[test]
fn an_older_schema_is_migrated() {
    let folder = tempfile::tempdir().unwrap();
    open_older(&folder.path().join(MAIN), &schema::MAIN[..1]);
    let mut store = SqliteStore::open(folder.path()).unwrap();
    assert_eq!(store.open_leases("a").unwrap(), []);
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
