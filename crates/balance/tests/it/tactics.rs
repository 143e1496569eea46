//! The picks of each tactic.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use majordomo::Usage;
use majordomo_balance::{
    Pick, PickSource, Pool, PoolConfig, Service, ServiceConfig, ServiceIndex, Tactic, Usability,
};

use crate::support::{flat, now, secs};

fn pool(tactic: Tactic, services: impl IntoIterator<Item = ServiceConfig>) -> Pool {
    let config = PoolConfig::default()
        .with_services(services.into_iter().collect())
        .with_tactic(tactic)
        .with_seed(Some(3));
    Pool::new(config, now())
}

fn weighted(weights: &[u32]) -> Vec<ServiceConfig> {
    let names = ["a", "b", "c", "d", "e"];
    let services = names.iter().zip(weights);
    services
        .map(|(name, weight)| ServiceConfig::new(*name).with_weight(*weight))
        .collect()
}

fn first(pool: &Pool) -> String {
    ids(pool, now(), |_| Usability::Usable).swap_remove(0)
}

fn ids(pool: &Pool, now: Instant, usable: impl Fn(ServiceIndex) -> Usability) -> Vec<String> {
    let order = pool.order(&Pick::at(now), usable);
    order.map(|i| pool.service(i).id().to_owned()).collect()
}

fn shares(pool: &Pool, picks: u32) -> BTreeMap<String, u32> {
    let mut shares = BTreeMap::new();
    for _ in 0..picks {
        *shares.entry(first(pool)).or_default() += 1;
    }
    shares
}

fn by_name<'a>(pool: &'a Pool, name: &str) -> &'a Service {
    let mut services = pool.services();
    let found = services.find(|(_, service)| service.id() == name);
    found.expect("a service of the test").1
}

fn spend(pool: &Pool, name: &str, tokens: u64, now: Instant) {
    let usage = Usage::new(tokens, 0);
    by_name(pool, name).stats().record_usage(&usage, now);
}

#[test]
fn every_tactic_has_its_configuration_name() {
    let names = Tactic::ALL.map(Tactic::name);
    let promised = [
        "in_order",
        "random",
        "round_robin",
        "least_busy",
        "latency",
        "speed",
        "token",
        "capacity",
        "tier",
        "adaptive",
    ];
    assert_eq!(names, promised);
    for tactic in Tactic::ALL {
        assert_eq!(tactic.name().parse(), Ok(tactic));
    }
    assert!("hybrid".parse::<Tactic>().is_err());
}

#[test]
fn a_weight_of_zero_gets_no_share_unless_all_are_zero() {
    for tactic in Tactic::ALL {
        let some = pool(tactic, weighted(&[0, 1, 0]));
        let firsts = shares(&some, 50);
        assert_eq!(firsts, BTreeMap::from([("b".to_owned(), 50)]), "{tactic}");
        let order = ids(&some, now(), |_| Usability::Usable);
        assert_eq!((order.len(), &*order[0]), (3, "b"), "{tactic}");
    }
    let none = pool(Tactic::Random, weighted(&[0, 0]));
    assert_eq!(shares(&none, 100).len(), 2);
}

#[test]
fn in_order_tries_the_list_from_its_beginning_and_returns_to_it() {
    let pool = pool(Tactic::InOrder, weighted(&[1, 9, 9]));
    assert_eq!(shares(&pool, 50), BTreeMap::from([("a".to_owned(), 50)]));
    let order = |usable: &dyn Fn(ServiceIndex) -> Usability| ids(&pool, now(), usable);
    assert_eq!(order(&|_| Usability::Usable), ["a", "b", "c"]);
    let until = now() + secs(60);
    let without_a = |index: ServiceIndex| match index.get() {
        0 => Usability::Benched { until },
        _ => Usability::Usable,
    };
    assert_eq!(order(&without_a), ["b", "c"]);
    assert_eq!(order(&|_| Usability::Usable), ["a", "b", "c"]);
}

#[test]
fn turns_of_a_heavy_service_are_spread_between_those_of_light_ones() {
    let pool = pool(Tactic::RoundRobin, weighted(&[5, 1, 1]));
    let turns: String = (0..14).map(|_| first(&pool)).collect();
    assert_eq!(turns, "aaabcaaaaabcaa");
}

#[test]
fn a_returning_service_does_not_catch_up_on_missed_turns() {
    let pool = pool(Tactic::RoundRobin, weighted(&[1, 1]));
    let until = now() + secs(60);
    let without_b = |index: ServiceIndex| match index.get() {
        1 => Usability::Benched { until },
        _ => Usability::Usable,
    };
    for _ in 0..100 {
        assert_eq!(ids(&pool, now(), without_b), ["a"]);
    }
    let turns: String = (0..10).map(|_| first(&pool)).collect();
    let of_b = turns.chars().filter(|turn| *turn == 'b').count();
    assert!((5..=6).contains(&of_b), "{turns}");
}

#[test]
fn least_busy_picks_by_requests_in_flight_relative_to_weight() {
    let pool = pool(Tactic::LeastBusy, weighted(&[2, 1]));
    let mut seats = Vec::new();
    let mut turns = String::new();
    for _ in 0..6 {
        let name = first(&pool);
        turns.push_str(&name);
        seats.push(by_name(&pool, &name).stats().try_seat());
    }
    assert_eq!(turns.matches('a').count(), 4, "{turns}");
}

#[test]
fn latency_prefers_the_faster_service_and_tries_unknown_ones_without_herding() {
    let pool = pool(Tactic::Latency, weighted(&[1, 1]));
    let start = now();
    by_name(&pool, "a").stats().record_response(secs(2), start);
    // An unknown service is tried, but by one request at a time.
    assert_eq!(first(&pool), "b");
    let b = Arc::clone(by_name(&pool, "b").stats());
    let seats = [b.try_seat(), b.try_seat()];
    assert_eq!(first(&pool), "a");
    drop(seats);

    b.record_response(secs(10), start);
    assert_eq!(shares(&pool, 20), BTreeMap::from([("a".to_owned(), 20)]));
    // A minute later the peak has decayed, if the other service was picked in between.
    let later = start + secs(60);
    by_name(&pool, "a").stats().record_response(secs(2), later);
    assert_eq!(ids(&pool, later, |_| Usability::Usable)[0], "b");
}

#[test]
fn the_speed_tactic_explores_occasionally() {
    let pool = pool(Tactic::Speed, weighted(&[1, 1]));
    for _ in 0..5 {
        by_name(&pool, "a").stats().record_speed(101, secs(1));
    }
    let shares = shares(&pool, 320);
    assert_eq!((shares["a"], shares["b"]), (310, 10));
}

#[test]
fn token_keeps_a_service_until_its_tokens_of_the_minute_are_used() {
    let pool = pool(Tactic::Token, weighted(&[1, 1]));
    let start = now();
    let one = first(&pool);
    let other = if one == "a" { "b" } else { "a" };
    spend(&pool, &one, 9_999, start);
    assert_eq!(first(&pool), one);
    spend(&pool, &one, 1, start);
    assert_eq!(first(&pool), other);
    spend(&pool, other, 20_000, start);
    assert_eq!(first(&pool), one, "it has used the fewest");
    let later = start + secs(60);
    assert_eq!(ids(&pool, later, |_| Usability::Usable)[0], one);
}

#[test]
fn capacity_picks_by_free_seats() {
    let seats = |name: &str, capacity| ServiceConfig::new(name).with_capacity(Some(capacity));
    let pool = pool(Tactic::Capacity, [seats("a", 8), seats("b", 2)]);
    let idle = shares(&pool, 1_000);
    assert!((760..840).contains(&idle["a"]), "{idle:?}");

    let a = by_name(&pool, "a").stats();
    let taken: Vec<_> = (0..7).map(|_| a.try_seat()).collect();
    let busy = shares(&pool, 900);
    assert!((250..350).contains(&busy["a"]), "{busy:?}");
    let last = a.try_seat();
    assert_eq!(shares(&pool, 50), BTreeMap::from([("b".to_owned(), 50)]));
    drop((taken, last));
}

#[test]
fn adaptive_scores_latency_speed_tokens_and_load() {
    let worse: [fn(&Pool); 4] = [
        |pool| by_name(pool, "b").stats().record_response(secs(9), now()),
        |pool| by_name(pool, "b").stats().record_speed(11, secs(1)),
        |pool| spend(pool, "b", 5_000, now()),
        |pool| std::mem::forget(by_name(pool, "b").stats().try_seat()),
    ];
    for worsen in worse {
        let pool = pool(Tactic::Adaptive, weighted(&[1, 1]));
        assert_eq!(shares(&pool, 100).len(), 2, "ties are broken at random");
        worsen(&pool);
        assert_eq!(shares(&pool, 50), BTreeMap::from([("a".to_owned(), 50)]));
    }
}

#[test]
fn a_full_service_is_skipped_within_its_tier_only() {
    let service = |name: &str, tier| {
        ServiceConfig::new(name)
            .with_tier(tier)
            .with_capacity(Some(1))
    };
    let services = [service("a", 0), service("b", 0), service("low", 1)];
    let pool = pool(Tactic::Tier, services);
    let a = by_name(&pool, "a").stats().try_seat();
    for _ in 0..20 {
        assert_eq!(ids(&pool, now(), |_| Usability::Usable), ["b", "a", "low"]);
    }
    let b = by_name(&pool, "b").stats().try_seat();
    let waits = first(&pool);
    assert_ne!(waits, "low", "a seat of the better tier is waited for");
    drop((a, b));
}

#[test]
fn without_a_usable_service_the_least_bad_one_is_picked() {
    let pool = Pool::new(flat(&["a", "b", "c"]), now());
    let start = now();
    let benched = |secs| Usability::Benched {
        until: start + Duration::from_secs(secs),
    };
    let of = |all: [Usability; 3]| ids(&pool, start, move |index| all[index.get()]);
    assert_eq!(of([benched(9), benched(3), benched(5)]), ["b"]);
    assert_eq!(of([Usability::Incapable, benched(3), benched(5)]), ["b"]);
    assert_eq!(of([Usability::Incapable; 3]), ["a"]);
    let closed = |secs| Usability::Closed {
        until: start + Duration::from_secs(secs),
    };
    assert_eq!(of([closed(1), benched(9), closed(2)]), ["b"]);
    assert_eq!(of([closed(3), closed(2), Usability::Incapable]), ["b"]);
    assert_eq!(
        of([Usability::Incapable, benched(3), Usability::Probe]),
        ["c"]
    );
    let order = pool.order(&Pick::at(start), |_| benched(3));
    assert_eq!(order.source(), PickSource::LeastBad);
}
