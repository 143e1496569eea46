//! The requests that a day's file has, without querying the file for each.

use crate::request_id::RequestId;

use super::FastSet;

/// Requests cached one by one, before the older half is dropped.
const REMEMBERED: usize = 65_536;

/// The requests of a file. Ids sort by time of arrival, so a request that is neither cached
/// nor below the highest uncached one is new.
#[derive(Default)]
pub(super) struct KnownIds {
    newer: FastSet<RequestId>,
    older: FastSet<RequestId>,
    /// The highest request that is in the file and not cached.
    highest_forgotten: Option<RequestId>,
}

/// Whether a request is in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Stored,
    New,
    /// The file has to be queried.
    Unclear,
}

impl KnownIds {
    /// For a file whose highest request is this one.
    pub(super) fn of_file(highest: Option<RequestId>) -> Self {
        Self {
            highest_forgotten: highest,
            ..Self::default()
        }
    }

    pub(super) fn lookup(&self, id: RequestId) -> Known {
        if self.newer.contains(&id) || self.older.contains(&id) {
            Known::Stored
        } else if Some(id) > self.highest_forgotten {
            Known::New
        } else {
            Known::Unclear
        }
    }

    /// Caches written requests.
    pub(super) fn extend(&mut self, ids: impl Iterator<Item = RequestId>) {
        self.newer.extend(ids);
        if self.newer.len() >= REMEMBERED {
            let forgotten = std::mem::replace(&mut self.older, std::mem::take(&mut self.newer));
            self.highest_forgotten = self.highest_forgotten.max(forgotten.into_iter().max());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_new_unless_it_is_remembered_or_may_have_been_forgotten() {
        let id = |n: usize| RequestId::new(n as i64, 1);
        let mut ids = KnownIds::of_file(Some(id(10)));
        assert_eq!(ids.lookup(id(10)), Known::Unclear);
        assert_eq!(ids.lookup(id(11)), Known::New);
        ids.extend([id(11)].into_iter());
        assert_eq!(ids.lookup(id(11)), Known::Stored);
        for start in [100, 100 + REMEMBERED, 100 + 2 * REMEMBERED] {
            ids.extend((start..start + REMEMBERED).map(id));
        }
        assert_eq!(ids.lookup(id(11)), Known::Unclear, "forgotten");
        assert_eq!(ids.lookup(id(99 + 3 * REMEMBERED)), Known::Stored);
        assert_eq!(ids.lookup(id(100 + 3 * REMEMBERED)), Known::New);
    }
}
