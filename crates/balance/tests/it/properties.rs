//! Invariants of every pool, tactic and state of its services.

use std::collections::BTreeSet;
use std::time::Duration;

use majordomo_balance::{
    Pick, PickSource, Pool, PoolConfig, ServiceConfig, ServiceIndex, SessionHints, SessionKey,
    Tactic, Usability,
};
use proptest::prelude::*;

use crate::support::{now, secs};

#[derive(Clone, Debug)]
struct PoolMember {
    weight: u32,
    tier: u32,
    capacity: Option<usize>,
    active: bool,
    state: u8,
    bench: u64,
    taken: usize,
}

fn member() -> impl Strategy<Value = PoolMember> {
    (
        0..4_u32,
        0..3_u32,
        prop::option::of(1..4_usize),
        prop::bool::weighted(0.8),
        0..5_u8,
        1..100_u64,
        0..4_usize,
    )
        .prop_map(
            |(weight, tier, capacity, active, state, bench, taken)| PoolMember {
                weight,
                tier,
                capacity,
                active,
                state,
                bench,
                taken,
            },
        )
}

fn tactic() -> impl Strategy<Value = Tactic> {
    prop::sample::select(Tactic::ALL.to_vec())
}

fn usability(member: &PoolMember, now: std::time::Instant) -> Usability {
    match member.state {
        0 => Usability::Benched {
            until: now + Duration::from_secs(member.bench),
        },
        1 => Usability::Incapable,
        2 => Usability::Probe,
        _ => Usability::Usable,
    }
}

proptest! {
    #[test]
    fn an_order_contains_every_usable_service_exactly_once_and_no_other(
        members in prop::collection::vec(member(), 0..12),
        tactic in tactic(),
        within in tactic(),
        sessions in prop::collection::vec(prop::option::of(0..4_u8), 1..20),
        seed: u64,
    ) {
        let now = now();
        let service = |(number, member): (usize, &PoolMember)| ServiceConfig::new(number.to_string()).with_weight(member.weight).with_tier(member.tier).with_capacity(member.capacity).with_active(member.active);
        let pool = Pool::new(PoolConfig::default().with_services(members.iter().enumerate().map(service).collect()).with_tactic(tactic).with_within(within).with_affinity(Some(secs(60))).with_seed(Some(seed)), now);
        let mut seats = Vec::new();
        for ((_, service), member) in pool.services().zip(&members) {
            seats.extend((0..member.taken).filter_map(|_| service.stats().try_seat()));
        }
        let usable = |index: ServiceIndex| usability(&members[index.get()], now);
        let askable = |(number, member): (usize, &PoolMember)| {
            let can = matches!(usability(member, now), Usability::Usable | Usability::Probe);
            (member.active && can).then_some(number)
        };
        let expected: BTreeSet<usize> = members.iter().enumerate().filter_map(askable).collect();
        let lowest = expected.iter().map(|number| members[*number].tier).min();

        for name in sessions {
            let name = name.map(|name| name.to_string());
            let session = SessionKey::of(&SessionHints {
                user_id: name.as_deref(),
                ..SessionHints::default()
            });
            let order = pool.order(&Pick::at(now).of(session), usable);
            let source = order.source();
            let promised = order.len();
            let order: Vec<usize> = order.map(ServiceIndex::get).collect();
            prop_assert_eq!(order.len(), promised);

            if expected.is_empty() {
                prop_assert_eq!(source, PickSource::LeastBad);
                prop_assert!(order.len() <= 1);
                let any_active = members.iter().any(|member| member.active);
                prop_assert_eq!(order.len(), usize::from(any_active));
                continue;
            }
            let outcome: BTreeSet<usize> = order.iter().copied().collect();
            prop_assert_eq!(order.len(), outcome.len(), "no service twice");
            prop_assert_eq!(&outcome, &expected);
            if tactic == Tactic::Tier && source == PickSource::Tactic {
                prop_assert_eq!(Some(members[order[0]].tier), lowest);
                let tiers: Vec<u32> = order.iter().map(|n| members[*n].tier).collect();
                prop_assert!(tiers.is_sorted(), "{:?}", tiers);
            }
        }
    }

    #[test]
    fn round_robin_turns_stay_close_to_the_weights(
        weights in prop::collection::vec(1..20_u32, 1..8),
        rounds in 1..4_u32,
    ) {
        let now = now();
        let service = |(number, weight): (usize, &u32)| ServiceConfig::new(number.to_string()).with_weight(*weight);
        let pool = Pool::new(PoolConfig::default().with_services(weights.iter().enumerate().map(service).collect()).with_tactic(Tactic::RoundRobin), now);
        let total: u32 = weights.iter().sum();
        let mut counts = vec![0_u32; weights.len()];
        for pick in 1..=total * rounds {
            let first = pool.order(&Pick::at(now), |_| Usability::Usable).next();
            counts[first.expect("all are usable").get()] += 1;
            for (count, weight) in counts.iter().zip(&weights) {
                let fair = f64::from(pick) * f64::from(*weight) / f64::from(total);
                let astray = (f64::from(*count) - fair).abs();
                prop_assert!(astray < weights.len() as f64, "{counts:?} after {pick}");
            }
        }
        let exact: Vec<u32> = weights.iter().map(|weight| weight * rounds).collect();
        prop_assert_eq!(counts, exact, "a whole round is exact");
    }
}
