//! Fairness of seats, counted in turns: at every level, one who waits for a single seat is
//! served within one turn of another who waits for a thousand.

use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use majordomo_limits::{
    Acquire, Flow, LevelKind, LevelPolicy, LimitPolicy, LimitRegistry, LimitStack, MemoryLeases,
    Permit, SeatQueue, TrafficLimits,
};

use super::{level, registry};

const WAITING: usize = 1_000;

/// A caller: its key or address, and its end user.
type Caller<'a> = (&'a str, Option<&'a str>);

fn seats(most: u64) -> LimitPolicy {
    LimitPolicy {
        traffic: TrafficLimits {
            concurrent: NonZeroU64::new(most),
            ..TrafficLimits::default()
        },
        ..LimitPolicy::default()
    }
}

/// The stack of a caller where only one level is limited.
fn stack(
    registry: &LimitRegistry,
    limited: LevelKind,
    most: u64,
    (key, user): Caller<'_>,
) -> LimitStack {
    let of = |kind, name: &str| -> LevelPolicy {
        let policy = if kind == limited {
            seats(most)
        } else {
            LimitPolicy::default()
        };
        level(kind, name, policy)
    };
    let mut levels = vec![
        of(LevelKind::Global, ""),
        of(LevelKind::Team, "team"),
        of(LevelKind::Key, key),
    ];
    levels.extend(user.map(|user| of(LevelKind::EndUser, user)));
    registry.stack(1, &levels, Flow::named(key))
}

fn poll(waiter: &mut Acquire) -> Option<Permit> {
    let mut context = Context::from_waker(Waker::noop());
    match Pin::new(waiter).poll(&mut context) {
        Poll::Ready(granted) => Some(granted.expect("the queue is long enough")),
        Poll::Pending => None,
    }
}

fn queue(stack: &LimitStack) -> SeatQueue {
    let mut seats = stack.seats(Duration::ZERO);
    let queue = seats.next().expect("one level has seats");
    assert!(seats.next().is_none());
    queue
}

#[test]
fn a_single_request_waits_at_most_one_turn_behind_a_thousand() {
    let cases: [(LevelKind, Caller<'_>, Caller<'_>); 4] = [
        (LevelKind::Global, ("crowd", None), ("single", None)),
        (LevelKind::Team, ("crowd", None), ("single", None)),
        (
            LevelKind::Key,
            ("shared", Some("crowd")),
            ("shared", Some("single")),
        ),
        (
            LevelKind::EndUser,
            ("crowd", Some("ann")),
            ("single", Some("ann")),
        ),
    ];
    for (limited, crowd, single) in cases {
        for most in [1, 4] {
            let registry = registry(Arc::<MemoryLeases>::default());
            let crowd = queue(&stack(&registry, limited, most, crowd));
            let single = queue(&stack(&registry, limited, most, single));
            let mut waiting: Vec<_> = (0..WAITING)
                .map(|_| crowd.seats.acquire(crowd.flow, 1))
                .collect();
            let mut held: Vec<Permit> = waiting.iter_mut().filter_map(poll).collect();
            let seated = held.len();
            let mut waiting = waiting.split_off(seated);
            for round in 0..100 {
                let mut one = single.seats.acquire(single.flow, 1);
                let mut turns = 0;
                let seat = loop {
                    if let Some(seat) = poll(&mut one) {
                        break seat;
                    }
                    // A seat is released, which is one turn for the next waiter.
                    drop(held.remove(0));
                    if let Some(next) = poll(&mut waiting[0]) {
                        held.push(next);
                        drop(waiting.remove(0));
                        turns += 1;
                    }
                };
                assert!(
                    turns <= 1,
                    "{limited:?}, {most} seats, round {round}: {turns} turns"
                );
                held.push(seat);
            }
            assert!(waiting.len() > WAITING / 2, "the crowd still waits");
        }
    }
}
