//! A bell that rings once, for everybody.
//!
//! Every stream listens for it at every event, and it hardly ever rings: a
//! listener that is known to the bell already looks at one flag and goes on.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// Shared by who rings and who listens.
#[derive(Clone, Default)]
pub(crate) struct ShutdownSignal(Arc<Inner>);

#[derive(Default)]
struct Inner {
    rung: AtomicBool,
    notify: Arc<Notify>,
}

/// Ready once the bell has rung.
pub(crate) struct Triggered {
    bell: ShutdownSignal,
    notified: Pin<Box<OwnedNotified>>,
    /// Who is woken; nobody before the first look.
    known: Option<Waker>,
}

impl ShutdownSignal {
    pub(crate) fn trigger(&self) {
        self.0.rung.store(true, Ordering::Release);
        self.0.notify.notify_waiters();
    }

    pub(crate) fn is_triggered(&self) -> bool {
        self.0.rung.load(Ordering::Acquire)
    }

    /// Listens from now on.
    pub(crate) fn triggered(&self) -> Triggered {
        Triggered {
            // From here on a ring reaches it, also before it is polled.
            notified: Box::pin(Arc::clone(&self.0.notify).notified_owned()),
            bell: self.clone(),
            known: None,
        }
    }
}

impl Future for Triggered {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.bell.is_triggered() {
            return Poll::Ready(());
        }
        let known = self.known.as_ref();
        if known.is_some_and(|waker| waker.will_wake(cx.waker())) {
            return Poll::Pending;
        }
        self.known = Some(cx.waker().clone());
        self.notified.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nobody_hears_a_bell_that_does_not_ring() {
        let heard = ShutdownSignal::default().triggered();
        assert!(timeout(Duration::from_secs(60), heard).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn all_who_listen_hear_it_and_so_do_those_who_come_late() {
        let bell = ShutdownSignal::default();
        let unpolled = bell.triggered();
        let waiting: Vec<_> = (0..3).map(|_| tokio::spawn(bell.triggered())).collect();
        tokio::task::yield_now().await;
        bell.trigger();
        for heard in waiting {
            timeout(Duration::from_secs(1), heard)
                .await
                .unwrap()
                .unwrap();
        }
        for heard in [unpolled, bell.triggered()] {
            timeout(Duration::from_secs(1), heard).await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_that_moves_to_another_task_is_woken_there() {
        let bell = ShutdownSignal::default();
        let mut heard = bell.triggered();
        let first_look = std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut heard).poll(cx)));
        assert!(first_look.await.is_pending());
        let moved = tokio::spawn(heard);
        tokio::task::yield_now().await;
        bell.trigger();
        timeout(Duration::from_secs(1), moved)
            .await
            .unwrap()
            .unwrap();
    }
}
