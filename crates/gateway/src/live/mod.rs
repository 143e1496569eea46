//! Live state for the operator's page: open requests, and figures of the last hour.
//!
//! A sink that costs a few short locks per request and formats nothing. Finished requests
//! are kept for readers of the event stream only while there is one, so that without
//! readers the stream costs nothing. May use `outcome` and `record`.

mod minutes;
mod open_requests;
mod rule_matches;
mod target_calls;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

pub(crate) use minutes::{MinuteFigures, Minutes};
pub(crate) use open_requests::{OpenRequest, OpenRequests, Phase};
pub(crate) use rule_matches::RuleMatches;
pub(crate) use target_calls::TargetCalls;

use crate::record::{
    FinishedRequest, RequestKind, RequestSink, RoutedRequest, StartedCall, StartedRequest,
};

/// Maximum finished requests that wait for the event stream; further ones are counted.
const MOST_WAITING: usize = 64;

/// The open requests and recent figures of a server.
#[derive(Default)]
pub(crate) struct LiveFeed {
    pub(crate) open: OpenRequests,
    pub(crate) minutes: Minutes,
    pub(crate) targets: TargetCalls,
    pub(crate) rules: RuleMatches,
    readers: AtomicUsize,
    finished: Mutex<FinishedQueue>,
    wake: Notify,
}

/// Finished requests since the last look.
#[derive(Default)]
pub(crate) struct FinishedQueue {
    /// The newest, oldest first.
    pub(crate) records: VecDeque<Arc<FinishedRequest>>,
    /// The number of older requests that were dropped.
    pub(crate) skipped: usize,
}

impl LiveFeed {
    /// Keeps finished requests for the event stream until the guard is dropped.
    pub(crate) fn read(self: &Arc<Self>) -> FeedReader {
        self.readers.fetch_add(1, Ordering::Relaxed);
        self.wake.notify_one();
        FeedReader(Arc::clone(self))
    }

    pub(crate) fn has_readers(&self) -> bool {
        self.readers.load(Ordering::Relaxed) > 0
    }

    /// Completes when there may be a reader.
    pub(crate) async fn reader_arrived(&self) {
        self.wake.notified().await;
    }

    /// Takes the finished requests since the last call.
    pub(crate) fn take_finished(&self) -> FinishedQueue {
        std::mem::take(&mut *self.lock_finished())
    }

    fn lock_finished(&self) -> MutexGuard<'_, FinishedQueue> {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader of the event stream.
pub(crate) struct FeedReader(Arc<LiveFeed>);

impl Drop for FeedReader {
    fn drop(&mut self) {
        if self.0.readers.fetch_sub(1, Ordering::Relaxed) == 1 {
            drop(self.0.take_finished());
        }
    }
}

/// The figures of the last hour for only these requests, oldest first.
pub(crate) fn figures_of<'a>(
    records: impl IntoIterator<Item = &'a FinishedRequest>,
    now_millis: i64,
) -> Vec<MinuteFigures> {
    let minutes = Minutes::default();
    let shown = records.into_iter().filter(|record| is_shown(record.kind));
    shown.for_each(|record| minutes.add(record));
    minutes.until(now_millis)
}

/// Model lists and unknown paths are not shown.
fn is_shown(kind: RequestKind) -> bool {
    !matches!(kind, RequestKind::Other)
}

impl RequestSink for LiveFeed {
    fn started(&self, request: &StartedRequest<'_>) {
        if is_shown(request.kind) {
            self.open.insert(request);
        }
    }

    fn routed(&self, request: &RoutedRequest<'_>) {
        self.open.update(request.id, |open| {
            open.key.clone_from(&request.caller.key);
            open.team.clone_from(&request.caller.team);
            request.model.clone_into(&mut open.model);
            open.phase = Phase::Routed;
        });
    }

    fn calling(&self, call: &StartedCall<'_>) {
        self.open.update(call.id, |open| open.calling(call));
    }

    fn streaming(&self, id: &str) {
        self.open.update(id, OpenRequest::streaming);
    }

    fn finished(&self, record: &Arc<FinishedRequest>) {
        if !is_shown(record.kind) {
            return;
        }
        self.open.remove(&record.id);
        self.minutes.add(record);
        self.targets.count(&record.calls);
        if let (Some(route), Some(rule)) = (record.route(), record.rule()) {
            self.rules.count(route, rule);
        }
        if self.has_readers() {
            let mut queue = self.lock_finished();
            queue.records.push_back(Arc::clone(record));
            if queue.records.len() > MOST_WAITING {
                queue.records.pop_front();
                queue.skipped += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: &str) -> Arc<FinishedRequest> {
        Arc::new(FinishedRequest {
            id: id.into(),
            kind: RequestKind::Generate,
            ..FinishedRequest::default()
        })
    }

    #[test]
    fn finished_requests_are_kept_only_while_there_is_a_reader() {
        let feed = Arc::new(LiveFeed::default());
        feed.finished(&record("before"));
        let reader = feed.read();
        feed.finished(&record("during"));
        let taken = feed.take_finished();
        assert_eq!(taken.records.len(), 1);
        assert_eq!(&*taken.records[0].id, "during");
        feed.finished(&record("left behind"));
        drop(reader);
        feed.finished(&record("after"));
        assert!(feed.take_finished().records.is_empty());
    }

    #[test]
    fn a_reader_that_does_not_take_holds_a_bounded_number() {
        let feed = Arc::new(LiveFeed::default());
        let _reader = feed.read();
        for n in 0..1_000 {
            feed.finished(&record(&n.to_string()));
        }
        let taken = feed.take_finished();
        assert_eq!(taken.records.len(), MOST_WAITING);
        assert_eq!(taken.skipped, 1_000 - MOST_WAITING);
        assert_eq!(
            &*taken.records[MOST_WAITING - 1].id,
            "999",
            "the newest stay"
        );
    }
}
