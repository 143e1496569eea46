//! Usage of each key, read from the ledger at most every few seconds.
//!
//! One query serves all keys, so that clients that request their own state cannot overload the
//! store.

use std::sync::Arc;
use std::time::Duration;

use majordomo_ledger::{Day, GroupBy, Store, StoreError, UsageQuery, UsageRow, UsageSums};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::ledger_sink::{LedgerSink, now_millis};

/// How long a result is reused.
const FRESH: Duration = Duration::from_secs(2);

/// The latest result.
#[derive(Default)]
pub(super) struct UsageByKey(Arc<Mutex<Option<LatestUsage>>>);

/// When the store was queried, with the result; `None` if it could not be read.
type LatestUsage = (Instant, Option<Arc<KeyUsage>>);

/// Sums by key.
#[derive(Default)]
pub(super) struct KeyUsage {
    today: Vec<UsageRow>,
    thirty_days: Vec<UsageRow>,
}

impl KeyUsage {
    /// The totals of a key: for the current day in UTC, and for thirty days.
    pub(super) fn of(&self, key: &str) -> (UsageSums, UsageSums) {
        let find = |rows: &[UsageRow]| {
            let found = rows.iter().find(|row| row.group == [key]);
            found.map(|row| row.sums).unwrap_or_default()
        };
        (find(&self.today), find(&self.thirty_days))
    }
}

impl UsageByKey {
    /// The totals of all keys. `None` if the store cannot be read.
    pub(super) async fn read(&self, ledger: Arc<LedgerSink>) -> Option<Arc<KeyUsage>> {
        // One query at a time, which keeps the guard, so that a caller that leaves causes no
        // second query. A failure is also cached.
        let mut latest = Arc::clone(&self.0).lock_owned().await;
        if let Some((read, usage)) = &*latest
            && read.elapsed() < FRESH
        {
            return usage.clone();
        }
        let asked = tokio::task::spawn_blocking(move || {
            ledger.flush();
            let usage = ledger.open().and_then(|mut store| sums(&mut *store));
            let usage = usage.ok().map(Arc::new);
            *latest = Some((Instant::now(), usage.clone()));
            usage
        });
        asked.await.ok()?
    }
}

fn sums(store: &mut dyn Store) -> Result<KeyUsage, StoreError> {
    let now = now_millis();
    let today = Day::of_millis(now);
    let mut since = |since_millis| {
        store.usage(&UsageQuery {
            since_millis,
            until_millis: now,
            by: vec![GroupBy::Key],
            utc_offset_minutes: 0,
            as_recorded: false,
        })
    };
    Ok(KeyUsage {
        today: since(today.start_millis())?,
        thirty_days: since(today.minus(29).start_millis())?,
    })
}
