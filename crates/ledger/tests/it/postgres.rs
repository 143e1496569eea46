//! PostgreSQL, beyond what every store does. Runs on the server of `tests/postgres/run`.

use std::process::{Command, Stdio};
use std::time::Duration;

use majordomo_ledger::{
    Ledger, LedgerEntry, PostgresStore, PostgresUrl, RequestId, Store, StoreError, StorePlace,
    WriterOptions,
};
use majordomo_testkit::Postgres;

use crate::rows::{NOON, attempt, finished, opened, simple};
use crate::store::{Place, total};

/// Names the database that a child process opens.
const CHILD: &str = "MAJORDOMO_LEDGER_CHILD";

struct Database {
    server: Postgres,
    url: String,
}

impl Database {
    fn new() -> Option<Self> {
        let server = Postgres::started()?;
        let url = server.database();
        Some(Self { server, url })
    }

    fn parsed(&self) -> PostgresUrl {
        self.url.parse().unwrap()
    }

    fn store(&self) -> PostgresStore {
        PostgresStore::open(self.parsed()).expect("a ledger")
    }

    fn name(&self) -> &str {
        self.url.rsplit('/').next().unwrap()
    }

    fn sql(&self, statement: &str) -> String {
        self.server.sql(self.name(), statement)
    }

    /// Sessions of stores on this database.
    fn sessions(&self) -> u32 {
        let count = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'majordomo'";
        self.sql(count).parse().unwrap()
    }
}

impl Place for Database {
    fn open(&self) -> Box<dyn Store> {
        Box::new(self.store())
    }

    /// The server notices the end of a connection a moment later.
    fn close(&self, store: Box<dyn Store>) {
        let before = self.sessions();
        drop(store);
        while self.sessions() >= before {
            std::thread::yield_now();
        }
    }
}

mod same_as_every_store {
    use super::Database;
    use crate::store_tests;

    store_tests!(Database::new());
}

/// Starts this test's own program again, to run one test in a separate process.
fn child(test: &str, url: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, url)
        .stdout(Stdio::null());
    command
}

#[test]
fn opens_the_database_of_its_parent() {
    // Does nothing by itself; other tests run it in separate processes.
    if let Some(url) = majordomo_testkit::started(CHILD) {
        let mut store = PostgresStore::open(url.parse().unwrap()).unwrap();
        let n = std::process::id();
        store.write(&[simple(0, n.into(), "laptop")]).unwrap();
    }
}

#[test]
fn three_processes_that_migrate_at_once_get_one_schema() {
    for _ in 0..3 {
        let Some(database) = Database::new() else {
            return;
        };
        let test = "postgres::opens_the_database_of_its_parent";
        let children = [0; 3].map(|_| child(test, &database.url).spawn().unwrap());
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        assert_eq!(total(&mut database.store()).requests, 3);
        let versions = database.sql("SELECT count(*) FROM majordomo.schema_version");
        assert_eq!(versions, "1");
    }
}

#[test]
fn a_day_is_a_partition_that_is_dropped_whole() {
    let Some(database) = Database::new() else {
        return;
    };
    let mut store = database.store();
    let day = 86_400_000;
    store
        .write(&[simple(0, 1, "a"), simple(-day, 2, "a")])
        .unwrap();
    let tables = || {
        database.sql(
            "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class
             WHERE relkind = 'r' AND relname LIKE 'attempt_2%'",
        )
    };
    assert_eq!(tables(), "attempt_2026_11_16 attempt_2026_11_17");
    store
        .drop_before(majordomo_ledger::Day::of_millis(NOON))
        .unwrap();
    assert_eq!(tables(), "attempt_2026_11_17");
}

#[test]
fn three_nodes_that_write_at_once_lose_nothing() {
    let Some(database) = Database::new() else {
        return;
    };
    std::thread::scope(|scope| {
        for node in 0..3_u128 {
            let database = &database;
            scope.spawn(move || {
                let mut store = database.store();
                for batch in 0..20_u128 {
                    let id = |n: i64| (node << 40) | (batch << 20) | n as u128;
                    // Half of them are sent by every node.
                    let entries: Vec<LedgerEntry> = (0..20)
                        .map(|n| match n % 2 {
                            0 => simple(n, id(n), "laptop"),
                            _ => simple(n, (batch << 20) | (1 << 60) | n as u128, "phone"),
                        })
                        .collect();
                    store.write(&entries).unwrap();
                }
            });
        }
    });
    let mut store = database.store();
    assert_eq!(total(&mut store).requests, 3 * 20 * 10 + 20 * 10);
    assert_eq!(store.verify().unwrap().problems, [] as [&str; 0]);
}

#[test]
fn the_password_is_in_no_error() {
    let Some(database) = Database::new() else {
        return;
    };
    let password = database.url.split([':', '@']).nth(2).unwrap().to_owned();
    let wrong = database.url.replace(&password, "wrong-secret");
    let closed = majordomo_testkit::ClosedPort::hold();
    let refused = format!("postgres://ada:wrong-secret@{}/x", closed.address());
    for url in [wrong, refused, database.url.replace("/test_", "/none_")] {
        let error = PostgresStore::open(url.parse().unwrap()).err().unwrap();
        for text in [error.to_string(), format!("{error:?}")] {
            assert!(!text.contains("wrong-secret"), "{text}");
            assert!(!text.contains(&password), "{text}");
        }
        assert!(error.to_string().contains("postgres://"), "{error}");
    }
}

#[test]
fn tls_verifies_the_certificate_and_its_name() {
    let Some(database) = Database::new() else {
        return;
    };
    let root = database.server.root();
    let by_name = Postgres::by_name(&database.url);
    let open = |url: String| PostgresStore::open(url.parse().unwrap());
    let store = open(format!("{by_name}?sslmode=verify-full&sslrootcert={root}")).unwrap();
    let encrypted = "SELECT bool_or(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE datname = current_database() AND application_name = 'majordomo'";
    assert_eq!(database.sql(encrypted), "t");
    drop(store);
    // The machine's roots do not know this one.
    let unknown = open(format!("{by_name}?sslmode=require")).err().unwrap();
    assert!(unknown.to_string().contains("certificate"), "{unknown}");
    // The certificate has another name than this address.
    let other = format!("{}?sslmode=verify-full&sslrootcert={root}", database.url);
    let other = open(other).err().unwrap().to_string();
    assert!(other.contains("certificate"), "{other}");
}

#[test]
fn a_call_that_is_late_fails_and_the_next_one_connects_anew() {
    let Some(database) = Database::new() else {
        return;
    };
    let mut store = database.store();
    store.write(&[simple(0, 1, "a")]).unwrap();
    let mut lock = Command::new("psql")
        .args([&database.url, "--quiet", "--command"])
        .arg("BEGIN; LOCK TABLE majordomo.request; SELECT pg_sleep(7)")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let locked = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted
        AND relation = 'majordomo.request'::regclass";
    while database.sql(locked) != "1" {
        std::thread::yield_now();
    }
    let error = store.write(&[simple(1, 2, "a")]).err().unwrap();
    assert!(matches!(error, StoreError::Late { .. }), "{error}");
    lock.wait().unwrap();
    store.write(&[simple(1, 2, "a")]).unwrap();
    assert_eq!(total(&mut store).requests, 2);
}

#[test]
fn a_connection_that_the_server_ends_is_replaced() {
    let Some(database) = Database::new() else {
        return;
    };
    let place = StorePlace::Postgres(database.parsed());
    let mut options = WriterOptions::new(|| NOON);
    options.retry = Duration::from_millis(10);
    let ledger = Ledger::start(Box::new(move || place.open()), options).unwrap();
    let sender = ledger.sender();
    let id = RequestId::new(NOON, 7);
    sender.send(opened(id, 1));
    assert!(sender.flush(Duration::from_secs(20)));
    let ended = database.sql(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'majordomo'",
    );
    assert_eq!(ended, "1");
    // The request that was open in the meantime ends, and is not lost.
    let row = finished(id, "laptop", vec![attempt(1, "up/m", 100, 10)]);
    sender.send(LedgerEntry::Finished(row));
    drop(ledger);
    let sums = total(&mut database.store());
    assert_eq!((sums.requests, sums.lost), (1, 0));
    assert_eq!(sender.status().dropped, 0);
}

#[test]
fn a_forgotten_user_is_not_in_the_files_of_the_table() {
    let Some(database) = Database::new() else {
        return;
    };
    let mut store = database.store();
    let mut row = finished(RequestId::new(NOON, 1), "k", vec![attempt(1, "up/m", 1, 1)]);
    row.request.user = Some("ada.lovelace@example.com".into());
    store.write(&[LedgerEntry::Finished(row)]).unwrap();
    let found = || {
        let pages = "SELECT count(*) FROM (SELECT pg_read_binary_file(
            pg_relation_filepath('majordomo.request_2026_11_17')) AS bytes) AS file
            WHERE position('ada.lovelace'::bytea IN bytes) > 0";
        database.sql("CHECKPOINT");
        database.sql(pages)
    };
    assert_eq!(found(), "1");
    assert_eq!(store.forget_user("ada.lovelace@example.com").unwrap(), 1);
    assert_eq!(found(), "0");
}

#[test]
fn an_attempt_takes_at_most_two_hundred_bytes_with_its_index() {
    let Some(database) = Database::new() else {
        return;
    };
    let mut store = database.store();
    for batch in 0..20 {
        let entries: Vec<_> = (0..1_000)
            .map(|n| crate::sqlite::realistic(batch * 1_000 + n))
            .collect();
        store.write(&entries).unwrap();
    }
    let size = |table: &str| -> u64 {
        let size = format!("SELECT pg_total_relation_size('majordomo.{table}_2026_11_17')");
        database.sql(&size).parse().unwrap()
    };
    let attempts = total(&mut store).attempts;
    let (attempt, request) = (size("attempt") / attempts, size("request") / attempts);
    println!("{attempts} attempts: {attempt} bytes each, and {request} of its request");
    assert!(attempt <= 200, "{attempt} bytes");
}
