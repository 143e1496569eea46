//! Sums of rows while they are inserted: a batch is rolled up without reading it again.

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
    /// No sums yet, of what follows this batch.
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
        let mut name = |id: i64, text: &dyn Fn() -> String| {
            self.texts.entry(id).or_insert_with(text);
        };
        let request = &row.request;
        let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().unwrap_or("").to_owned();
        name(packed.key, &|| text(&request.key));
        name(packed.team, &|| text(&request.team));
        name(packed.model, &|| request.model.to_string());
        name(packed.tags, &|| request.tags.join(","));
        for (packed, attempt) in packed.attempts.iter().zip(&row.attempts) {
            name(packed.target, &|| attempt.target.to_string());
        }
        self.day.add(packed);
    }
}
