//! The acceptance cases of routing about picks, benches and failover, by their
//! numbers. Our health has its own thresholds: two failed attempts bench, five
//! seconds first, one probe. B4 is decided by rules and B23 does not apply.

use std::collections::HashSet;

use majordomo::fake::Step;
use majordomo::{AttemptOutcome, Error, Request};
use majordomo_gateway::balance::{
    Pick, Pool, PoolConfig, ServiceConfig, Source, Tactic, Usability,
};

use crate::house::{House, flat, now, pass, pinned, secs, session, status, statuses, tiers};

fn throttled(seconds: u64) -> Step {
    let error = Error::provider(429, "slow down");
    Step::fail(error.with_retry_after(Some(secs(seconds))))
}

#[tokio::test(start_paused = true)]
async fn b1_a_rate_limited_service_of_a_partition_does_not_reach_the_balancer() {
    let house = House::new();
    let partition = house.pool(flat(&["up/limited", "up/healthy"]));
    house
        .registry
        .health()
        .bench("up/limited", secs(60), "rate limited");
    for _ in 0..20 {
        let asked = house.ask(&partition).await;
        assert_eq!(asked.order, ["up/healthy"]);
    }
}

#[tokio::test(start_paused = true)]
async fn b11_a_failing_top_tier_is_benched_probed_and_taken_back() {
    let house = House::new();
    let pool = house.pool(pinned(tiers(&[&["up/top"], &["up/low"]])));
    house.up.enqueue("top", statuses(500, 3));

    // Two failed attempts of the first request bench it; everybody is served.
    let first = house.ask_as(&pool, session("one")).await;
    assert_eq!((first.first(), &*first.served()), ("up/top", "up/low"));
    assert_eq!(house.calls(), ["top", "top", "low"]);
    let second = house.ask_as(&pool, session("two")).await;
    assert_eq!(second.order, ["up/low"]);

    // The probe fails and benches it for longer; the next one heals it.
    pass(6).await;
    let probe = house.ask_as(&pool, session("three")).await;
    assert_eq!((probe.first(), &*probe.served()), ("up/top", "up/low"));
    assert_eq!(house.up.call_count("top"), 3);
    pass(11).await;
    let probe = house.ask_as(&pool, session("four")).await;
    assert_eq!(probe.served(), "up/top");
    let healed = house.health("up/top").unwrap();
    assert_eq!((healed.rounds, healed.benched_for), (0, None));
    let pinned_again = house.ask_as(&pool, session("four")).await;
    assert_eq!(pinned_again.first(), "up/top");
    assert_eq!(pinned_again.source, Source::Affinity);
}

#[tokio::test(start_paused = true)]
async fn b13_one_429_with_a_time_takes_the_top_tier_out_without_counting() {
    let house = House::new();
    let pool = house.pool(tiers(&[&["up/top"], &["up/low"]]));
    house.up.enqueue("top", [throttled(30)]);
    assert_eq!(house.ask(&pool).await.served(), "up/low");
    assert_eq!(house.ask(&pool).await.order, ["up/low"]);
    assert_eq!(house.health("up/top").unwrap().failures, 0);
    assert_eq!(house.up.call_count("top"), 1);
}

#[tokio::test(start_paused = true)]
async fn b14_a_refused_key_advances_and_takes_its_services_out() {
    let house = House::new();
    let pool = house.pool(tiers(&[&["up/top", "up/top2"], &["alt/low"]]));
    house.up.otherwise(|_| status(401));
    assert_eq!(house.ask(&pool).await.served(), "alt/low");
    assert_eq!(house.up.calls().len(), 1);
    assert_eq!(house.ask(&pool).await.order, ["alt/low"]);
}

#[tokio::test(start_paused = true)]
async fn b15_a_peer_that_always_fails_costs_nobody_an_answer() {
    let house = House::new();
    let pool = house.pool(flat(&["up/sick", "up/well"]));
    house.up.otherwise(|call| match call.model.as_str() {
        "sick" => status(500),
        _ => Step::reply("ok"),
    });
    // One request a second; benches of 5, 10, 20, 40 and 80 seconds.
    let mut probes = 0;
    for second in 0..160 {
        let before = house.up.call_count("sick");
        let asked = house.ask(&pool).await;
        assert_eq!(asked.served(), "up/well", "in second {second}");
        let calls = house.up.call_count("sick") - before;
        if probes == 0 && calls > 0 {
            assert_eq!(calls, 2, "the retry trips it");
        } else {
            assert!(calls <= 1, "a probe is one attempt");
        }
        probes += usize::from(calls > 0);
        pass(1).await;
    }
    let rounds = house.health("up/sick").unwrap().rounds as usize;
    assert_eq!(probes, rounds, "each bench was one request's doing");
    assert!((5..=6).contains(&rounds), "{rounds}");
}

#[tokio::test(start_paused = true)]
async fn b16_the_low_tier_rescues_and_is_then_asked_first() {
    let house = House::new();
    let pool = house.pool(tiers(&[&["up/a", "up/b"], &["up/low"]]));
    house.up.enqueue("a", statuses(500, 2));
    house.up.enqueue("b", statuses(500, 2));
    assert_eq!(house.ask(&pool).await.served(), "up/low");
    assert_eq!(house.up.calls().len(), 5);
    assert_eq!(house.ask(&pool).await.order, ["up/low"]);
}

#[tokio::test(start_paused = true)]
async fn b17_each_attempt_asks_for_its_own_services_model() {
    let house = House::new();
    let pool = house.pool(tiers(&[&["up/big"], &["up/other-model"]]));
    house.up.enqueue("big", statuses(500, 2));
    house.ask(&pool).await;
    assert_eq!(house.calls(), ["big", "big", "other-model"]);
}

#[tokio::test(start_paused = true)]
async fn b18_when_everything_fails_the_error_tells_of_every_service() {
    let house = House::new();
    let pool = house.pool(tiers(&[&["up/top"], &["up/low"]]));
    house.up.otherwise(|_| status(500));
    let error = house.ask(&pool).await.result.unwrap_err();
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
async fn b19_a_single_service_gets_two_attempts() {
    let house = House::new();
    let pool = house.pool(flat(&["up/only"]));
    house.up.otherwise(|_| status(500));
    house.ask(&pool).await.result.unwrap_err();
    assert_eq!(house.up.call_count("only"), 2);
}

#[tokio::test(start_paused = true)]
async fn b20_an_inactive_service_is_never_asked() {
    let house = House::new();
    let mut config = flat(&["up/off", "up/on"]);
    config.services[0].active = false;
    let pool = house.pool(config.clone());
    house.up.otherwise(|_| status(500));
    for _ in 0..5 {
        house.ask(&pool).await.result.unwrap_err();
    }
    assert_eq!(house.up.call_count("off"), 0);

    config.services[1].active = false;
    let nobody = house.pool(config);
    let mut order = nobody.order(&Pick::at(now()), house.usable(&nobody));
    assert_eq!(order.next(), None);
}

#[tokio::test(start_paused = true)]
async fn b21_peers_of_the_top_tier_share_and_the_lower_one_waits() {
    let house = House::new();
    let pool = house.pool(tiers(&[&["up/a", "up/b"], &["up/low"]]));
    let mut firsts = HashSet::new();
    for _ in 0..20 {
        firsts.insert(house.ask(&pool).await.served());
    }
    assert_eq!(firsts, HashSet::from(["up/a".into(), "up/b".into()]));
}

#[test]
fn b22_the_fastest_writer_wins_once_it_has_shown_enough() {
    let pick = |speeds: &[(u64, usize)]| {
        let services = speeds.iter().map(|(speed, _)| speed.to_string());
        let config = PoolConfig {
            services: services.map(ServiceConfig::new).collect(),
            tactic: Tactic::Speed,
            ..PoolConfig::default()
        };
        let pool = Pool::new(config, now());
        for ((_, service), (speed, samples)) in pool.services().zip(speeds) {
            for _ in 0..*samples {
                service.stats().saw_speed(speed + 1, secs(1));
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
async fn b24_health_is_shared_by_all_pools() {
    let house = House::new();
    let one = house.pool(flat(&["up/shared"]));
    let other = house.pool(flat(&["up/shared", "up/own"]));
    house.up.enqueue("shared", statuses(500, 2));
    house.ask(&one).await.result.unwrap_err();
    for _ in 0..10 {
        assert_eq!(house.ask(&other).await.order, ["up/own"]);
    }
}

#[tokio::test(start_paused = true)]
async fn b25_a_probe_that_is_dropped_frees_its_place() {
    let house = House::new();
    let pool = house.pool(tiers(&[&["up/top"], &["up/low"]]));
    house.up.enqueue("top", statuses(500, 2));
    house.up.enqueue("top", [Step::hang()]);
    house.ask(&pool).await;
    pass(6).await;

    let (chain, order, _) = house.chain(&[&pool], None);
    assert_eq!(order[0], "up/top");
    let mut probe = Box::pin(chain.generate(Request::user("hi")));
    let pending = tokio::time::timeout(secs(1), &mut probe).await;
    assert!(pending.is_err(), "the probe hangs");
    assert_eq!(house.ask(&pool).await.order, ["up/low"], "others stay away");
    drop(probe);
    assert_eq!(house.ask(&pool).await.served(), "up/top");
}

#[tokio::test(start_paused = true)]
async fn b28_statuses_that_others_take_for_final_are_tried_elsewhere() {
    for http in [408, 520, 521, 522, 523, 524, 525, 526, 529] {
        let house = House::new();
        let pool = house.pool(tiers(&[&["up/top"], &["up/low"]]));
        house.up.enqueue("top", statuses(http, 2));
        assert_eq!(house.ask(&pool).await.served(), "up/low", "HTTP {http}");
    }
}

#[tokio::test(start_paused = true)]
async fn b29_a_whole_answer_heals_as_a_stream_does() {
    let house = House::new();
    let pool = house.pool(tiers(&[&["up/top"], &["up/low"]]));
    house.up.enqueue("top", statuses(500, 2));
    house.ask(&pool).await;
    pass(6).await;
    assert_eq!(house.ask(&pool).await.served(), "up/top");
    let healed = house.health("up/top").unwrap();
    assert_eq!((healed.failures, healed.rounds), (0, 0));
    assert_eq!(house.ask(&pool).await.served(), "up/top");
}

#[tokio::test(start_paused = true)]
async fn b30_failover_stays_in_the_partition_first_and_then_goes_to_the_route() {
    let house = House::new();
    let partition = house.pool(tiers(&[&["up/p1"], &["up/p2"]]));
    let base = house.pool(flat(&["up/base"]));
    house.up.enqueue("p1", statuses(500, 2));
    let asked = house.ask_in(&[&partition, &base], None).await;
    assert_eq!(asked.order, ["up/p1", "up/p2", "up/base"]);
    assert_eq!(asked.served(), "up/p2");

    house.up.enqueue("p2", statuses(500, 2));
    let asked = house.ask_in(&[&partition, &base], None).await;
    assert_eq!(asked.served(), "up/base");
}
