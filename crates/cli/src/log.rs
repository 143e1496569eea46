//! Log lines that never make a request wait.
//!
//! Lines go through a bounded queue to a thread that writes them. If whoever
//! reads them has stopped, lines are dropped and counted, and the count goes out
//! with the next lines that do. Lines that come close together are written
//! together: waking the thread for each would cost more than the line.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// So many lines may wait.
const WAITING: usize = 4_096;
/// So long others may join a line before it is written.
const GATHER: Duration = Duration::from_millis(2);
/// So much is written at once, about.
const TOGETHER: usize = 64 * 1024;
/// How long the last lines may take.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Where lines are put.
#[derive(Clone)]
pub(crate) struct Log {
    queue: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

enum Message {
    Line(Vec<u8>),
    /// Everything before this is written.
    Flush(SyncSender<()>),
}

impl Log {
    /// A log whose lines go here.
    pub(crate) fn new(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, lines) = sync_channel(WAITING);
        let dropped = Arc::<AtomicU64>::default();
        let lost = Arc::clone(&dropped);
        let thread = std::thread::Builder::new().name("log".to_owned());
        thread.spawn(move || write(&lines, &lost, out))?;
        Ok(Self { queue, dropped })
    }

    /// Waits a short while until the lines so far are written; says whether they are.
    pub(crate) fn flush(&self) -> bool {
        let (done, written) = sync_channel(1);
        let asked = self.queue.try_send(Message::Flush(done)).is_ok();
        asked && written.recv_timeout(LAST_LINES).is_ok()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a thread of its own, on which no request waits"
)]
fn write(lines: &Receiver<Message>, dropped: &AtomicU64, mut out: impl Write) {
    let mut together = Vec::new();
    while let Ok(first) = lines.recv() {
        if matches!(first, Message::Line(_)) {
            std::thread::sleep(GATHER);
        }
        let mut next = Some(first);
        let mut waiting = None;
        while let Some(message) = next {
            match message {
                Message::Line(line) => together.extend_from_slice(&line),
                Message::Flush(done) => waiting = Some(done),
            }
            let more = waiting.is_none() && together.len() < TOGETHER;
            next = more.then(|| lines.try_recv().ok()).flatten();
        }
        // Counted last, since lines are dropped while others are gathered.
        let lost = dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ = writeln!(
                together,
                "{lost} log lines were dropped: they were not read"
            );
        }
        // Nobody is left to tell when the log itself cannot be written.
        let _ = out.write_all(&together).and_then(|()| out.flush());
        together.clear();
        if let Some(done) = waiting {
            let _ = done.send(());
        }
    }
}

/// The log's formatter gives one whole line at a time.
impl Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.queue.try_send(Message::Line(line.to_vec())).is_err() {
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

    /// A pipe that nobody reads while the gate is held.
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

    #[test]
    fn a_reader_that_stops_costs_lines_but_nobody_waits() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut log = Log::new(Pipe(Arc::clone(&seen))).unwrap();
        let gate = seen.lock().unwrap();
        for _ in 0..2 * WAITING {
            log.write_all(b"line\n").unwrap();
        }
        drop(gate);
        // It finds no room as long as the queue is full.
        while !log.flush() {}
        let text = String::from_utf8(seen.lock().unwrap().clone()).unwrap();
        assert!(text.matches("line\n").count() >= WAITING, "{}", text.len());
        assert!(text.contains("log lines were dropped"));
    }

    #[test]
    fn a_flush_waits_for_the_lines_before_it() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut log = Log::new(Pipe(Arc::clone(&seen))).unwrap();
        log.write_all(b"first\nsecond\n").unwrap();
        assert!(log.flush());
        assert_eq!(*seen.lock().unwrap(), b"first\nsecond\n");
    }
}
