//! Sums rows while they are inserted, so that a batch is rolled up without reading it again.

use std::collections::HashMap;

use crate::rows::FinishedRow;

use super::packed::PackedRequest;
use super::rollup::DaySums;

/// Sums of rows that were just inserted and need not be read again.
pub(super) struct FreshSums {
    /// The last batch before them.
    pub(super) after: i64,
    pub(super) day: DaySums,
    /// The day's names that the sums use, by number.
    pub(super) texts: HashMap<i64, String>,
}

impl FreshSums {
    /// Empty sums, for the rows that follow this batch.
    pub(super) fn after(batch: i64) -> Self {
        let day = DaySums {
            last_batch: batch,
            ..DaySums::default()
        };
        Self {
            after: batch,
            day,
            texts: HashMap::new(),
        }
    }

    /// Adds a request.
    pub(super) fn add(&mut self, packed: &PackedRequest, row: &FinishedRow) {
        let known = self.day.groups.len() + self.day.tags.len();
        self.day.add(packed);
        if self.day.groups.len() + self.day.tags.len() > known {
            self.add_texts(packed, row);
        }
    }

    fn add_texts(&mut self, packed: &PackedRequest, row: &FinishedRow) {
        let request = &row.request;
        let mut name = |id: i64, text: Option<&str>| {
            self.texts.insert(id, text.unwrap_or_default().to_owned());
        };
        name(packed.key, request.key.as_deref());
        name(packed.team, request.team.as_deref());
        name(packed.model, Some(&request.model));
        name(packed.tags, Some(&request.tags.join(",")));
        for (packed, attempt) in packed.attempts.iter().zip(&row.attempts) {
            name(packed.target, Some(&attempt.target));
        }
    }
}
