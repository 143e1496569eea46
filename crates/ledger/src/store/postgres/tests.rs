//! Schema versions, on the server that `tests/postgres/run` starts.

use majordomo_testkit::Postgres;

use super::*;

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
