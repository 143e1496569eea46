//! Single flight: concurrent requests for the same description share one call.
//!
//! The leader makes the call inside its own future, so the call ends when its client
//! disconnects; then one of the followers takes over. A failure is reported to all
//! followers and not cached.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::memory::{Address, Description};

/// A description, or why there is none.
pub(super) type Told = Result<Description, String>;

#[derive(Default)]
pub(super) struct Flights(Mutex<HashMap<Address, watch::Receiver<Option<Told>>>>);

/// Which request made the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    Here,
    Elsewhere,
}

enum Seat<'f> {
    Leader(Leader<'f>),
    Follower(watch::Receiver<Option<Told>>),
}

/// Removes the flight when it ends or is dropped.
struct Leader<'f> {
    flights: &'f Flights,
    address: Address,
    tell: watch::Sender<Option<Told>>,
}

impl Flights {
    /// The result of `work`, run here or already in flight. `known` is checked again after
    /// each wait, since a leader may have just finished.
    pub(super) async fn join<F: Future<Output = Told>>(
        &self,
        address: Address,
        known: impl Fn() -> Option<Description>,
        work: impl Fn() -> F,
    ) -> (Told, Made) {
        loop {
            if let Some(description) = known() {
                return (Ok(description), Made::Elsewhere);
            }
            match self.board(address) {
                Seat::Leader(leader) => {
                    let told = work().await;
                    leader.tell.send_replace(Some(told.clone()));
                    return (told, Made::Here);
                }
                Seat::Follower(mut news) => {
                    let told = news.wait_for(Option::is_some).await;
                    let told = told.ok().and_then(|told| told.clone());
                    if let Some(told) = told {
                        return (told, Made::Elsewhere);
                    }
                }
            }
        }
    }

    fn board(&self, address: Address) -> Seat<'_> {
        let mut flights = self.lock();
        if let Some(news) = flights.get(&address) {
            return Seat::Follower(news.clone());
        }
        let (tell, news) = watch::channel(None);
        flights.insert(address, news);
        Seat::Leader(Leader {
            flights: self,
            address,
            tell,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Address, watch::Receiver<Option<Told>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        self.flights.lock().remove(&self.address);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::pin::pin;

    use futures_util::future::{FutureExt, join, join_all};
    use tokio::sync::Notify;

    use super::*;

    fn address() -> Address {
        Address::of(&[b"same"])
    }

    #[tokio::test]
    async fn many_who_want_the_same_make_one_call() {
        let (flights, calls) = (Flights::default(), Cell::new(0));
        let work = || async {
            calls.set(calls.get() + 1);
            tokio::task::yield_now().await;
            Ok("an apple".into())
        };
        let all = join_all((0..5).map(|_| flights.join(address(), || None, work))).await;
        assert_eq!(calls.get(), 1);
        let here = all.iter().filter(|(_, made)| *made == Made::Here).count();
        assert_eq!(here, 1);
        assert!(
            all.iter()
                .all(|(told, _)| told.as_deref() == Ok("an apple"))
        );
        assert!(flights.lock().is_empty());
    }

    #[tokio::test]
    async fn a_leader_who_leaves_hands_over_to_a_follower() {
        let (flights, gate) = (Flights::default(), Notify::new());
        let wait = || async {
            gate.notified().await;
            Ok("never".into())
        };
        let work = || async { Ok("an apple".into()) };
        let mut follower = pin!(flights.join(address(), || None, work));
        {
            let mut leader = pin!(flights.join(address(), || None, wait));
            assert!((&mut leader).now_or_never().is_none(), "it waits");
            assert!((&mut follower).now_or_never().is_none(), "it follows");
        }
        let (told, made) = follower.await;
        assert_eq!((told.as_deref(), made), (Ok("an apple"), Made::Here));
    }

    #[tokio::test]
    async fn a_failure_is_shared_by_those_who_waited_and_forgotten() {
        let (flights, calls) = (Flights::default(), Cell::new(0));
        let fail = || async {
            calls.set(calls.get() + 1);
            tokio::task::yield_now().await;
            Err("it broke".to_owned())
        };
        let flight = || flights.join(address(), || None, fail);
        let ((first, _), (second, _)) = join(flight(), flight()).await;
        assert!(first.is_err() && second.is_err());
        assert_eq!(calls.get(), 1);
        flight().await.0.unwrap_err();
        assert_eq!(calls.get(), 2, "a later request calls again");
    }
}
