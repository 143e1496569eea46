//! Budgets, over levels and windows.

use std::sync::Arc;

use majordomo_limits::{
    BudgetWindow, LevelKind, LimitPolicy, MemoryLeases, Nanodollars, RefusedBy, ReservationAsk,
    ReserveOutcome, UnpricedPolicy, WhenExhausted,
};

use super::{USD, at, daily, level, rates, registry, reserve, tenant};

/// 2026-11-18.
const TODAY: i64 = 20_775;

#[test]
fn open_reservations_and_spending_never_exceed_a_budget() {
    let backend = Arc::<MemoryLeases>::default();
    let registry = registry(backend.clone());
    let stack = registry.stack(1, &[level(LevelKind::Key, "laptop", daily(USD))], tenant());
    let mut held = Vec::new();
    while let Ok(reservation) = reserve(&stack, at(1, TODAY), USD / 20) {
        held.push(reservation);
    }
    assert_eq!(held.len(), 20);
    for reservation in held.drain(..) {
        reservation.settle(at(1, TODAY).monotonic, 1, Nanodollars(USD / 40));
    }
    let again = std::iter::repeat_with(|| reserve(&stack, at(2, TODAY), USD / 20));
    let held: Vec<_> = again.take_while(Result::is_ok).collect();
    assert_eq!(held.len(), 10);
    drop(held);
    registry.retire();
    let (settled, leased) = backend.sums("key/laptop/day", TODAY);
    assert_eq!((settled.0, leased.0), (USD / 2, 0));
}

#[test]
fn a_refusal_at_the_third_level_leaves_the_first_two_unchanged() {
    let backend = Arc::<MemoryLeases>::default();
    let registry = registry(backend.clone());
    let stack = registry.stack(
        1,
        &[
            level(LevelKind::Global, "", daily(10 * USD)),
            level(LevelKind::Team, "search", rates(600, 100)),
            level(LevelKind::Key, "laptop", daily(USD)),
        ],
        tenant(),
    );
    let first = reserve(&stack, at(1, TODAY), USD).unwrap();
    let before = (
        registry.open_reservations(),
        stack.rates(at(1, TODAY).monotonic),
    );
    for _ in 0..50 {
        let refusal = reserve(&stack, at(1, TODAY), USD).map(drop).unwrap_err();
        assert_eq!(refusal.level.to_string(), "the key `laptop`");
        assert!(matches!(
            refusal.limit,
            RefusedBy::Budget {
                window: BudgetWindow::Day,
                left: Nanodollars(0),
                ..
            }
        ));
    }
    assert_eq!(
        (
            registry.open_reservations(),
            stack.rates(at(1, TODAY).monotonic)
        ),
        before
    );
    drop(first);
    assert_eq!(registry.open_reservations(), (0, Nanodollars::ZERO));
}

#[test]
fn a_bound_above_what_is_left_is_refused_with_what_is_left() {
    let registry = registry(Arc::<MemoryLeases>::default());
    let stack = registry.stack(1, &[level(LevelKind::Key, "k", daily(USD / 100))], tenant());
    let refusal = reserve(&stack, at(1, TODAY), 5 * USD)
        .map(drop)
        .unwrap_err();
    let RefusedBy::Budget {
        left,
        limit,
        reset_day,
        ..
    } = refusal.limit
    else {
        panic!("{refusal:?}");
    };
    assert_eq!((left.0, limit.0), (USD / 100, USD / 100));
    assert_eq!(reset_day, Some(TODAY + 1));
}

#[test]
fn a_clock_that_jumps_back_reopens_no_window_and_one_that_jumps_forward_opens_one() {
    let registry = registry(Arc::<MemoryLeases>::default());
    let stack = registry.stack(1, &[level(LevelKind::Key, "k", daily(USD))], tenant());
    let spend = |day| {
        let reservation = reserve(&stack, at(1, day), USD).ok()?;
        reservation.settle(at(1, day).monotonic, 1, Nanodollars(USD));
        Some(())
    };
    assert!(spend(TODAY).is_some() && spend(TODAY).is_none());
    assert!(spend(TODAY + 1).is_some() && spend(TODAY + 1).is_none());
    for back in [TODAY, TODAY - 1, TODAY - 400, TODAY + 1] {
        assert!(spend(back).is_none(), "{back}");
    }
}

#[test]
fn a_lowered_limit_refuses_and_a_raised_one_admits_without_a_restart() {
    let registry = registry(Arc::<MemoryLeases>::default());
    let with =
        |version, usd| registry.stack(version, &[level(LevelKind::Key, "k", daily(usd))], tenant());
    let first = reserve(&with(1, 10 * USD), at(1, TODAY), 6 * USD).unwrap();
    first.settle(at(1, TODAY).monotonic, 1, Nanodollars(6 * USD));
    assert!(reserve(&with(2, 5 * USD), at(2, TODAY), 1).is_err());
    assert!(reserve(&with(3, 7 * USD), at(3, TODAY), USD).is_ok());
    // A request of the old configuration changes nothing.
    assert!(reserve(&with(2, 5 * USD), at(4, TODAY), USD).is_ok());
}

#[test]
fn a_watched_budget_admits_and_marks() {
    let backend = Arc::<MemoryLeases>::default();
    let registry = registry(backend.clone());
    let policy = LimitPolicy {
        when_exhausted: WhenExhausted::Warn,
        ..daily(USD)
    };
    let stack = registry.stack(1, &[level(LevelKind::Key, "k", policy)], tenant());
    assert!(!stack.has_strict_budget() && stack.has_budget());
    for round in 0..3 {
        let reservation = reserve(&stack, at(1, TODAY), USD).unwrap();
        assert_eq!(reservation.exceeded().is_empty(), round == 0, "{round}");
        reservation.settle(at(1, TODAY).monotonic, 1, Nanodollars(USD));
    }
    registry.retire();
    assert_eq!(backend.sums("key/k/day", TODAY).0, Nanodollars(3 * USD));
}

#[test]
fn an_unknown_price_is_refused_unless_allowed() {
    let registry = registry(Arc::<MemoryLeases>::default());
    let ask = ReservationAsk {
        tokens: 1,
        cost: None,
    };
    for (unpriced, refused) in [
        (UnpricedPolicy::Refuse, true),
        (UnpricedPolicy::Allow, false),
    ] {
        let name = format!("{unpriced:?}");
        let policy = LimitPolicy {
            unpriced,
            ..daily(USD)
        };
        let stack = registry.stack(1, &[level(LevelKind::Key, &name, policy)], tenant());
        let outcome = stack.reserve(at(1, TODAY), ask);
        assert_eq!(matches!(outcome, ReserveOutcome::Refused(_)), refused);
    }
}

#[test]
fn eight_threads_spend_no_more_than_three_levels_allow() {
    let backend = Arc::<MemoryLeases>::default();
    let registry = registry(backend.clone());
    let policies = [
        level(LevelKind::Global, "", daily(3 * USD)),
        level(LevelKind::Team, "t", daily(2 * USD)),
        level(LevelKind::Key, "k", daily(USD)),
    ];
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (registry, policies) = (&registry, &policies);
            scope.spawn(move || {
                let stack = registry.stack(1, policies, tenant());
                for round in 0..500 {
                    if let Ok(reservation) = reserve(&stack, at(1, TODAY), USD / 50) {
                        let used = (thread * 7_919 + round * 104_729) % (USD / 50);
                        reservation.settle(at(1, TODAY).monotonic, 1, Nanodollars(used));
                    }
                }
            });
        }
    });
    assert_eq!(registry.open_reservations(), (0, Nanodollars::ZERO));
    registry.retire();
    let sums = ["global/day", "team/t/day", "key/k/day"].map(|budget| backend.sums(budget, TODAY));
    // Every level counted the same, and nothing is leased any more.
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
    assert!(sums[0].0 <= Nanodollars(USD), "{sums:?}");
    assert!(sums[0].0 > Nanodollars(USD * 9 / 10), "{sums:?}");
}
