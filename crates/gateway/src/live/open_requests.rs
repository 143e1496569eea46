//! The open requests and the phase of each.
//!
//! Sharded by id, so that requests on different threads rarely wait for each other.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use majordomo::chain::AttemptKind;
use majordomo::llm::Dialect;

use crate::record::{StartedCall, StartedRequest};

const SHARDS: usize = 16;

/// Hashes an id by its end. Ids are our own and random there, so no client can choose them to
/// collide, and each request is looked up several times.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        // The end of a text is marked by another byte.
        if let Some(last) = bytes.last_chunk() {
            self.0 = u64::from_le_bytes(*last);
        } else {
            let each = bytes.iter().map(|byte| u64::from(*byte));
            self.0 = each.fold(self.0, |sum, byte| sum.rotate_left(8) ^ byte);
        }
    }

    fn finish(&self) -> u64 {
        // Both ends of the product depend on every digit.
        let product = u128::from(self.0) * 0x9e37_79b9_7f4a_7c15;
        (product >> 64) as u64 ^ product as u64
    }
}

type IdState = BuildHasherDefault<IdHasher>;
type Shard = HashMap<Arc<str>, OpenRequest, IdState>;

/// Open requests by id.
#[derive(Default)]
pub(crate) struct OpenRequests {
    shards: [Mutex<Shard>; SHARDS],
    /// Numbers the changes.
    changes: AtomicU64,
}

/// A request that runs.
#[derive(Clone, Debug)]
pub(crate) struct OpenRequest {
    pub(crate) id: Arc<str>,
    pub(crate) dialect: Dialect,
    pub(crate) client: Option<&'static str>,
    pub(crate) arrived: SystemTime,
    /// Known once the request is routed, like team and model.
    pub(crate) key: Option<Arc<str>>,
    pub(crate) team: Option<Arc<str>>,
    pub(crate) model: String,
    pub(crate) phase: Phase,
    /// Attempts that were sent, without descriptions.
    pub(crate) attempts: u64,
    /// The number of its last change: the larger, the later.
    pub(crate) changed: u64,
}

/// The phase of an open request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It waits for its body or for a seat.
    #[default]
    Queued,
    /// It has a route.
    Routed,
    /// An image is being described by this target.
    Describing(String),
    /// This target is being called.
    Calling(String),
    /// This target's response is being relayed.
    Streaming(String),
}

impl Phase {
    /// The target that is at work.
    pub(crate) fn target(&self) -> Option<&str> {
        match self {
            Self::Queued | Self::Routed => None,
            Self::Describing(target) | Self::Calling(target) | Self::Streaming(target) => {
                Some(target)
            }
        }
    }
}

impl OpenRequest {
    pub(super) fn calling(&mut self, call: &StartedCall<'_>) {
        let target = call.target.to_owned();
        if call.kind == AttemptKind::Describe {
            self.phase = Phase::Describing(target);
        } else {
            self.attempts += 1;
            self.phase = Phase::Calling(target);
        }
    }

    pub(super) fn streaming(&mut self) {
        let target = self.phase.target().unwrap_or_default().to_owned();
        self.phase = Phase::Streaming(target);
    }
}

impl OpenRequests {
    pub(super) fn insert(&self, request: &StartedRequest<'_>) {
        let open = OpenRequest {
            id: Arc::clone(request.id),
            dialect: request.dialect.clone(),
            client: request.client,
            arrived: request.arrived,
            key: None,
            team: None,
            model: String::new(),
            phase: Phase::Queued,
            attempts: 0,
            changed: self.next_change(),
        };
        self.shard(request.id).insert(Arc::clone(request.id), open);
    }

    pub(super) fn update(&self, id: &str, change: impl FnOnce(&mut OpenRequest)) {
        if let Some(open) = self.shard(id).get_mut(id) {
            change(open);
            open.changed = self.next_change();
        }
    }

    pub(super) fn remove(&self, id: &str) {
        let removed = self.shard(id).remove(id);
        drop(removed);
    }

    /// An open request.
    pub(crate) fn get(&self, id: &str) -> Option<OpenRequest> {
        self.shard(id).get(id).cloned()
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        self.shard(id).contains_key(id)
    }

    /// The requests that changed after this number, latest change first, at most `most`.
    pub(crate) fn changed_since(&self, number: u64, most: usize) -> Vec<OpenRequest> {
        let mut found = Vec::new();
        for shard in &self.shards {
            let shard = lock(shard);
            found.extend(shard.values().filter(|open| open.changed > number).cloned());
        }
        found.sort_unstable_by_key(|open| std::cmp::Reverse(open.changed));
        found.truncate(most);
        found
    }

    /// Number of requests that this target works on.
    pub(crate) fn at_target(&self, target: &str) -> usize {
        let at = |open: &&OpenRequest| open.phase.target() == Some(target);
        let shards = self.shards.iter();
        shards
            .map(|shard| lock(shard).values().filter(at).count())
            .sum()
    }

    /// The number of the last change.
    pub(crate) fn last_change(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    fn next_change(&self) -> u64 {
        self.changes.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn shard(&self, id: &str) -> MutexGuard<'_, Shard> {
        // Uses other bits than the choice of the shard.
        let hash = IdState::default().hash_one(id) >> 32;
        lock(&self.shards[hash as usize % SHARDS])
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use crate::identity::CallerIdentity;
    use std::time::Duration;

    use super::*;
    use crate::record::RequestKind;

    fn start(open: &OpenRequests, id: &str) -> Arc<str> {
        let id: Arc<str> = id.into();
        open.insert(&StartedRequest {
            id: &id,
            dialect: &Dialect::new("openai-chat"),
            kind: RequestKind::Generate,
            client: None,
            arrived: SystemTime::UNIX_EPOCH,
        });
        id
    }

    fn call<'a>(
        id: &'a Arc<str>,
        number: u32,
        kind: AttemptKind,
        target: &'a str,
    ) -> StartedCall<'a> {
        static REQUEST: LazyLock<(CallerIdentity, Arc<str>)> = LazyLock::new(Default::default);
        StartedCall {
            id,
            number,
            kind,
            target,
            at: Duration::ZERO,
            caller: &REQUEST.0,
            model: &REQUEST.1,
            input_estimate: 0,
            cost_estimate: None,
        }
    }

    #[test]
    fn a_request_goes_through_its_phases_and_counts_its_attempts() {
        let open = OpenRequests::default();
        let id = start(&open, "one");
        assert_eq!(open.get("one").unwrap().phase, Phase::Queued);
        for (kind, target, phase, attempts) in [
            (
                AttemptKind::Describe,
                "d/v",
                Phase::Describing("d/v".into()),
                0,
            ),
            (AttemptKind::Answer, "a/x", Phase::Calling("a/x".into()), 1),
            (AttemptKind::Answer, "b/y", Phase::Calling("b/y".into()), 2),
        ] {
            open.update("one", |request| {
                request.calling(&call(&id, 1, kind, target))
            });
            let now = open.get("one").unwrap();
            assert_eq!((now.phase, now.attempts), (phase, attempts));
        }
        open.update("one", OpenRequest::streaming);
        assert_eq!(
            open.get("one").unwrap().phase,
            Phase::Streaming("b/y".into())
        );
        assert_eq!(open.at_target("b/y"), 1);
        open.remove("one");
        assert!(open.get("one").is_none());
        assert_eq!(open.at_target("b/y"), 0);
    }

    #[test]
    fn changes_are_found_by_number_latest_first() {
        let open = OpenRequests::default();
        for n in 0..100 {
            start(&open, &n.to_string());
        }
        let seen = open.last_change();
        assert!(open.changed_since(seen, 10).is_empty());
        open.update("7", |_| {});
        open.update("3", |_| {});
        let ids: Vec<_> = open
            .changed_since(seen, 10)
            .into_iter()
            .map(|it| it.id)
            .collect();
        assert_eq!(ids, ["3".into(), "7".into()] as [Arc<str>; 2]);
        assert_eq!(open.changed_since(0, 5).len(), 5);
    }
}
