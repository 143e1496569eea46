//! Sums of rows while they are inserted: a batch is rolled up without reading it again.

use std::collections::HashMap;

use crate::civil::quarter_of_millis;
use crate::report::UsageSums;
use crate::rows::{AttemptRow, RequestRow, SettleClass};

use super::day_file::{InsertedAttempt, RequestNames};
use super::rollup::{DaySums, RollupSums};

/// Sums of rows that were just inserted and need not be read again.
pub(super) struct FreshSums {
    /// The last attempt before them.
    pub(super) after: i64,
    pub(super) day: DaySums,
    /// The day's names that the sums use, by number.
    pub(super) texts: HashMap<i64, String>,
}

impl FreshSums {
    /// No sums yet, of what follows this attempt.
    pub(super) fn after(attempt: i64) -> Self {
        let day = DaySums {
            last_attempt: attempt,
            ..DaySums::default()
        };
        Self {
            after: attempt,
            day,
            texts: HashMap::new(),
        }
    }

    /// Adds an attempt.
    pub(super) fn add(
        &mut self,
        request: &RequestRow,
        names: RequestNames,
        attempt: &AttemptRow,
        inserted: InsertedAttempt,
    ) {
        let sums = sums_of(attempt);
        let quarter = quarter_of_millis(request.id.millis());
        let group = [names.key, names.team, names.model, inserted.target];
        let entry = self.day.groups.entry((quarter, group));
        let entry = entry.or_insert_with(|| {
            let texts = [
                request.key.as_deref(),
                request.team.as_deref(),
                Some(&*request.model),
                Some(&*attempt.target),
            ];
            for (id, text) in group.into_iter().zip(texts) {
                self.texts.insert(id, text.unwrap_or_default().to_owned());
            }
            RollupSums::default()
        });
        entry.sums.add(&sums);
        if names.tags != 0 {
            let entry = self.day.tags.entry((quarter, names.tags));
            let entry = entry.or_insert_with(|| {
                self.texts.insert(names.tags, request.tags.join(","));
                RollupSums::default()
            });
            entry.sums.add(&sums);
        }
        self.day.last_attempt = inserted.seq;
    }
}

/// What an attempt adds.
fn sums_of(row: &AttemptRow) -> UsageSums {
    let used = &row.used;
    let charged = row.charged();
    let estimated = matches!(row.settle, SettleClass::Partial | SettleClass::Estimated);
    UsageSums {
        requests: u64::from(row.number == 1),
        attempts: 1,
        input: used.input,
        cache_read: used.cache_read,
        cache_write_5m: used.cache_write_5m,
        cache_write_1h: used.cache_write_1h,
        output: used.output,
        reasoning: used.reasoning,
        images: used.images,
        cost: charged.unwrap_or_default(),
        unpriced: u64::from(charged.is_none()),
        estimated: u64::from(estimated),
        lost: u64::from(row.settle == SettleClass::Lost),
    }
}
