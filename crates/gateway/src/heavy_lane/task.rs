//! A future that is polled once per turn, in the main runtime's context.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use majordomo_limits::{Acquire, FairSemaphore, Flow};
use tokio::runtime::Handle;

/// One task of the lane.
pub(super) struct LaneTask<F> {
    /// None once finished.
    work: Option<Pin<Box<F>>>,
    turns: FairSemaphore,
    flow: Flow,
    /// The pending acquisition of a turn.
    waiting: Option<Acquire>,
    main: Handle,
}

impl<F: Future> LaneTask<F> {
    pub(super) fn new(work: F, turns: FairSemaphore, flow: Flow, main: Handle) -> Self {
        Self {
            work: Some(Box::pin(work)),
            turns,
            flow,
            waiting: None,
            main,
        }
    }
}

impl<F: Future> Future for LaneTask<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        let waiting = this
            .waiting
            .get_or_insert_with(|| this.turns.acquire(this.flow, 1));
        // The queue is unbounded and a unit always exists, so this never fails.
        let _turn = ready!(Pin::new(waiting).poll(cx));
        this.waiting = None;
        let _context = this.main.enter();
        let Some(work) = &mut this.work else {
            return Poll::Pending;
        };
        let output = ready!(work.as_mut().poll(cx));
        // Free its memory here as well.
        this.work = None;
        Poll::Ready(output)
    }
}

impl<F> Drop for LaneTask<F> {
    fn drop(&mut self) {
        let _context = self.main.enter();
        self.work = None;
    }
}
