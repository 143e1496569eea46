//! The subjects of health, in a bounded table.
//!
//! Clients may name any model, so most names may be invented. Declared subjects (the
//! configuration's targets, credentials, those benched by hand) are always kept. At most
//! [`MAX_UNDECLARED`] other subjects are kept, besides those that a request or a chain is
//! using: healthy ones are evicted first, then benched ones, each least recently used first.

use std::collections::BTreeMap;
use std::sync::Arc;

use majordomo_llm::Fingerprint;

use super::subject::Subject;

/// Undeclared subjects kept.
pub(super) const MAX_UNDECLARED: usize = 1_024;
/// The longest name of an undeclared subject that is kept; no model has a longer one.
pub(super) const MAX_NAME: usize = 256;

#[derive(Default)]
pub(super) struct SubjectTable {
    entries: BTreeMap<String, SubjectEntry>,
    undeclared: usize,
    /// Undeclared subjects in use that could not be evicted last time.
    in_use: usize,
    uses: u64,
}

#[derive(Clone)]
struct SubjectEntry {
    subject: Arc<Subject>,
    /// The provider's address and key; a changed one starts healthy.
    identity: Option<Fingerprint>,
    declared: bool,
    used: u64,
}

impl SubjectTable {
    /// A known subject; does not count as a use.
    pub(super) fn get(&self, name: &str) -> Option<(Arc<Subject>, bool)> {
        let entry = self.entries.get(name)?;
        Some((Arc::clone(&entry.subject), entry.declared))
    }

    /// The subject of a name, created if it is new or its identity has changed.
    pub(super) fn subject(
        &mut self,
        name: &str,
        identity: Option<Fingerprint>,
        declared: bool,
        make: impl FnOnce() -> Subject,
    ) -> Arc<Subject> {
        self.uses += 1;
        if let Some(entry) = self.entries.get_mut(name) {
            entry.used = self.uses;
            if entry.identity.is_some() && entry.identity != identity {
                entry.subject = Arc::new(make());
            }
            entry.identity = identity;
            if declared && !entry.declared {
                entry.declared = true;
                self.undeclared -= 1;
            }
            return Arc::clone(&entry.subject);
        }
        let subject = Arc::new(make());
        if !declared {
            if name.len() > MAX_NAME {
                return subject;
            }
            self.make_room();
            self.undeclared += 1;
        }
        let entry = SubjectEntry {
            subject: Arc::clone(&subject),
            identity,
            declared,
            used: self.uses,
        };
        self.entries.insert(name.to_owned(), entry);
        subject
    }

    /// The subject of a name that must not be evicted, whatever its identity.
    pub(super) fn declare(&mut self, name: &str, make: impl FnOnce() -> Subject) -> Arc<Subject> {
        let identity = self.entries.get(name).and_then(|entry| entry.identity);
        self.subject(name, identity, true, make)
    }

    /// All subjects by name, and whether each was declared.
    pub(super) fn all(&self) -> Vec<(Arc<Subject>, bool)> {
        let entries = self.entries.values();
        entries
            .map(|entry| (Arc::clone(&entry.subject), entry.declared))
            .collect()
    }

    /// A table of the same subjects, whose targets must be declared again.
    pub(super) fn fork(&self) -> Self {
        let mut entries = self.entries.clone();
        let targets = entries.iter_mut().filter(|(name, _)| name.contains('/'));
        targets.for_each(|(_, entry)| entry.declared = false);
        let undeclared = entries.values().filter(|entry| !entry.declared).count();
        Self {
            entries,
            undeclared,
            in_use: 0,
            uses: self.uses,
        }
    }

    /// Forgets subjects whose identity has changed; `current` is the identity of the
    /// provider behind a subject's name.
    pub(super) fn forget_changed(&mut self, current: impl Fn(&str) -> Option<Fingerprint>) {
        self.entries
            .retain(|name, entry| entry.identity.is_none() || entry.identity == current(name));
        let undeclared = self.entries.values().filter(|entry| !entry.declared);
        self.undeclared = undeclared.count();
    }

    /// Evicts a quarter at once, so that a flood of names does not sort the table for each
    /// name.
    fn make_room(&mut self) {
        if self.undeclared < MAX_UNDECLARED.max(2 * self.in_use) {
            return;
        }
        let mut idle: Vec<(bool, u64, String)> = Vec::new();
        for (name, entry) in &self.entries {
            // Two handles of one name would not share benches.
            if !entry.declared && Arc::strong_count(&entry.subject) == 1 {
                idle.push((entry.subject.is_benched(), entry.used, name.clone()));
            }
        }
        idle.sort_unstable();
        let surplus = self.undeclared.saturating_sub(MAX_UNDECLARED / 4 * 3);
        for (_, _, name) in idle.iter().take(surplus) {
            self.entries.remove(name);
            self.undeclared -= 1;
        }
        self.in_use = self.undeclared.saturating_sub(MAX_UNDECLARED / 4 * 3);
    }
}
