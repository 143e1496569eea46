//! Schema versions, on the server that `tests/postgres/run` starts.

use majordomo_testkit::Postgres;

use super::*;
use crate::quantities::Quantities;
use crate::report::GroupBy;
use crate::rows::{AttemptKind, AttemptRow, FinishedRow, RequestRow, SettleClass};
use crate::store::{AccessChange, AccessStore, AuditStamp, StoreSchema, StoredTeam};

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

fn row(id: RequestId) -> LedgerEntry {
    let attempt = AttemptRow {
        number: 1,
        kind: AttemptKind::Answer,
        target: "up/m".into(),
        price: None,
        used: Quantities {
            input: 3,
            ..Quantities::default()
        },
        cost: None,
        reported_cost: None,
        settle: SettleClass::Reported,
        failure: None,
    };
    LedgerEntry::Finished(FinishedRow {
        request: RequestRow {
            id,
            key: Some("laptop".into()),
            team: None,
            user: None,
            tags: vec!["project=x".into()],
            dialect: "chat".into(),
            route: None,
            rule: None,
            model: "coder".into(),
            outcome: "complete".into(),
            status: 200,
            duration_ms: 5,
            first_token_ms: None,
        },
        attempts: vec![attempt],
    })
}

/// Runs statements on a separate database.
fn prepared(server: &Postgres, work: impl AsyncFnOnce(&mut Client)) -> PostgresUrl {
    let url: PostgresUrl = server.database().parse().unwrap();
    run_on(&url, work);
    url
}

fn run_on(url: &PostgresUrl, work: impl AsyncFnOnce(&mut Client)) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    runtime.block_on(async {
        let connected = url.config().connect(tokio_postgres::NoTls).await;
        let (mut client, connection) = connected.unwrap();
        tokio::spawn(connection);
        let path = "SET search_path TO majordomo, pg_catalog";
        client.batch_execute(path).await.unwrap();
        work(&mut client).await;
    });
}

#[test]
fn an_older_schema_is_migrated() {
    let Some(server) = Postgres::started() else {
        return;
    };
    let url = prepared(&server, async |client| {
        let steps = &migrations::STEPS[..1];
        migrations::migrate(client, steps, 0).await.unwrap();
    });
    let mut store = PostgresStore::open(url).unwrap();
    assert_eq!(store.close_abandoned_leases().unwrap(), 0);
}

#[test]
fn an_older_schemas_estimates_are_summed() {
    let Some(server) = Postgres::started() else {
        return;
    };
    // Two attempts of a request: one estimated, one reported.
    const ROWS: &str = "
        CREATE TABLE request_rest PARTITION OF request DEFAULT;
        CREATE TABLE attempt_rest PARTITION OF attempt DEFAULT;
        INSERT INTO name VALUES (1, 'up/m'), (2, 'project=x'), (3, 'coder');
        INSERT INTO request VALUES
            ('019a0000-0000-7000-8000-000000000001', 5, NULL, 0, 0, 0, 0, 0, 3, 0, 200, NULL,
             'project=x');
        INSERT INTO attempt VALUES
            ('019a0000-0000-7000-8000-000000000001', 1, 1, 10, 0, 0, 0, 0, 4, 0, 0, NULL, 7,
             NULL, 0, 0, 2),
            ('019a0000-0000-7000-8000-000000000001', 2, 1, 10, 0, 0, 0, 0, 4, 0, 0, NULL, 8,
             NULL, 0, 0, 0);
        INSERT INTO rollup VALUES
            (x'019a00000000'::bigint / 900000, 0, 0, 3, 1, 1, 2, 20, 0, 0, 0, 8, 0, 0, 15, 0, 0,
             1, 0, 0);
        INSERT INTO tag_rollup VALUES
            (x'019a00000000'::bigint / 900000, 2, 1, 2, 20, 0, 0, 0, 8, 0, 0, 15, 0, 0, 1, 0, 0)";
    let url = prepared(&server, async |client| {
        let steps = &migrations::STEPS[..4];
        migrations::migrate(client, steps, 0).await.unwrap();
        client.batch_execute(ROWS).await.unwrap();
    });
    let mut store = PostgresStore::open(url).unwrap();
    for by in [Vec::new(), vec![GroupBy::Tag]] {
        let query = UsageQuery {
            since_millis: 0,
            until_millis: i64::MAX >> 16,
            by,
            utc_offset_minutes: 0,
            as_recorded: false,
        };
        let sums = store.usage(&query).unwrap()[0].sums;
        let costs = (sums.cost.nanodollars(), sums.estimated_cost.nanodollars());
        assert_eq!(costs, (15, 7));
    }
}

/// A step of a later version that adds a column to every table.
const ADDS: &str = "
    DO $$ DECLARE of_table text;
    BEGIN
        FOR of_table IN SELECT relname FROM pg_class
            WHERE relnamespace = 'majordomo'::regnamespace AND relkind IN ('r', 'p')
                AND NOT relispartition
        LOOP
            EXECUTE format('ALTER TABLE %I ADD COLUMN later bigint NOT NULL DEFAULT 7', of_table);
        END LOOP;
    END $$";

/// The steps of a later version.
fn later() -> Vec<&'static str> {
    let steps = migrations::STEPS.iter().copied();
    steps.chain([ADDS]).collect()
}

/// Uses every part of the store once; the row is of this day.
fn use_all(store: &mut PostgresStore, access: &mut PostgresAccess, day: i64) {
    let at = DAY * (20_000 + day);
    let id = RequestId::first_at(at);
    store.write(&[row(id)]).unwrap();
    let ask = LeaseRequest {
        budget: "key/laptop/total".into(),
        window: 0,
        limit: Cost::from_nanodollars(1_000_000),
        amount: Cost::from_nanodollars(10),
        least: Cost::from_nanodollars(10),
        opening: None,
    };
    let lease = store.grant_lease(&ask).unwrap().lease.unwrap();
    store.close_lease(&lease, lease.amount).unwrap();
    let stamp = AuditStamp {
        who: "a test".to_owned(),
        at_millis: at,
    };
    let team = StoredTeam {
        name: format!("team {day}"),
        settings: "{}".to_owned(),
    };
    access.apply(&AccessChange::PutTeam(team), &stamp).unwrap();
    access.load().unwrap();
}

#[test]
fn a_node_goes_on_after_a_newer_one_has_added_to_the_tables_and_also_when_it_reconnects() {
    let Some(server) = Postgres::started() else {
        return;
    };
    let url = prepared(&server, async |_| {});
    let mut store = PostgresStore::open(url.clone()).unwrap();
    let mut access = PostgresAccess::open(url.clone()).unwrap();
    use_all(&mut store, &mut access, 0);
    run_on(&url, async |client| {
        let usable_from = migrations::STEPS.len() as i64;
        migrations::migrate(client, &later(), usable_from)
            .await
            .unwrap();
    });
    use_all(&mut store, &mut access, 1);
    let mut store = PostgresStore::open(url.clone()).unwrap();
    let mut access = PostgresAccess::open(url.clone()).unwrap();
    use_all(&mut store, &mut access, 2);
    assert_eq!(inspect(&url).unwrap(), StoreSchema::Current);
    let query = UsageQuery {
        since_millis: 0,
        until_millis: i64::MAX >> 16,
        by: Vec::new(),
        utc_offset_minutes: 0,
        as_recorded: false,
    };
    assert_eq!(store.usage(&query).unwrap()[0].sums.requests, 3);
}

#[test]
fn a_newer_schema_that_is_not_usable_is_refused_with_a_sentence() {
    let Some(server) = Postgres::started() else {
        return;
    };
    let url = prepared(&server, async |client| {
        migrations::migrate(client, &later(), 99).await.unwrap();
        let newer = "UPDATE schema_version SET version = 99";
        client.batch_execute(newer).await.unwrap();
    });
    let error = PostgresStore::open(url).err().unwrap().to_string();
    assert!(error.contains("has schema 99"), "{error}");
    assert!(error.contains("upgrade majordomo"), "{error}");
}
