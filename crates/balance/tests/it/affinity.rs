//! Sessions and previews.

use majordomo_balance::{Pick, PickSource, Tactic};

use crate::support::{TestGateway, flat, now, pass, pinned, secs, session, statuses, tiers};

#[tokio::test(start_paused = true)]
async fn a_pin_of_the_route_does_not_apply_to_a_partition() {
    let gateway = TestGateway::new();
    let base = gateway.pool(pinned(flat(&["up/base"])));
    let partition = gateway.pool(pinned(flat(&["up/special"])));
    gateway.send_as(&base, session("s")).await;
    let outcome = gateway.send_in(&[&partition, &base], session("s")).await;
    assert_eq!(outcome.served(), "up/special");
}

#[tokio::test(start_paused = true)]
async fn a_pinned_session_takes_no_turn() {
    let gateway = TestGateway::new();
    let config = pinned(flat(&["up/a", "up/b"])).with_tactic(Tactic::RoundRobin);
    let partition = gateway.pool(config);
    assert_eq!(
        gateway.send_as(&partition, session("s")).await.first(),
        "up/a"
    );
    let again = gateway.send_as(&partition, session("s")).await;
    assert_eq!(
        (again.first(), again.source),
        ("up/a", PickSource::Affinity)
    );
    let other = gateway.send_as(&partition, session("t")).await;
    assert_eq!((other.first(), other.source), ("up/b", PickSource::Tactic));
}

#[tokio::test(start_paused = true)]
async fn a_session_has_one_pin_per_partition() {
    let gateway = TestGateway::new();
    let base = gateway.pool(pinned(flat(&["up/a", "up/b", "up/c"])));
    let partition = gateway.pool(pinned(flat(&["up/x", "up/y", "up/z"])));
    let first_base = gateway.send_as(&base, session("s")).await;
    let first_partition = gateway.send_as(&partition, session("s")).await;
    assert_eq!(first_base.source, PickSource::Tactic);
    assert_eq!(first_partition.source, PickSource::Tactic);

    let partition_again = gateway.send_as(&partition, session("s")).await;
    let base_again = gateway.send_as(&base, session("s")).await;
    assert_eq!(partition_again.source, PickSource::Affinity);
    assert_eq!(partition_again.first(), first_partition.first());
    assert_eq!(base_again.source, PickSource::Affinity);
    assert_eq!(base_again.first(), first_base.first());
}

#[tokio::test(start_paused = true)]
async fn a_pin_to_an_inactive_service_is_ignored() {
    let gateway = TestGateway::new();
    let config = pinned(flat(&["up/a", "up/b"])).with_tactic(Tactic::RoundRobin);
    let pool = gateway.pool(config.clone());
    assert_eq!(gateway.send_as(&pool, session("s")).await.first(), "up/a");

    let mut without = config;
    without.services[0].active = false;
    let pool = pool.reload(without);
    let outcome = gateway.send_as(&pool, session("s")).await;
    assert_eq!(
        (outcome.first(), outcome.source),
        ("up/b", PickSource::Tactic)
    );
}

#[tokio::test(start_paused = true)]
async fn a_pin_lasts_from_the_first_request_and_is_not_extended() {
    let gateway = TestGateway::new();
    let config = flat(&["up/a", "up/b"])
        .with_affinity(Some(secs(60)))
        .with_tactic(Tactic::RoundRobin);
    let pool = gateway.pool(config);
    let mut seen = Vec::new();
    for _ in 0..4 {
        let outcome = gateway.send_as(&pool, session("s")).await;
        seen.push((outcome.first().to_owned(), outcome.source));
        pass(25).await;
    }
    let expected = [
        ("up/a", PickSource::Tactic),
        ("up/a", PickSource::Affinity),
        ("up/a", PickSource::Affinity),
        ("up/b", PickSource::Tactic),
    ];
    assert_eq!(seen, expected.map(|(id, source)| (id.to_owned(), source)));
}

#[tokio::test(start_paused = true)]
async fn a_pin_to_a_low_tier_is_dropped_when_the_top_tier_is_healthy() {
    let gateway = TestGateway::new();
    let config = pinned(tiers(&[&["up/top"], &["up/low"]]));
    let mut only_low = config.clone();
    only_low.services[0].active = false;
    let pool = gateway.pool(only_low);
    assert_eq!(gateway.send_as(&pool, session("s")).await.first(), "up/low");

    let pool = pool.reload(config);
    let outcome = gateway.send_as(&pool, session("s")).await;
    assert_eq!(
        (outcome.first(), outcome.source),
        ("up/top", PickSource::Tactic)
    );
    let again = gateway.send_as(&pool, session("s")).await;
    assert_eq!(
        (again.first(), again.source),
        ("up/top", PickSource::Affinity)
    );
}

#[tokio::test(start_paused = true)]
async fn a_pin_to_a_low_tier_holds_while_the_top_tier_is_benched() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(pinned(tiers(&[&["up/top"], &["up/low1", "up/low2"]])));
    gateway
        .registry
        .health()
        .bench("up/top", secs(600), "failing");
    let first = gateway.send_as(&pool, session("s")).await;
    for _ in 0..20 {
        let outcome = gateway.send_as(&pool, session("s")).await;
        assert_eq!(outcome.source, PickSource::Affinity);
        assert_eq!(outcome.first(), first.first());
    }
}

#[tokio::test(start_paused = true)]
async fn a_pin_to_a_benched_peer_is_dropped() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(pinned(flat(&["up/a", "up/b"])));
    let before = gateway
        .send_as(&pool, session("s"))
        .await
        .first()
        .to_owned();
    gateway
        .registry
        .health()
        .bench(&before, secs(60), "failing");
    let after = gateway.send_as(&pool, session("s")).await;
    assert_ne!(after.first(), before);
    assert_eq!(after.source, PickSource::Tactic);
}

#[tokio::test(start_paused = true)]
async fn after_a_recovery_sessions_stay_for_a_minute_and_then_return() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(pinned(tiers(&[&["up/top"], &["up/low"]])));
    gateway.up.enqueue("top", statuses(500, 2));
    gateway.send_as(&pool, session("first")).await;
    assert_eq!(
        gateway.send_as(&pool, session("old")).await.first(),
        "up/low"
    );

    pass(30).await;
    let stays = gateway.send_as(&pool, session("old")).await;
    assert_eq!(
        (stays.first(), stays.source),
        ("up/low", PickSource::Affinity)
    );
    let new = gateway.send_as(&pool, session("new")).await;
    assert_eq!(new.served(), "up/top", "the new session is the probe");
    pass(59).await;
    let stays = gateway.send_as(&pool, session("old")).await;
    assert_eq!(
        (stays.first(), stays.source),
        ("up/low", PickSource::Affinity)
    );
    pass(2).await;
    let moves = gateway.send_as(&pool, session("old")).await;
    assert_eq!(
        (moves.first(), moves.source),
        ("up/top", PickSource::Tactic)
    );
}

#[tokio::test(start_paused = true)]
async fn a_preview_takes_no_probe_no_turn_and_no_pin() {
    let gateway = TestGateway::new();
    let config = pinned(tiers(&[&["up/a", "up/b"]])).with_within(Tactic::RoundRobin);
    let pool = gateway.pool(config);
    let preview = || {
        let pick = Pick::at(now()).of(session("s")).preview();
        let first = pool.order(&pick, gateway.usable(&pool)).next();
        pool.service(first.unwrap()).id().to_owned()
    };
    assert_eq!((preview(), preview()), ("up/a".into(), "up/a".into()));
    let real = gateway.send_as(&pool, session("s")).await;
    assert_eq!((real.first(), real.source), ("up/a", PickSource::Tactic));

    gateway.registry.health().bench("up/b", secs(5), "failing");
    pass(6).await;
    assert_eq!(preview(), "up/a", "the pin shows");
    assert!(!gateway.health("up/b").unwrap().probing);
    assert_eq!(
        gateway.send(&pool).await.served(),
        "up/b",
        "the probe is still available"
    );
}

#[tokio::test(start_paused = true)]
async fn two_processes_place_a_session_on_the_same_service() {
    let (one, other) = (TestGateway::new(), TestGateway::new());
    let config = || pinned(flat(&["up/a", "up/b", "up/c"])).with_sessions_by_hash(true);
    let (here, there) = (one.pool(config()), other.pool(config().with_seed(Some(99))));
    let mut places = std::collections::BTreeSet::new();
    for number in 0..20 {
        let name = number.to_string();
        let first = one.send_as(&here, session(&name)).await;
        let second = other.send_as(&there, session(&name)).await;
        assert_eq!(first.first(), second.first());
        assert_eq!(first.source, PickSource::Affinity);
        places.insert(first.first().to_owned());
    }
    assert_eq!(places.len(), 3, "{places:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_by_hash_stays_in_the_lowest_tier() {
    let gateway = TestGateway::new();
    let config = pinned(tiers(&[&["up/a", "up/b"], &["up/c"]])).with_sessions_by_hash(true);
    let pool = gateway.pool(config);
    for number in 0..20 {
        let outcome = gateway.send_as(&pool, session(&number.to_string())).await;
        assert_ne!(outcome.first(), "up/c");
    }
}
