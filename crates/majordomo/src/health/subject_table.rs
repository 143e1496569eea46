//! The subjects of health, in a bounded table.
//!
//! Clients may name any model, so most names may be inventions. Declared ones (the
//! configuration's targets, credentials, what was benched by hand) are always kept.
//! Of the others at most [`MOST_UNDECLARED`] stay beside those that a request or a
//! chain is using: healthy ones go first, then the benched, each least recently
//! used first.

use std::collections::BTreeMap;
use std::sync::Arc;

use majordomo_llm::Fingerprint;

use super::permit::Subject;

/// How many subjects that nobody declared are kept.
pub(super) const MOST_UNDECLARED: usize = 1_024;
/// A longer name is nobody's model: its health is forgotten with its request.
pub(super) const LONGEST_NAME: usize = 256;

#[derive(Default)]
pub(super) struct Table {
    entries: BTreeMap<String, Entry>,
    undeclared: usize,
    /// How many undeclared ones are in use and could not be evicted last time.
    in_use: usize,
    uses: u64,
}

#[derive(Clone)]
struct Entry {
    subject: Arc<Subject>,
    /// Whom it was asked as; another one starts healthy.
    identity: Option<Fingerprint>,
    declared: bool,
    used: u64,
}

impl Table {
    /// What is known of a subject, without asking for it.
    pub(super) fn get(&self, name: &str) -> Option<(Arc<Subject>, bool)> {
        let entry = self.entries.get(name)?;
        Some((Arc::clone(&entry.subject), entry.declared))
    }

    /// The subject of a name, made if it is new or asked as somebody else by now.
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
            if name.len() > LONGEST_NAME {
                return subject;
            }
            self.make_room();
            self.undeclared += 1;
        }
        let entry = Entry {
            subject: Arc::clone(&subject),
            identity,
            declared,
            used: self.uses,
        };
        self.entries.insert(name.to_owned(), entry);
        subject
    }

    /// The subject of a name that must not be forgotten, whoever it is asked as.
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

    /// A table of the same subjects. Its targets are to be declared anew.
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

    /// Forgets subjects that are asked as somebody else by now; `current` is the
    /// identity behind a subject's name.
    pub(super) fn forget_changed(&mut self, current: impl Fn(&str) -> Option<Fingerprint>) {
        self.entries
            .retain(|name, entry| entry.identity.is_none() || entry.identity == current(name));
        let undeclared = self.entries.values().filter(|entry| !entry.declared);
        self.undeclared = undeclared.count();
    }

    /// Evicts a quarter at once, so that a flood of names does not sort the table
    /// for each of them.
    fn make_room(&mut self) {
        if self.undeclared < MOST_UNDECLARED.max(2 * self.in_use) {
            return;
        }
        let mut idle: Vec<(bool, u64, String)> = Vec::new();
        for (name, entry) in &self.entries {
            // Two handles of one name would not see each other's benches.
            if !entry.declared && Arc::strong_count(&entry.subject) == 1 {
                idle.push((entry.subject.is_benched(), entry.used, name.clone()));
            }
        }
        idle.sort_unstable();
        let surplus = self.undeclared.saturating_sub(MOST_UNDECLARED / 4 * 3);
        for (_, _, name) in idle.iter().take(surplus) {
            self.entries.remove(name);
            self.undeclared -= 1;
        }
        self.in_use = self.undeclared.saturating_sub(MOST_UNDECLARED / 4 * 3);
    }
}
