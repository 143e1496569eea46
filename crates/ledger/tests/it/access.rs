//! Keys, teams and the audit log: what every store of them does.

use majordomo_ledger::{
    AccessChange, AccessStore, AuditQuery, AuditStamp, PostgresAccess, SqliteAccess, StoreError,
    StoredKey, StoredSecret, StoredTeam,
};
use majordomo_testkit::Postgres;

/// Opens the same store again, as another process would.
type Open<'a> = &'a dyn Fn() -> Box<dyn AccessStore>;

fn stamp(at_millis: i64) -> AuditStamp {
    AuditStamp {
        who: "ops".to_owned(),
        at_millis,
    }
}

fn created(name: &str) -> AccessChange {
    AccessChange::CreateKey(StoredKey {
        name: name.to_owned(),
        settings: r#"{"team":"search"}"#.to_owned(),
        secrets: vec![StoredSecret {
            sha256: format!("hash of {name}"),
            until_millis: None,
        }],
        frozen: false,
        created_millis: 7,
    })
}

fn frozen(name: &str, frozen: bool) -> AccessChange {
    AccessChange::FreezeKey {
        name: name.to_owned(),
        frozen,
    }
}

fn deleted(name: &str) -> AccessChange {
    AccessChange::DeleteKey {
        name: name.to_owned(),
    }
}

fn on_sqlite(test: impl Fn(Open<'_>)) {
    let folder = tempfile::tempdir().unwrap();
    test(&|| Box::new(SqliteAccess::open(folder.path()).unwrap()));
}

fn on_postgres(test: impl Fn(Open<'_>)) {
    let Some(server) = Postgres::started() else {
        return;
    };
    let url = server.database();
    test(&|| Box::new(PostgresAccess::open(url.parse().unwrap()).unwrap()));
}

/// Runs a test on each kind of store.
macro_rules! on_every_store {
    ($($name:ident)+) => {
        mod sqlite { $(#[test] fn $name() { super::on_sqlite(super::$name); })+ }
        mod postgres { $(#[test] fn $name() { super::on_postgres(super::$name); })+ }
    };
}

on_every_store! {
    changes_are_seen_by_others_and_raise_the_revision
    a_change_that_does_not_suit_is_refused_and_changes_nothing
    a_rotation_keeps_the_old_secret_until_its_overlap_ends
    every_change_leaves_an_audit_row_without_a_hash
    the_audit_log_is_dropped_by_age_and_nothing_else_is
    keys_are_remembered_to_have_existed
}

fn changes_are_seen_by_others_and_raise_the_revision(open: Open<'_>) {
    let (mut one, mut other) = (open(), open());
    assert_eq!(other.load().unwrap(), Default::default());
    one.apply(&created("ada"), &stamp(1)).unwrap();
    let team = StoredTeam {
        name: "search".to_owned(),
        settings: "{}".to_owned(),
    };
    one.apply(&AccessChange::PutTeam(team.clone()), &stamp(2))
        .unwrap();
    one.apply(&frozen("ada", true), &stamp(3)).unwrap();
    assert_eq!(other.revision().unwrap(), 3);
    let seen = other.load().unwrap();
    assert_eq!((seen.revision, seen.had_keys), (3, true));
    assert_eq!(seen.teams, [team]);
    let AccessChange::CreateKey(key) = created("ada") else {
        panic!("a key");
    };
    assert_eq!(
        seen.keys,
        [StoredKey {
            frozen: true,
            ..key
        }]
    );
    one.apply(&frozen("ada", false), &stamp(4)).unwrap();
    let settings = r#"{"role":"viewer"}"#.to_owned();
    let update = AccessChange::UpdateKey {
        name: "ada".to_owned(),
        settings: settings.clone(),
    };
    one.apply(&update, &stamp(5)).unwrap();
    let seen = other.load().unwrap();
    assert!(!seen.keys[0].frozen && seen.keys[0].settings == settings);
    one.apply(&deleted("ada"), &stamp(6)).unwrap();
    let team = AccessChange::DeleteTeam {
        name: "search".to_owned(),
    };
    one.apply(&team, &stamp(7)).unwrap();
    let seen = other.load().unwrap();
    assert!(seen.keys.is_empty() && seen.teams.is_empty());
    // A name can be used again.
    other.apply(&created("ada"), &stamp(8)).unwrap();
}

fn a_change_that_does_not_suit_is_refused_and_changes_nothing(open: Open<'_>) {
    let mut store = open();
    store.apply(&created("ada"), &stamp(1)).unwrap();
    let before = store.load().unwrap();
    let gone = || "bob".to_owned();
    for change in [
        created("ada"),
        frozen("bob", true),
        deleted("bob"),
        AccessChange::UpdateKey {
            name: gone(),
            settings: "{}".to_owned(),
        },
        AccessChange::RotateKey {
            name: gone(),
            sha256: "x".to_owned(),
            overlap_until_millis: 0,
        },
        AccessChange::DeleteTeam { name: gone() },
    ] {
        let refused = store.apply(&change, &stamp(2));
        assert!(
            matches!(refused, Err(StoreError::Refused(_))),
            "{change:?}: {refused:?}"
        );
    }
    assert_eq!(store.load().unwrap(), before);
    assert_eq!(rows(&mut *store), 1);
}

fn rows(store: &mut dyn AccessStore) -> usize {
    let all = AuditQuery {
        limit: 100,
        ..AuditQuery::default()
    };
    store.audit(&all).unwrap().len()
}

fn a_rotation_keeps_the_old_secret_until_its_overlap_ends(open: Open<'_>) {
    let mut store = open();
    store.apply(&created("ada"), &stamp(1)).unwrap();
    let rotate = |sha256: &str, overlap_until_millis| AccessChange::RotateKey {
        name: "ada".to_owned(),
        sha256: sha256.to_owned(),
        overlap_until_millis,
    };
    store.apply(&rotate("second", 100), &stamp(10)).unwrap();
    let secrets = store.load().unwrap().keys[0].secrets.clone();
    let secret = |sha256: &str, until_millis| StoredSecret {
        sha256: sha256.to_owned(),
        until_millis,
    };
    assert_eq!(
        secrets,
        [secret("hash of ada", Some(100)), secret("second", None)]
    );
    store.apply(&rotate("third", 300), &stamp(200)).unwrap();
    let secrets = store.load().unwrap().keys[0].secrets.clone();
    assert_eq!(
        secrets,
        [secret("second", Some(300)), secret("third", None)]
    );
}

fn every_change_leaves_an_audit_row_without_a_hash(open: Open<'_>) {
    let mut store = open();
    store.apply(&created("ada"), &stamp(1)).unwrap();
    store.apply(&frozen("ada", true), &stamp(2)).unwrap();
    store.note("target.release", "up/m", &stamp(3)).unwrap();
    let all = AuditQuery {
        limit: 100,
        ..AuditQuery::default()
    };
    let found = store.audit(&all).unwrap();
    let told: Vec<_> = found
        .iter()
        .map(|row| (row.at_millis, &*row.who, &*row.action, &*row.subject))
        .collect();
    assert_eq!(
        told,
        [
            (3, "ops", "target.release", "up/m"),
            (2, "ops", "key.freeze", "ada"),
            (1, "ops", "key.create", "ada"),
        ]
    );
    assert_eq!(found[2].detail, r#"{"team":"search"}"#);
    assert!(found.iter().all(|row| !row.detail.contains("hash")));
    let older = AuditQuery {
        before: Some(found[0].id),
        limit: 1,
        ..AuditQuery::default()
    };
    assert_eq!(store.audit(&older).unwrap(), found[1..2]);
}

fn the_audit_log_is_dropped_by_age_and_nothing_else_is(open: Open<'_>) {
    let mut store = open();
    for (at, name) in [(10, "a"), (20, "b"), (30, "c")] {
        store.apply(&created(name), &stamp(at)).unwrap();
    }
    assert_eq!(store.drop_audit_before(20).unwrap(), 1);
    assert_eq!(rows(&mut *store), 2);
    assert_eq!(store.load().unwrap().keys.len(), 3);
}

fn keys_are_remembered_to_have_existed(open: Open<'_>) {
    let mut store = open();
    assert!(!store.load().unwrap().had_keys);
    store.apply(&created("ada"), &stamp(1)).unwrap();
    store.apply(&deleted("ada"), &stamp(2)).unwrap();
    drop(store);
    assert!(open().load().unwrap().had_keys);
}
