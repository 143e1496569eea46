//! Sessions and previews.

use majordomo_balance::{Pick, PoolConfig, Source, Tactic};

use crate::house::{House, flat, now, pass, pinned, secs, session, statuses, tiers};

#[tokio::test(start_paused = true)]
async fn b2_a_pin_of_the_route_does_not_hold_in_a_partition() {
    let house = House::new();
    let base = house.pool(pinned(flat(&["up/base"])));
    let partition = house.pool(pinned(flat(&["up/special"])));
    house.ask_as(&base, session("s")).await;
    let asked = house.ask_in(&[&partition, &base], session("s")).await;
    assert_eq!(asked.served(), "up/special");
}

#[tokio::test(start_paused = true)]
async fn b3_a_pinned_session_does_not_take_a_turn() {
    let house = House::new();
    let config = PoolConfig {
        tactic: Tactic::RoundRobin,
        ..pinned(flat(&["up/a", "up/b"]))
    };
    let partition = house.pool(config);
    assert_eq!(house.ask_as(&partition, session("s")).await.first(), "up/a");
    let again = house.ask_as(&partition, session("s")).await;
    assert_eq!((again.first(), again.source), ("up/a", Source::Affinity));
    let other = house.ask_as(&partition, session("t")).await;
    assert_eq!((other.first(), other.source), ("up/b", Source::Tactic));
}

#[tokio::test(start_paused = true)]
async fn b5_a_session_has_one_pin_for_each_partition() {
    let house = House::new();
    let base = house.pool(pinned(flat(&["up/a", "up/b", "up/c"])));
    let partition = house.pool(pinned(flat(&["up/x", "up/y", "up/z"])));
    let first_base = house.ask_as(&base, session("s")).await;
    let first_partition = house.ask_as(&partition, session("s")).await;
    assert_eq!(first_base.source, Source::Tactic);
    assert_eq!(first_partition.source, Source::Tactic);

    let partition_again = house.ask_as(&partition, session("s")).await;
    let base_again = house.ask_as(&base, session("s")).await;
    assert_eq!(partition_again.source, Source::Affinity);
    assert_eq!(partition_again.first(), first_partition.first());
    assert_eq!(base_again.source, Source::Affinity);
    assert_eq!(base_again.first(), first_base.first());
}

#[tokio::test(start_paused = true)]
async fn b6_a_pin_on_an_inactive_service_is_not_honoured() {
    let house = House::new();
    let config = PoolConfig {
        tactic: Tactic::RoundRobin,
        ..pinned(flat(&["up/a", "up/b"]))
    };
    let pool = house.pool(config.clone());
    assert_eq!(house.ask_as(&pool, session("s")).await.first(), "up/a");

    let mut without = config;
    without.services[0].active = false;
    let pool = pool.reload(without);
    let asked = house.ask_as(&pool, session("s")).await;
    assert_eq!((asked.first(), asked.source), ("up/b", Source::Tactic));
}

#[tokio::test(start_paused = true)]
async fn b7_a_pin_lasts_from_its_first_request_and_is_not_extended() {
    let house = House::new();
    let config = PoolConfig {
        affinity: Some(secs(60)),
        tactic: Tactic::RoundRobin,
        ..flat(&["up/a", "up/b"])
    };
    let pool = house.pool(config);
    let mut seen = Vec::new();
    for _ in 0..4 {
        let asked = house.ask_as(&pool, session("s")).await;
        seen.push((asked.first().to_owned(), asked.source));
        pass(25).await;
    }
    let expected = [
        ("up/a", Source::Tactic),
        ("up/a", Source::Affinity),
        ("up/a", Source::Affinity),
        ("up/b", Source::Tactic),
    ];
    assert_eq!(seen, expected.map(|(id, source)| (id.to_owned(), source)));
}

#[tokio::test(start_paused = true)]
async fn b8_a_pin_on_a_low_tier_goes_when_the_top_tier_is_well() {
    let house = House::new();
    let config = pinned(tiers(&[&["up/top"], &["up/low"]]));
    let mut only_low = config.clone();
    only_low.services[0].active = false;
    let pool = house.pool(only_low);
    assert_eq!(house.ask_as(&pool, session("s")).await.first(), "up/low");

    let pool = pool.reload(config);
    let asked = house.ask_as(&pool, session("s")).await;
    assert_eq!((asked.first(), asked.source), ("up/top", Source::Tactic));
    let again = house.ask_as(&pool, session("s")).await;
    assert_eq!((again.first(), again.source), ("up/top", Source::Affinity));
}

#[tokio::test(start_paused = true)]
async fn b9_a_pin_on_a_low_tier_is_honoured_while_the_top_tier_is_benched() {
    let house = House::new();
    let pool = house.pool(pinned(tiers(&[&["up/top"], &["up/low1", "up/low2"]])));
    house.registry.health().bench("up/top", secs(600), "sick");
    let first = house.ask_as(&pool, session("s")).await;
    for _ in 0..20 {
        let asked = house.ask_as(&pool, session("s")).await;
        assert_eq!(asked.source, Source::Affinity);
        assert_eq!(asked.first(), first.first());
    }
}

#[tokio::test(start_paused = true)]
async fn b10_a_pin_on_a_benched_peer_goes() {
    let house = House::new();
    let pool = house.pool(pinned(flat(&["up/a", "up/b"])));
    let before = house.ask_as(&pool, session("s")).await.first().to_owned();
    house.registry.health().bench(&before, secs(60), "sick");
    let after = house.ask_as(&pool, session("s")).await;
    assert_ne!(after.first(), before);
    assert_eq!(after.source, Source::Tactic);
}

#[tokio::test(start_paused = true)]
async fn b12_after_a_recovery_sessions_stay_for_a_minute_and_then_come_back() {
    let house = House::new();
    let pool = house.pool(pinned(tiers(&[&["up/top"], &["up/low"]])));
    house.up.enqueue("top", statuses(500, 2));
    house.ask_as(&pool, session("first")).await;
    assert_eq!(house.ask_as(&pool, session("old")).await.first(), "up/low");

    pass(30).await;
    let stays = house.ask_as(&pool, session("old")).await;
    assert_eq!((stays.first(), stays.source), ("up/low", Source::Affinity));
    let new = house.ask_as(&pool, session("new")).await;
    assert_eq!(new.served(), "up/top", "the new session is the probe");
    pass(59).await;
    let stays = house.ask_as(&pool, session("old")).await;
    assert_eq!((stays.first(), stays.source), ("up/low", Source::Affinity));
    pass(2).await;
    let moves = house.ask_as(&pool, session("old")).await;
    assert_eq!((moves.first(), moves.source), ("up/top", Source::Tactic));
}

#[tokio::test(start_paused = true)]
async fn b26_a_preview_takes_no_probe_no_turn_and_no_pin() {
    let house = House::new();
    let config = PoolConfig {
        within: Tactic::RoundRobin,
        ..pinned(tiers(&[&["up/a", "up/b"]]))
    };
    let pool = house.pool(config);
    let preview = || {
        let pick = Pick::at(now()).of(session("s")).preview();
        let first = pool.order(&pick, house.usable(&pool)).next();
        pool.service(first.unwrap()).id().to_owned()
    };
    assert_eq!((preview(), preview()), ("up/a".into(), "up/a".into()));
    let real = house.ask_as(&pool, session("s")).await;
    assert_eq!((real.first(), real.source), ("up/a", Source::Tactic));

    house.registry.health().bench("up/b", secs(5), "sick");
    pass(6).await;
    assert_eq!(preview(), "up/a", "the pin shows");
    assert!(!house.health("up/b").unwrap().probing);
    assert_eq!(
        house.ask(&pool).await.served(),
        "up/b",
        "the probe is still available"
    );
}
