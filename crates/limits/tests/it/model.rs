//! Property test against a textbook model of deficit round robin: after every random
//! operation, the semaphore grants exactly what the model grants.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use majordomo_limits::{Acquire, Bounds, FairSemaphore, Flow, Permit};
use proptest::prelude::*;

const UNITS: u64 = 12;
const QUANTUM: u64 = 3;
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

#[derive(Clone, Debug)]
enum Operation {
    Acquire { flow: usize, cost: u64 },
    Try { flow: usize, cost: u64 },
    Cancel(usize),
    Release(usize),
    Grow(usize, u64),
    Shrink(usize, u64),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let flow = 0..NAMES.len();
    let cost = 0..=UNITS;
    let operation = prop_oneof![
        6 => (flow.clone(), cost.clone()).prop_map(|(flow, cost)| Operation::Acquire { flow, cost }),
        2 => (flow, cost.clone()).prop_map(|(flow, cost)| Operation::Try { flow, cost }),
        2 => (0..100usize).prop_map(Operation::Cancel),
        5 => (0..100usize).prop_map(Operation::Release),
        1 => (0..100usize, 1..=UNITS).prop_map(|(at, by)| Operation::Grow(at, by)),
        1 => (0..100usize, cost).prop_map(|(at, to)| Operation::Shrink(at, to)),
    ];
    prop::collection::vec(operation, 1..120)
}

/// Deficit round robin as in the paper, one quantum at a time.
#[derive(Default)]
struct DrrModel {
    free: u64,
    /// The first flow has its turn.
    round: VecDeque<(usize, u64)>,
    begun: bool,
    queues: BTreeMap<usize, VecDeque<(u64, u64)>>,
}

impl DrrModel {
    fn waiting(&self) -> usize {
        self.queues.values().map(VecDeque::len).sum()
    }

    fn push(&mut self, flow: usize, id: u64, cost: u64) {
        let queue = self.queues.entry(flow).or_default();
        if queue.is_empty() {
            if self.round.is_empty() {
                self.begun = false;
            }
            self.round.push_back((flow, 0));
        }
        queue.push_back((id, cost));
    }

    fn cancel(&mut self, flow: usize, id: u64) {
        let queue = self.queues.get_mut(&flow).unwrap();
        let at = queue.iter().position(|(other, _)| *other == id).unwrap();
        queue.remove(at);
        let turn = self.round.iter().position(|(f, _)| *f == flow).unwrap();
        if at == 0 {
            self.round[turn].1 = self.round[turn].1.min(QUANTUM);
        }
        if queue.is_empty() {
            self.round.remove(turn);
            self.begun &= turn != 0;
        }
    }

    fn grant(&mut self) -> Vec<u64> {
        let mut granted = Vec::new();
        while let Some((flow, deficit)) = self.round.front_mut() {
            if !self.begun {
                *deficit += QUANTUM;
                self.begun = true;
            }
            let queue = self.queues.get_mut(flow).unwrap();
            let (id, cost) = queue[0];
            if cost > *deficit {
                self.round.rotate_left(1);
                self.begun = false;
                continue;
            }
            if cost > self.free {
                break;
            }
            *deficit -= cost;
            self.free -= cost;
            granted.push(id);
            queue.pop_front();
            if queue.is_empty() {
                self.round.pop_front();
                self.begun = false;
            }
        }
        granted
    }
}

struct PendingAcquire {
    id: u64,
    flow: usize,
    acquire: Pin<Box<Acquire>>,
}

fn poll(acquire: &mut Pin<Box<Acquire>>) -> Option<Permit> {
    match acquire
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(got) => Some(got.unwrap()),
        Poll::Pending => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_operation_grants_what_the_model_grants(operations in operations()) {
        let flows = NAMES.map(Flow::named);
        let semaphore = FairSemaphore::new(Bounds::new(UNITS).quantum(QUANTUM));
        let mut model = DrrModel { free: UNITS, ..DrrModel::default() };
        let mut waiting: Vec<PendingAcquire> = Vec::new();
        let mut held: Vec<Permit> = Vec::new();
        let mut last = 0;
        for operation in operations {
            match operation {
                Operation::Acquire { flow, cost } => {
                    last += 1;
                    let mut acquire = Box::pin(semaphore.acquire(flows[flow], cost));
                    let got = poll(&mut acquire);
                    if cost == 0 || (model.waiting() == 0 && cost <= model.free) {
                        model.free -= cost;
                        held.push(got.expect("free units are granted at once"));
                    } else {
                        prop_assert!(got.is_none(), "it overtook waiters");
                        model.push(flow, last, cost);
                        waiting.push(PendingAcquire { id: last, flow, acquire });
                    }
                }
                Operation::Try { flow, cost } => {
                    let free = cost == 0 || (model.waiting() == 0 && cost <= model.free);
                    let got = semaphore.try_acquire(flows[flow], cost);
                    prop_assert_eq!(got.is_some(), free);
                    held.extend(got);
                    model.free -= if free { cost } else { 0 };
                }
                Operation::Cancel(at) if !waiting.is_empty() => {
                    let gone = waiting.remove(at % waiting.len());
                    model.cancel(gone.flow, gone.id);
                }
                Operation::Release(at) if !held.is_empty() => {
                    let gone = held.remove(at % held.len());
                    model.free += gone.units();
                }
                Operation::Grow(at, by) if !held.is_empty() => {
                    let at = at % held.len();
                    if held[at].try_grow(by) {
                        prop_assert!(by <= model.free);
                        model.free -= by;
                    } else {
                        prop_assert!(by > model.free || model.waiting() > 0);
                    }
                }
                Operation::Shrink(at, to) if !held.is_empty() => {
                    let at = at % held.len();
                    model.free += held[at].units().saturating_sub(to);
                    held[at].shrink_to(to);
                }
                _ => {}
            }
            let granted = model.grant();
            let (now, still): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|one| granted.contains(&one.id));
            waiting = still;
            for mut one in now {
                held.push(poll(&mut one.acquire).expect("the model grants it"));
            }
            for one in &mut waiting {
                prop_assert!(poll(&mut one.acquire).is_none(), "the model does not grant it");
            }
            prop_assert_eq!(semaphore.available(), model.free);
            prop_assert_eq!(semaphore.waiting(), model.waiting());
            let sum: u64 = held.iter().map(Permit::units).sum();
            prop_assert_eq!(sum + model.free, UNITS);
        }
        drop(waiting);
        drop(held);
        prop_assert_eq!((semaphore.available(), semaphore.waiting()), (UNITS, 0));
        for flow in flows {
            prop_assert_eq!(semaphore.held_by(flow), 0);
        }
    }
}
