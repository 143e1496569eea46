//! Renders changes once for all readers, a few times per second.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use majordomo_page::RequestRow;
use tokio::sync::broadcast::{Receiver, Sender};
use tokio::time::{Instant, sleep};

use super::event;
use super::stream::EventStream;
use crate::live::LiveFeed;
use crate::operator::lifetime::Lifetime;
use crate::operator::page::{now, rows};
use crate::traces::Traces;
use crate::trust::Visible;

/// How often changes are looked for while there is a reader.
const TICK: Duration = Duration::from_millis(200);
/// The same, while only a sample is sent.
const TICK_UNDER_LOAD: Duration = Duration::from_secs(2);
/// How often the figures of the last hour are sent.
const FIGURES: Duration = Duration::from_secs(2);
/// Rows per second under load, more than a person can read, and the maximum burst.
const ROWS_PER_SECOND: f64 = 12.0;
const BURST: f64 = 24.0;
/// Batches by which a slow reader may fall behind before it loses some.
const BACKLOG: usize = 32;
/// Rows that a new reader gets first, so that nothing is missed between page and stream.
const FIRST_ROWS: usize = 24;

/// Publishes changes of the live feed to all readers.
pub(in crate::operator) struct Publisher {
    feed: Arc<LiveFeed>,
    traces: Arc<Traces>,
    plain: Sender<Bytes>,
    with_rows: Sender<Bytes>,
}

impl Publisher {
    pub(in crate::operator) fn new(feed: Arc<LiveFeed>, traces: Arc<Traces>) -> Self {
        Self {
            feed,
            traces,
            plain: Sender::new(BACKLOG),
            with_rows: Sender::new(BACKLOG),
        }
    }

    /// Events from now on, after the latest requests.
    pub(in crate::operator) fn subscribe(
        &self,
        with_rows: bool,
        lifetime: Lifetime,
        is_valid: Box<dyn Fn() -> bool + Send + Sync>,
    ) -> EventStream {
        let reader = self.feed.read();
        let receiver: Receiver<Bytes> = match with_rows {
            true => self.with_rows.subscribe(),
            false => self.plain.subscribe(),
        };
        // Also flushes the head, so that the browser knows the stream is open.
        let mut first = String::from("retry: 2000\n\n");
        for row in rows::latest(&self.feed, &self.traces, FIRST_ROWS, &Visible::All)
            .iter()
            .rev()
        {
            event::write(&mut first, row, with_rows);
        }
        EventStream::new(first.into(), receiver, lifetime, reader, is_valid)
    }

    /// Publishes until dropped.
    pub(in crate::operator) async fn run(&self) {
        let mut batch = Batch::new(Instant::now());
        let mut figures = Figures::default();
        let mut tick = TICK;
        loop {
            if !self.feed.has_readers() {
                self.feed.reader_arrived().await;
                batch = Batch::new(Instant::now());
                batch.seen = self.feed.open.last_change();
                continue;
            }
            sleep(tick).await;
            let now = Instant::now();
            let changes = batch.changes(&self.feed, now);
            tick = match changes.skipped {
                0 => TICK,
                _ => TICK_UNDER_LOAD,
            };
            figures.changed |= !changes.is_empty();
            let with_figures = figures.are_due(now);
            self.publish(&changes, with_figures);
        }
    }

    /// Sends everything at once: each reader costs a wake-up and a write per batch.
    fn publish(&self, changes: &Changes, with_figures: bool) {
        for (sender, with_rows) in [(&self.plain, false), (&self.with_rows, true)] {
            if sender.receiver_count() == 0 {
                continue;
            }
            let mut out = changes.text(with_rows);
            if with_rows && with_figures {
                event::write_last_hour(&mut out, &now::last_hour_html(&self.feed));
            }
            if !out.is_empty() {
                // Fails only without receivers.
                let _ = sender.send(out.into());
            }
        }
    }
}

/// When the figures of the last hour are sent next.
#[derive(Default)]
struct Figures {
    changed: bool,
    sent: Option<Instant>,
}

impl Figures {
    /// Whether they changed and have not been sent yet.
    fn are_due(&mut self, now: Instant) -> bool {
        let rested = |sent| now.saturating_duration_since(sent) >= FIGURES;
        let due = self.changed && self.sent.is_none_or(rested);
        if due {
            (self.changed, self.sent) = (false, Some(now));
        }
        due
    }
}

/// What readers have received, and how many rows may still be sent to them.
struct Batch {
    /// The number of the last change that was processed.
    seen: u64,
    /// Requests that readers know as running. Their end is always sent.
    running: HashSet<Arc<str>>,
    allowance: f64,
    filled: Instant,
}

/// The data sent at one tick.
#[derive(Default)]
struct Changes {
    rows: Vec<RequestRow>,
    /// Ids of requests that ended and are not among the rows.
    ended: Vec<Arc<str>>,
    skipped: usize,
}

impl Changes {
    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.ended.is_empty() && self.skipped == 0
    }

    fn text(&self, with_rows: bool) -> String {
        let mut out = String::new();
        for row in &self.rows {
            event::write(&mut out, row, with_rows);
        }
        for id in &self.ended {
            event::write_ended(&mut out, id);
        }
        if self.skipped > 0 {
            event::write_skipped(&mut out, self.skipped);
        }
        out
    }
}

impl Batch {
    fn new(now: Instant) -> Self {
        Self {
            seen: 0,
            running: HashSet::new(),
            allowance: BURST,
            filled: now,
        }
    }

    fn changes(&mut self, feed: &LiveFeed, now: Instant) -> Changes {
        let elapsed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.allowance = (self.allowance + elapsed * ROWS_PER_SECOND).min(BURST);
        self.filled = now;
        let mut changes = Changes::default();
        let finished = feed.take_finished();
        changes.skipped = finished.skipped;
        let mut ended = Vec::new();
        // The newest first: under load the older ones are left out.
        for record in finished.records.iter().rev() {
            let known = self.running.remove(&record.id);
            if self.take() {
                ended.push(rows::finished(record));
            } else if known {
                changes.ended.push(Arc::clone(&record.id));
                changes.skipped += 1;
            } else {
                changes.skipped += 1;
            }
        }
        let seen = feed.open.last_change();
        let most = self.allowance.max(0.0) as usize;
        let mut open = feed.open.changed_since(self.seen, most);
        self.seen = seen;
        open.sort_unstable_by_key(|open| open.arrived);
        for request in &open {
            self.allowance -= 1.0;
            self.running.insert(Arc::clone(&request.id));
            changes.rows.push(rows::open(request));
        }
        // Those whose record the queue had dropped.
        self.running.retain(|id| {
            let runs = feed.open.contains(id);
            if !runs {
                changes.ended.push(Arc::clone(id));
            }
            runs
        });
        changes.rows.extend(ended.into_iter().rev());
        changes
    }

    fn take(&mut self) -> bool {
        let may = self.allowance >= 1.0;
        if may {
            self.allowance -= 1.0;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use majordomo::llm::Dialect;
    use tokio::sync::broadcast::error::TryRecvError;
    use tokio::time::timeout;

    use super::*;
    use crate::record::{FinishedRequest, RequestKind, RequestSink, StartedRequest};

    fn start(feed: &LiveFeed, id: &str) {
        feed.started(&StartedRequest {
            id: &id.into(),
            dialect: &Dialect::new("openai-chat"),
            kind: RequestKind::Generate,
            client: None,
            arrived: SystemTime::UNIX_EPOCH,
        });
    }

    fn end(feed: &LiveFeed, id: &str) {
        feed.finished(&Arc::new(FinishedRequest {
            id: id.into(),
            kind: RequestKind::Generate,
            ..FinishedRequest::default()
        }));
    }

    fn ids(changes: &Changes) -> Vec<&str> {
        changes.rows.iter().map(|row| row.id.as_str()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_sent_when_it_starts_and_when_it_ends() {
        let feed = Arc::new(LiveFeed::default());
        let _reader = feed.read();
        let mut batch = Batch::new(Instant::now());
        start(&feed, "one");
        let changes = batch.changes(&feed, Instant::now());
        assert_eq!(ids(&changes), ["one"]);
        assert!(
            batch.changes(&feed, Instant::now()).is_empty(),
            "nothing changed"
        );
        end(&feed, "one");
        let changes = batch.changes(&feed, Instant::now());
        assert_eq!((ids(&changes), changes.ended.len()), (vec!["one"], 0));
    }

    #[tokio::test(start_paused = true)]
    async fn the_figures_follow_a_change_and_rest_between() {
        let mut figures = Figures::default();
        let start = Instant::now();
        assert!(!figures.are_due(start), "nothing changed");
        figures.changed = true;
        assert!(figures.are_due(start));
        figures.changed = true;
        assert!(!figures.are_due(start + FIGURES / 2));
        assert!(figures.are_due(start + FIGURES));
        assert!(!figures.are_due(start + FIGURES * 9), "nothing changed");
    }

    #[tokio::test(start_paused = true)]
    async fn under_load_a_sample_is_sent_and_the_rest_is_counted() {
        let feed = Arc::new(LiveFeed::default());
        let _reader = feed.read();
        let mut batch = Batch::new(Instant::now());
        for n in 0..1_000 {
            start(&feed, &n.to_string());
            end(&feed, &n.to_string());
        }
        let changes = batch.changes(&feed, Instant::now());
        assert_eq!(changes.rows.len(), BURST as usize);
        assert_eq!(changes.rows.len() + changes.skipped, 1_000);
        assert_eq!(ids(&changes).last(), Some(&"999"));
    }

    /// A publisher of this feed, with its clock paused.
    fn publisher(feed: &Arc<LiveFeed>) -> Publisher {
        let traces = Traces::new(&crate::config::ServerSettings::default());
        Publisher::new(Arc::clone(feed), Arc::new(traces))
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stops_holds_a_bounded_number_of_bytes_and_is_told_what_it_missed() {
        let feed = Arc::new(LiveFeed::default());
        let publisher = publisher(&feed);
        let lifetime = Lifetime::new();
        let mut stopped = publisher.subscribe(true, lifetime.clone(), Box::new(|| true));
        let mut held = publisher.with_rows.subscribe();
        let busy = async {
            for n in 0..20_000 {
                start(&feed, &n.to_string());
                end(&feed, &n.to_string());
                sleep(Duration::from_millis(6)).await;
            }
        };
        tokio::select! {
            () = busy => {}
            () = publisher.run() => {}
        }
        // All readers share these batches.
        let mut bytes = 0;
        while let Ok(batch) = match held.try_recv() {
            Err(TryRecvError::Lagged(_)) => held.try_recv(),
            received => received,
        } {
            bytes += batch.len();
        }
        assert!(bytes > 0 && bytes < 3 << 20, "{bytes} bytes wait");
        // Its connection is over: nothing extended it.
        assert!(timeout(Duration::ZERO, lifetime.over()).await.is_ok());
        let mut text = String::new();
        while !text.contains("event: missed") {
            let chunk = std::future::poll_fn(|cx| stopped.poll(cx)).await.unwrap();
            text = String::from_utf8_lossy(&chunk).into_owned();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_request_that_was_shown_is_never_left_out() {
        let feed = Arc::new(LiveFeed::default());
        let _reader = feed.read();
        let mut batch = Batch::new(Instant::now());
        start(&feed, "shown");
        batch.changes(&feed, Instant::now());
        end(&feed, "shown");
        for n in 0..1_000 {
            end(&feed, &n.to_string());
        }
        let changes = batch.changes(&feed, Instant::now());
        assert_eq!(changes.ended, ["shown".into()] as [Arc<str>; 1]);
    }
}
