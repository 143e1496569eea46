//! A one-shot broadcast signal.
//!
//! Every stream checks it on every event and it almost never fires: polling a listener
//! that is already registered costs one atomic load.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// The signal; clones share it.
#[derive(Clone, Default)]
pub(crate) struct ShutdownSignal(Arc<SignalInner>);

#[derive(Default)]
struct SignalInner {
    triggered: AtomicBool,
    notify: Arc<Notify>,
}

/// Resolves once the signal is triggered.
pub(crate) struct Triggered {
    signal: ShutdownSignal,
    notified: Pin<Box<OwnedNotified>>,
    /// The registered waker; none before the first poll.
    waker: Option<Waker>,
}

impl ShutdownSignal {
    pub(crate) fn trigger(&self) {
        self.0.triggered.store(true, Ordering::Release);
        self.0.notify.notify_waiters();
    }

    pub(crate) fn is_triggered(&self) -> bool {
        self.0.triggered.load(Ordering::Acquire)
    }

    /// A listener that is registered from now on.
    pub(crate) fn triggered(&self) -> Triggered {
        Triggered {
            // `notify_waiters` reaches it from here on, even before its first poll.
            notified: Box::pin(Arc::clone(&self.0.notify).notified_owned()),
            signal: self.clone(),
            waker: None,
        }
    }
}

impl Future for Triggered {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.signal.is_triggered() {
            return Poll::Ready(());
        }
        let waker = self.waker.as_ref();
        if waker.is_some_and(|waker| waker.will_wake(cx.waker())) {
            return Poll::Pending;
        }
        self.waker = Some(cx.waker().clone());
        self.notified.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_signal_that_is_not_triggered_never_resolves() {
        let listener = ShutdownSignal::default().triggered();
        assert!(timeout(Duration::from_secs(60), listener).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_trigger_reaches_current_and_later_listeners() {
        let signal = ShutdownSignal::default();
        let unpolled = signal.triggered();
        let waiting: Vec<_> = (0..3).map(|_| tokio::spawn(signal.triggered())).collect();
        tokio::task::yield_now().await;
        signal.trigger();
        for listener in waiting {
            timeout(Duration::from_secs(1), listener)
                .await
                .unwrap()
                .unwrap();
        }
        for listener in [unpolled, signal.triggered()] {
            timeout(Duration::from_secs(1), listener).await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_that_moves_to_another_task_is_woken_there() {
        let signal = ShutdownSignal::default();
        let mut listener = signal.triggered();
        let first_look = std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut listener).poll(cx)));
        assert!(first_look.await.is_pending());
        let moved = tokio::spawn(listener);
        tokio::task::yield_now().await;
        signal.trigger();
        timeout(Duration::from_secs(1), moved)
            .await
            .unwrap()
            .unwrap();
    }
}
