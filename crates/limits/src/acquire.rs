//! The future that waits for units.

use std::pin::Pin;
use std::task::{Context, Poll};

use crate::core::WaiterState;
use crate::drr::Ticket;
use crate::error::AcquireError;
use crate::flow::Flow;
use crate::permit::Permit;
use crate::shared::{SharedCore, wake_all};

/// The future returned by [`FairSemaphore::acquire`](crate::FairSemaphore::acquire).
///
/// It joins the queue when first polled.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Acquire {
    shared: SharedCore,
    flow: Flow,
    cost: u64,
    ticket: Option<Ticket>,
}

impl Acquire {
    pub(crate) fn new(shared: SharedCore, flow: Flow, cost: u64) -> Self {
        Self {
            shared,
            flow,
            cost,
            ticket: None,
        }
    }

    fn permit(&self) -> Permit {
        Permit::new(self.shared.clone(), self.flow, self.cost)
    }
}

impl Future for Acquire {
    type Output = Result<Permit, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let ticket = match self.ticket {
            Some(ticket) => ticket,
            None => {
                let mut core = self.shared.lock();
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
        let state = self.shared.lock().poll(ticket, cx.waker());
        match state {
            WaiterState::Waiting => Poll::Pending,
            WaiterState::Granted => {
                self.ticket = None;
                Poll::Ready(Ok(self.permit()))
            }
            WaiterState::Evicted => {
                self.ticket = None;
                Poll::Ready(Err(AcquireError::QueueFull))
            }
        }
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let wake = self.shared.lock().cancel(ticket);
            wake_all(wake);
        }
    }
}
