//! Schema versions, on the server that `tests/postgres/run` starts.

use majordomo_testkit::Postgres;

use super::*;
use crate::report::GroupBy;

/// Runs statements on a separate database.
fn prepared(server: &Postgres, work: impl AsyncFnOnce(&mut Client)) -> PostgresUrl {
    let url: PostgresUrl = server.database().parse().unwrap();
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
    url
}

#[test]
fn an_older_schema_is_migrated() {
    let Some(server) = Postgres::started() else {
        return;
    };
    let url = prepared(&server, async |client| {
        let steps = &migrations::STEPS[..1];
        assert_eq!(migrations::migrate(client, steps).await.unwrap(), None);
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
        assert_eq!(migrations::migrate(client, steps).await.unwrap(), None);
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

#[test]
fn a_newer_schema_is_refused_with_a_sentence() {
    let Some(server) = Postgres::started() else {
        return;
    };
    let url = prepared(&server, async |client| {
        migrations::migrate(client, migrations::STEPS)
            .await
            .unwrap();
        let newer = "UPDATE schema_version SET version = 99";
        client.batch_execute(newer).await.unwrap();
    });
    let error = PostgresStore::open(url).err().unwrap().to_string();
    assert!(error.contains("has schema 99"), "{error}");
    assert!(error.contains("upgrade majordomo"), "{error}");
}
