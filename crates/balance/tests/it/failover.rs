//! Picks, benches and failover. Health has its own thresholds: two failed attempts bench
//! a target, for five seconds at first, followed by one probe.

use std::collections::HashSet;

use majordomo::fake::Step;
use majordomo::llm::AttemptOutcome;
use majordomo::{Error, Request};
use majordomo_balance::{Pick, PickSource, Pool, PoolConfig, ServiceConfig, Tactic, Usability};

use crate::support::{
    TestGateway, flat, now, pass, pinned, secs, session, status, statuses, tiers,
};

fn throttled(seconds: u64) -> Step {
    let error = Error::http(429, "slow down");
    Step::fail(error.with_retry_after(Some(secs(seconds))))
}

#[tokio::test(start_paused = true)]
async fn a_rate_limited_service_of_a_partition_is_not_picked() {
    let gateway = TestGateway::new();
    let partition = gateway.pool(flat(&["up/limited", "up/healthy"]));
    gateway
        .registry
        .health()
        .bench("up/limited", secs(60), "rate limited");
    for _ in 0..20 {
        let outcome = gateway.send(&partition).await;
        assert_eq!(outcome.order, ["up/healthy"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_top_tier_is_benched_probed_and_restored() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(pinned(tiers(&[&["up/top"], &["up/low"]])));
    gateway.up.enqueue("top", statuses(500, 3));

    // Two failed attempts of the first request bench it; every request is served.
    let first = gateway.send_as(&pool, session("one")).await;
    assert_eq!((first.first(), &*first.served()), ("up/top", "up/low"));
    assert_eq!(gateway.calls(), ["top", "top", "low"]);
    let second = gateway.send_as(&pool, session("two")).await;
    assert_eq!(second.order, ["up/low"]);

    // The first probe fails and extends the bench; the next one heals it.
    pass(6).await;
    let probe = gateway.send_as(&pool, session("three")).await;
    assert_eq!((probe.first(), &*probe.served()), ("up/top", "up/low"));
    assert_eq!(gateway.up.call_count("top"), 3);
    pass(11).await;
    let probe = gateway.send_as(&pool, session("four")).await;
    assert_eq!(probe.served(), "up/top");
    let healed = gateway.health("up/top").unwrap();
    assert_eq!((healed.rounds, healed.benched_for), (0, None));
    let pinned_again = gateway.send_as(&pool, session("four")).await;
    assert_eq!(pinned_again.first(), "up/top");
    assert_eq!(pinned_again.source, PickSource::Affinity);
}

#[tokio::test(start_paused = true)]
async fn a_429_with_retry_after_closes_the_top_tier_without_counting_as_a_failure() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(tiers(&[&["up/top"], &["up/low"]]));
    gateway.up.enqueue("top", [throttled(30)]);
    assert_eq!(gateway.send(&pool).await.served(), "up/low");
    assert_eq!(gateway.send(&pool).await.order, ["up/low"]);
    assert_eq!(gateway.health("up/top").unwrap().failures, 0);
    assert_eq!(gateway.up.call_count("top"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_credential_fails_over_and_closes_its_services() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(tiers(&[&["up/top", "up/top2"], &["alt/low"]]));
    gateway.up.otherwise(|_| status(401));
    assert_eq!(gateway.send(&pool).await.served(), "alt/low");
    assert_eq!(gateway.up.calls().len(), 1);
    assert_eq!(gateway.send(&pool).await.order, ["alt/low"]);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_always_fails_costs_no_response() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(flat(&["up/failing", "up/healthy"]));
    gateway.up.otherwise(|call| match call.model.as_str() {
        "failing" => status(500),
        _ => Step::reply("ok"),
    });
    // One request per second; benches of 5, 10, 20, 40 and 80 seconds.
    let mut probes = 0;
    for second in 0..160 {
        let before = gateway.up.call_count("failing");
        let outcome = gateway.send(&pool).await;
        assert_eq!(outcome.served(), "up/healthy", "at second {second}");
        let calls = gateway.up.call_count("failing") - before;
        if probes == 0 && calls > 0 {
            assert_eq!(calls, 2, "the retry trips it");
        } else {
            assert!(calls <= 1, "a probe is one attempt");
        }
        probes += usize::from(calls > 0);
        pass(1).await;
    }
    let rounds = gateway.health("up/failing").unwrap().rounds as usize;
    assert_eq!(probes, rounds, "each bench was caused by one request");
    assert!((5..=6).contains(&rounds), "{rounds}");
}

#[tokio::test(start_paused = true)]
async fn the_low_tier_takes_over_and_is_then_tried_first() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(tiers(&[&["up/a", "up/b"], &["up/low"]]));
    gateway.up.enqueue("a", statuses(500, 2));
    gateway.up.enqueue("b", statuses(500, 2));
    assert_eq!(gateway.send(&pool).await.served(), "up/low");
    assert_eq!(gateway.up.calls().len(), 5);
    assert_eq!(gateway.send(&pool).await.order, ["up/low"]);
}

#[tokio::test(start_paused = true)]
async fn each_attempt_uses_the_model_of_its_own_service() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(tiers(&[&["up/big"], &["up/other-model"]]));
    gateway.up.enqueue("big", statuses(500, 2));
    gateway.send(&pool).await;
    assert_eq!(gateway.calls(), ["big", "big", "other-model"]);
}

#[tokio::test(start_paused = true)]
async fn when_all_services_fail_the_error_lists_every_service() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(tiers(&[&["up/top"], &["up/low"]]));
    gateway.up.otherwise(|_| status(500));
    let error = gateway.send(&pool).await.result.unwrap_err();
    let attempts: Vec<_> = error.attempt_log().attempts.iter().collect();
    assert_eq!(attempts[0].target, "up/top");
    for attempt in &attempts {
        let real = matches!(
            attempt.outcome,
            AttemptOutcome::Failed {
                status: Some(500),
                ..
            }
        );
        assert!(real, "{attempt:?}");
    }
    assert_eq!(attempts.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_single_service_gets_two_attempts() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(flat(&["up/only"]));
    gateway.up.otherwise(|_| status(500));
    gateway.send(&pool).await.result.unwrap_err();
    assert_eq!(gateway.up.call_count("only"), 2);
}

#[tokio::test(start_paused = true)]
async fn an_inactive_service_is_never_called() {
    let gateway = TestGateway::new();
    let mut config = flat(&["up/off", "up/on"]);
    config.services[0].active = false;
    let pool = gateway.pool(config.clone());
    gateway.up.otherwise(|_| status(500));
    for _ in 0..5 {
        gateway.send(&pool).await.result.unwrap_err();
    }
    assert_eq!(gateway.up.call_count("off"), 0);

    config.services[1].active = false;
    let inactive = gateway.pool(config);
    let mut order = inactive.order(&Pick::at(now()), gateway.usable(&inactive));
    assert_eq!(order.next(), None);
}

#[tokio::test(start_paused = true)]
async fn peers_of_the_top_tier_share_and_the_lower_tier_stays_idle() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(tiers(&[&["up/a", "up/b"], &["up/low"]]));
    let mut firsts = HashSet::new();
    for _ in 0..20 {
        firsts.insert(gateway.send(&pool).await.served());
    }
    assert_eq!(firsts, HashSet::from(["up/a".into(), "up/b".into()]));
}

#[test]
fn the_fastest_service_wins_after_enough_samples() {
    let pick = |speeds: &[(u64, usize)]| {
        let services = speeds.iter().map(|(speed, _)| speed.to_string());
        let config = PoolConfig::default()
            .with_services(services.map(ServiceConfig::new).collect())
            .with_tactic(Tactic::Speed);
        let pool = Pool::new(config, now());
        for ((_, service), (speed, samples)) in pool.services().zip(speeds) {
            for _ in 0..*samples {
                service.stats().record_speed(speed + 1, secs(1));
            }
        }
        let order = pool.order(&Pick::at(now()), |_| Usability::Usable);
        let ids: Vec<_> = order.map(|i| pool.service(i).id().to_owned()).collect();
        ids
    };
    assert_eq!(pick(&[(30, 5), (60, 5), (100, 5)]), ["100", "60", "30"]);
    assert_eq!(pick(&[(100, 2), (50, 5)]), ["50", "100"]);
}

#[tokio::test(start_paused = true)]
async fn health_is_shared_by_all_pools() {
    let gateway = TestGateway::new();
    let one = gateway.pool(flat(&["up/shared"]));
    let other = gateway.pool(flat(&["up/shared", "up/own"]));
    gateway.up.enqueue("shared", statuses(500, 2));
    gateway.send(&one).await.result.unwrap_err();
    for _ in 0..10 {
        assert_eq!(gateway.send(&other).await.order, ["up/own"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_probe_frees_its_slot() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(tiers(&[&["up/top"], &["up/low"]]));
    gateway.up.enqueue("top", statuses(500, 2));
    gateway.up.enqueue("top", [Step::hang()]);
    gateway.send(&pool).await;
    pass(6).await;

    let (chain, order, _) = gateway.chain(&[&pool], None);
    assert_eq!(order[0], "up/top");
    let mut probe = Box::pin(chain.generate(Request::user("hi")));
    let pending = tokio::time::timeout(secs(1), &mut probe).await;
    assert!(pending.is_err(), "the probe hangs");
    assert_eq!(
        gateway.send(&pool).await.order,
        ["up/low"],
        "others stay away"
    );
    drop(probe);
    assert_eq!(gateway.send(&pool).await.served(), "up/top");
}

#[tokio::test(start_paused = true)]
async fn statuses_often_treated_as_final_fail_over() {
    for http in [408, 520, 521, 522, 523, 524, 525, 526, 529] {
        let gateway = TestGateway::new();
        let pool = gateway.pool(tiers(&[&["up/top"], &["up/low"]]));
        gateway.up.enqueue("top", statuses(http, 2));
        assert_eq!(gateway.send(&pool).await.served(), "up/low", "HTTP {http}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_complete_response_heals_like_a_stream() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(tiers(&[&["up/top"], &["up/low"]]));
    gateway.up.enqueue("top", statuses(500, 2));
    gateway.send(&pool).await;
    pass(6).await;
    assert_eq!(gateway.send(&pool).await.served(), "up/top");
    let healed = gateway.health("up/top").unwrap();
    assert_eq!((healed.failures, healed.rounds), (0, 0));
    assert_eq!(gateway.send(&pool).await.served(), "up/top");
}

#[tokio::test(start_paused = true)]
async fn failover_exhausts_the_partition_before_the_route() {
    let gateway = TestGateway::new();
    let partition = gateway.pool(tiers(&[&["up/p1"], &["up/p2"]]));
    let base = gateway.pool(flat(&["up/base"]));
    gateway.up.enqueue("p1", statuses(500, 2));
    let outcome = gateway.send_in(&[&partition, &base], None).await;
    assert_eq!(outcome.order, ["up/p1", "up/p2", "up/base"]);
    assert_eq!(outcome.served(), "up/p2");

    gateway.up.enqueue("p2", statuses(500, 2));
    let outcome = gateway.send_in(&[&partition, &base], None).await;
    assert_eq!(outcome.served(), "up/base");
}
