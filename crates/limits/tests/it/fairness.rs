//! Order, limits and cancellation, as tenants observe them.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use majordomo_limits::{
    Acquire, AcquireError, Bounds, Budget, BudgetExhausted, Charge, FairSemaphore, Flow, Permit,
};

type BoxedAcquire = Pin<Box<Acquire>>;

fn poll(waiting: &mut BoxedAcquire) -> Poll<Result<Permit, AcquireError>> {
    let mut cx = Context::from_waker(Waker::noop());
    waiting.as_mut().poll(&mut cx)
}

fn wait(semaphore: &FairSemaphore, flow: Flow, cost: u64) -> BoxedAcquire {
    let mut waiting = Box::pin(semaphore.acquire(flow, cost));
    assert!(poll(&mut waiting).is_pending());
    waiting
}

fn flows() -> (Flow, Flow) {
    (Flow::named("alice"), Flow::named("bob"))
}

#[test]
fn a_flow_with_a_thousand_waiters_delays_another_flow_by_one_turn() {
    let (alice, bob) = flows();
    let seats = FairSemaphore::new(Bounds::new(1));
    let mut held = seats.try_acquire(alice, 1);
    let mut crowd: Vec<_> = (0..1000).map(|_| wait(&seats, alice, 1)).collect();
    let mut single = wait(&seats, bob, 1);
    let mut before = 0;
    loop {
        drop(held.take());
        if let Poll::Ready(got) = poll(&mut single) {
            assert!(got.is_ok());
            break;
        }
        let granted = crowd.iter_mut().find_map(|waiting| match poll(waiting) {
            Poll::Ready(got) => Some(got.unwrap()),
            Poll::Pending => None,
        });
        held = Some(granted.expect("a free seat is granted"));
        drop(crowd.remove(0));
        before += 1;
    }
    assert!(before <= 1, "{before} of the crowd came first");
}

#[test]
fn try_acquire_does_not_overtake_waiters() {
    let (alice, bob) = flows();
    let units = FairSemaphore::new(Bounds::new(10));
    let held = units.try_acquire(alice, 5).unwrap();
    let mut large = wait(&units, bob, 6);
    assert!(units.try_acquire(alice, 1).is_none());
    drop(held);
    assert!(matches!(poll(&mut large), Poll::Ready(Ok(_))));
}

#[test]
fn growth_stops_at_an_equal_share_while_other_flows_wait() {
    let (alice, bob) = flows();
    let units = FairSemaphore::new(Bounds::new(12));
    let mut held = units.try_acquire(alice, 8).unwrap();
    let waiting = wait(&units, bob, 6);
    assert!(!held.try_grow(1));
    drop(waiting);
    assert!(held.try_grow(4));
    assert!(!held.try_grow(1));
    held.shrink_to(1);
    assert_eq!(units.available(), 11);
}

#[tokio::test]
async fn waiting_growth_takes_released_units_and_delays_no_one() {
    let (alice, bob) = flows();
    let units = FairSemaphore::new(Bounds::new(8));
    let mut held = units.try_acquire(alice, 2).unwrap();
    let other = units.try_acquire(bob, 5).unwrap();
    let growing = tokio::spawn(async move {
        held.grow(6).await;
        held
    });
    tokio::task::yield_now().await;
    // One unit remains available to other flows.
    drop(units.try_acquire(bob, 1).unwrap());
    assert!(!growing.is_finished());
    drop(other);
    assert_eq!(growing.await.unwrap().units(), 8);
    assert_eq!(units.available(), 8);
}

#[tokio::test]
async fn bytes_stay_charged_until_their_last_clone_is_dropped() {
    let bytes = FairSemaphore::new(Bounds::new(100));
    let permit = bytes.try_acquire(flows().0, 10).unwrap();
    let held = Budget::of(&permit)
        .scope(async {
            let mut charge = Charge::begin();
            charge.reach(60).unwrap();
            assert_eq!(charge.reach(91), Err(BudgetExhausted));
            let carried = tokio::spawn(Budget::carry(Budget::current(), async { Flow::current() }));
            assert_eq!(carried.await.unwrap(), flows().0);
            charge.hold(Bytes::from_static(b"a response"))
        })
        .await;
    let clone = held.slice(3..);
    drop(held);
    assert_eq!(bytes.available(), 30);
    drop(clone);
    assert_eq!(bytes.available(), 90);
    // Without a budget nothing is charged.
    Charge::begin().reach(u64::MAX).unwrap();
}

#[test]
fn a_full_queue_evicts_from_the_longest_flow_for_a_shorter_one() {
    let (alice, bob) = flows();
    let seats = FairSemaphore::new(Bounds::new(1).waiters(3));
    let _held = seats.try_acquire(alice, 1).unwrap();
    let mut crowd: Vec<_> = (0..3).map(|_| wait(&seats, alice, 1)).collect();
    let rejected = poll(&mut Box::pin(seats.acquire(alice, 1)));
    assert!(matches!(
        rejected,
        Poll::Ready(Err(AcquireError::QueueFull))
    ));
    let mut single = wait(&seats, bob, 1);
    let evicted = poll(&mut crowd[2]);
    assert!(matches!(evicted, Poll::Ready(Err(AcquireError::QueueFull))));
    assert!(poll(&mut crowd[1]).is_pending());
    assert!(poll(&mut single).is_pending());
    assert_eq!(seats.waiting(), 3);
}

#[test]
fn each_flows_queue_is_bounded() {
    let (alice, bob) = flows();
    let seats = FairSemaphore::new(Bounds::new(1).waiters_per_flow(1));
    let _held = seats.try_acquire(alice, 1).unwrap();
    let _first = wait(&seats, alice, 1);
    let second = poll(&mut Box::pin(seats.acquire(alice, 1)));
    assert!(matches!(second, Poll::Ready(Err(AcquireError::QueueFull))));
    drop(wait(&seats, bob, 1));
}

#[test]
fn headroom_is_reserved_for_other_flows() {
    let (alice, bob) = flows();
    let seats = FairSemaphore::new(Bounds::new(8).held_per_flow(7));
    let held: Vec<_> = (0..7)
        .map(|_| seats.try_acquire(alice, 1).unwrap())
        .collect();
    assert!(seats.try_acquire(alice, 1).is_none());
    let mut eighth = wait(&seats, alice, 1);
    // A flow at its own limit blocks no other flow.
    let got = poll(&mut Box::pin(seats.acquire(bob, 1)));
    assert!(matches!(got, Poll::Ready(Ok(_))));
    assert!(poll(&mut eighth).is_pending());
    drop(held);
    assert!(matches!(poll(&mut eighth), Poll::Ready(Ok(_))));
}

#[test]
fn a_flows_only_permit_may_take_all_units() {
    let (alice, _) = flows();
    let bytes = FairSemaphore::new(Bounds::new(8).held_per_flow(4));
    let mut permit = bytes.try_acquire(alice, 6).unwrap();
    assert!(permit.try_grow(2));
}

#[test]
fn a_request_above_the_capacity_fails_immediately() {
    let (alice, _) = flows();
    let bytes = FairSemaphore::new(Bounds::new(8));
    let refused = poll(&mut Box::pin(bytes.acquire(alice, 9)));
    assert!(matches!(refused, Poll::Ready(Err(AcquireError::TooLarge))));
    assert_eq!(bytes.waiting(), 0);
}

#[test]
fn a_cancelled_waiters_deficit_does_not_benefit_the_waiters_behind_it() {
    let (alice, bob) = flows();
    let units = FairSemaphore::new(Bounds::new(100));
    let all = units.try_acquire(alice, 100).unwrap();
    let large = wait(&units, alice, 100);
    let mut small: Vec<_> = (0..50).map(|_| wait(&units, alice, 1)).collect();
    let mut others: Vec<_> = (0..50).map(|_| wait(&units, bob, 1)).collect();
    drop(large);
    let mut all = all;
    all.shrink_to(80);
    let served = |waiting: &mut Vec<BoxedAcquire>| {
        let mut kept = Vec::new();
        for waiting in waiting.iter_mut() {
            if let Poll::Ready(got) = poll(waiting) {
                kept.push(got.unwrap());
            }
        }
        kept
    };
    let (kept, others) = (served(&mut small), served(&mut others));
    assert_eq!(kept.len() + others.len(), 20);
    assert!(kept.len() <= 11, "{} of one flow", kept.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_wakeup_is_lost_across_threads() {
    let units = FairSemaphore::new(Bounds::new(4).quantum(2));
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..16u64 {
        let units = units.clone();
        tasks.spawn(async move {
            let flow = Flow::named(&format!("tenant {}", task % 5));
            for round in 0..500u64 {
                let cost = 1 + (task + round) % 4;
                let acquire = units.acquire(flow, cost);
                if round % 7 == 0 {
                    // Drop the future after one poll, granted or not.
                    tokio::select! { biased; got = acquire => drop(got), () = std::future::ready(()) => {} }
                    continue;
                }
                let permit = acquire.await.unwrap();
                tokio::task::yield_now().await;
                drop(permit);
            }
        });
    }
    let all = async { while tasks.join_next().await.transpose().unwrap().is_some() {} };
    let ended = tokio::time::timeout(std::time::Duration::from_secs(60), all).await;
    assert!(ended.is_ok(), "a waiter was never woken: {units:?}");
    assert_eq!((units.available(), units.waiting()), (4, 0));
}
