//! Single flight: concurrent requests for the same description share one call.
//!
//! The leader makes the call inside its own future, so the call ends when its client
//! disconnects; then one of the followers takes over. A failure is reported to all
//! followers and not cached.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::cache::{CacheKey, Description};

/// A description, or why there is none.
pub(super) type DescriptionResult = Result<Description, String>;

#[derive(Default)]
pub(super) struct SingleFlight(
    Mutex<HashMap<CacheKey, watch::Receiver<Option<DescriptionResult>>>>,
);

/// Which request made the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallOrigin {
    ThisRequest,
    Shared,
}

enum FlightSlot<'f> {
    Leader(Leader<'f>),
    Follower(watch::Receiver<Option<DescriptionResult>>),
}

/// Removes the flight when it ends or is dropped.
struct Leader<'f> {
    in_flight: &'f SingleFlight,
    key: CacheKey,
    sender: watch::Sender<Option<DescriptionResult>>,
}

impl SingleFlight {
    /// The result of `work`, run here or already in flight. `known` is checked again after
    /// each wait, since a leader may have just finished.
    pub(super) async fn join<F: Future<Output = DescriptionResult>>(
        &self,
        key: CacheKey,
        known: impl Fn() -> Option<Description>,
        work: impl Fn() -> F,
    ) -> (DescriptionResult, CallOrigin) {
        loop {
            if let Some(description) = known() {
                return (Ok(description), CallOrigin::Shared);
            }
            match self.enter(key) {
                FlightSlot::Leader(leader) => {
                    let result = work().await;
                    leader.sender.send_replace(Some(result.clone()));
                    return (result, CallOrigin::ThisRequest);
                }
                FlightSlot::Follower(mut receiver) => {
                    let result = receiver.wait_for(Option::is_some).await;
                    let result = result.ok().and_then(|result| result.clone());
                    if let Some(result) = result {
                        return (result, CallOrigin::Shared);
                    }
                }
            }
        }
    }

    fn enter(&self, key: CacheKey) -> FlightSlot<'_> {
        let mut in_flight = self.lock();
        if let Some(receiver) = in_flight.get(&key) {
            return FlightSlot::Follower(receiver.clone());
        }
        let (sender, receiver) = watch::channel(None);
        in_flight.insert(key, receiver);
        FlightSlot::Leader(Leader {
            in_flight: self,
            key,
            sender,
        })
    }

    fn lock(
        &self,
    ) -> MutexGuard<'_, HashMap<CacheKey, watch::Receiver<Option<DescriptionResult>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        self.in_flight.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::pin::pin;

    use futures_util::future::{FutureExt, join, join_all};
    use tokio::sync::Notify;

    use super::*;

    fn key() -> CacheKey {
        CacheKey::of(&[b"same"])
    }

    #[tokio::test]
    async fn concurrent_requests_for_the_same_description_make_one_call() {
        let (in_flight, calls) = (SingleFlight::default(), Cell::new(0));
        let work = || async {
            calls.set(calls.get() + 1);
            tokio::task::yield_now().await;
            Ok("an apple".into())
        };
        let all = join_all((0..5).map(|_| in_flight.join(key(), || None, work))).await;
        assert_eq!(calls.get(), 1);
        let here = all
            .iter()
            .filter(|(_, origin)| *origin == CallOrigin::ThisRequest)
            .count();
        assert_eq!(here, 1);
        assert!(
            all.iter()
                .all(|(result, _)| result.as_deref() == Ok("an apple"))
        );
        assert!(in_flight.lock().is_empty());
    }

    #[tokio::test]
    async fn a_dropped_leader_hands_over_to_a_follower() {
        let (in_flight, gate) = (SingleFlight::default(), Notify::new());
        let wait = || async {
            gate.notified().await;
            Ok("never".into())
        };
        let work = || async { Ok("an apple".into()) };
        let mut follower = pin!(in_flight.join(key(), || None, work));
        {
            let mut leader = pin!(in_flight.join(key(), || None, wait));
            assert!((&mut leader).now_or_never().is_none(), "it waits");
            assert!((&mut follower).now_or_never().is_none(), "it follows");
        }
        let (result, origin) = follower.await;
        assert_eq!(
            (result.as_deref(), origin),
            (Ok("an apple"), CallOrigin::ThisRequest)
        );
    }

    #[tokio::test]
    async fn a_failure_is_shared_with_followers_and_not_cached() {
        let (in_flight, calls) = (SingleFlight::default(), Cell::new(0));
        let fail = || async {
            calls.set(calls.get() + 1);
            tokio::task::yield_now().await;
            Err("it broke".to_owned())
        };
        let flight = || in_flight.join(key(), || None, fail);
        let ((first, _), (second, _)) = join(flight(), flight()).await;
        assert!(first.is_err() && second.is_err());
        assert_eq!(calls.get(), 1);
        flight().await.0.unwrap_err();
        assert_eq!(calls.get(), 2, "a later request calls again");
    }
}
