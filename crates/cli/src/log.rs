//! A log that never blocks a request.
//!
//! Lines pass through a bounded queue to a thread that writes them. If the reader of the log
//! stalls, lines are dropped and counted, and the count is written with the next lines.
//! Lines that arrive close together are written together: waking the thread for each would
//! cost more than the line.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use majordomo_gateway::config::LogFormat;

use crate::log_json;

/// Lines that may be queued.
const QUEUE_LINES: usize = 4_096;
/// How long a line waits for others before it is written.
const BATCH_DELAY: Duration = Duration::from_millis(2);
/// Approximate size of one write.
const BATCH_BYTES: usize = 64 * 1024;
/// Timeout of the final flush.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The sending end of the log.
#[derive(Clone)]
pub(crate) struct Log {
    queue: SyncSender<LogMessage>,
    dropped: Arc<AtomicU64>,
}

enum LogMessage {
    Line(Vec<u8>),
    /// Confirms when everything before it is written.
    Flush(SyncSender<()>),
}

impl Log {
    /// A log that writes to `out`. Its own notices have this format.
    pub(crate) fn new(out: impl Write + Send + 'static, format: LogFormat) -> io::Result<Self> {
        let (queue, lines) = sync_channel(QUEUE_LINES);
        let dropped = Arc::<AtomicU64>::default();
        let lost = Arc::clone(&dropped);
        let thread = std::thread::Builder::new().name("log".to_owned());
        thread.spawn(move || write(&lines, &lost, format, out))?;
        Ok(Self { queue, dropped })
    }

    /// Waits briefly for the queued lines; returns whether they were written.
    pub(crate) fn flush(&self) -> bool {
        let (done, written) = sync_channel(1);
        let queued = self.queue.try_send(LogMessage::Flush(done)).is_ok();
        queued && written.recv_timeout(FLUSH_TIMEOUT).is_ok()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "runs on its own thread, which no request waits for"
)]
fn write(
    lines: &Receiver<LogMessage>,
    dropped: &AtomicU64,
    format: LogFormat,
    mut out: impl Write,
) {
    let mut batch = Vec::new();
    while let Ok(first) = lines.recv() {
        if matches!(first, LogMessage::Line(_)) {
            std::thread::sleep(BATCH_DELAY);
        }
        let mut next = Some(first);
        let mut waiting = None;
        while let Some(message) = next {
            match message {
                LogMessage::Line(line) => batch.extend_from_slice(&line),
                LogMessage::Flush(done) => waiting = Some(done),
            }
            let more = waiting.is_none() && batch.len() < BATCH_BYTES;
            next = more.then(|| lines.try_recv().ok()).flatten();
        }
        // Counted last, since lines are dropped while others are collected.
        let lost = dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let notice = format!("dropped {lost} log lines: the reader of the log is too slow");
            batch.extend_from_slice(
                match format {
                    LogFormat::Text => format!("{notice}\n"),
                    LogFormat::Json => log_json::message("WARN", &notice),
                }
                .as_bytes(),
            );
        }
        // A failed write of the log cannot be reported anywhere.
        let _ = out.write_all(&batch).and_then(|()| out.flush());
        batch.clear();
        if let Some(done) = waiting {
            let _ = done.send(());
        }
    }
}

/// tracing's formatter writes one whole line at a time.
impl Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self
            .queue
            .try_send(LogMessage::Line(line.to_vec()))
            .is_err()
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;

    /// A pipe that blocks while the mutex is held.
    struct Pipe(Arc<Mutex<Vec<u8>>>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            seen.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines written when twice as many as fit arrive at once.
    fn overflowed(format: LogFormat, line: &str) -> String {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut log = Log::new(Pipe(Arc::clone(&seen)), format).unwrap();
        let gate = seen.lock().unwrap();
        for _ in 0..2 * QUEUE_LINES {
            log.write_all(line.as_bytes()).unwrap();
        }
        drop(gate);
        // A flush finds no room while the queue is full.
        while !log.flush() {}
        String::from_utf8(seen.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn a_stalled_reader_costs_lines_but_blocks_no_writer() {
        let text = overflowed(LogFormat::Text, "line\n");
        assert!(
            text.matches("line\n").count() >= QUEUE_LINES,
            "{}",
            text.len()
        );
        assert!(text.contains(" log lines: the reader of the log is too slow"));
    }

    #[test]
    fn the_notice_of_lost_lines_has_the_format_of_the_others() {
        let text = overflowed(LogFormat::Json, "{}\n");
        let objects = text
            .lines()
            .map(serde_json::from_str::<serde_json::Value>)
            .collect::<Result<Vec<_>, _>>()
            .unwrap();
        let notice = objects.iter().find(|line| line["level"] == "WARN");
        let message = notice.and_then(|line| line["message"].as_str());
        assert!(message.unwrap().ends_with("is too slow"), "{message:?}");
    }

    #[test]
    fn a_flush_waits_for_the_lines_before_it() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut log = Log::new(Pipe(Arc::clone(&seen)), LogFormat::Text).unwrap();
        log.write_all(b"first\nsecond\n").unwrap();
        assert!(log.flush());
        assert_eq!(*seen.lock().unwrap(), b"first\nsecond\n");
    }
}
