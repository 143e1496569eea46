//! The wait for units.

use std::pin::Pin;
use std::task::{Context, Poll};

use crate::core::Progress;
use crate::drr::Ticket;
use crate::error::AcquireError;
use crate::flow::Flow;
use crate::permit::Permit;
use crate::semaphore::{FairSemaphore, wake_all};

/// The future of [`FairSemaphore::acquire`]. It takes its place in the queue when
/// it is first polled.
#[must_use = "a future does nothing unless it is polled"]
#[derive(Debug)]
pub struct Acquire {
    semaphore: FairSemaphore,
    flow: Flow,
    cost: u64,
    ticket: Option<Ticket>,
}

impl Acquire {
    pub(crate) fn new(semaphore: FairSemaphore, flow: Flow, cost: u64) -> Self {
        Self {
            semaphore,
            flow,
            cost,
            ticket: None,
        }
    }

    fn permit(&self) -> Permit {
        Permit::new(self.semaphore.clone(), self.flow, self.cost)
    }
}

impl Future for Acquire {
    type Output = Result<Permit, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let ticket = match self.ticket {
            Some(ticket) => ticket,
            None => {
                let mut core = self.semaphore.lock();
                if core.try_take(self.flow, self.cost) {
                    drop(core);
                    return Poll::Ready(Ok(self.permit()));
                }
                let queued = core.enqueue(self.flow, self.cost);
                drop(core);
                let (ticket, wake) = queued?;
                self.ticket = Some(ticket);
                wake_all(wake);
                ticket
            }
        };
        let progress = self.semaphore.lock().poll(ticket, cx.waker());
        match progress {
            Progress::Waiting => Poll::Pending,
            Progress::Granted => {
                self.ticket = None;
                Poll::Ready(Ok(self.permit()))
            }
            Progress::Evicted => {
                self.ticket = None;
                Poll::Ready(Err(AcquireError::QueueFull))
            }
        }
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let wake = self.semaphore.lock().cancel(ticket);
            wake_all(wake);
        }
    }
}
