//! Large answers are read off the async threads.
//!
//! A whole answer may have 32 MiB and take a second of CPU to read, during which a
//! thread of the runtime would serve nobody else. The blocking pool has hundreds of
//! threads, so how many of them read at the same time is bounded here.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use majordomo_llm::{Error, ErrorKind, Result};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Reading less than this takes less than 2 ms, however it is shaped.
const LARGE: usize = 64 * 1024;

/// Half of the cores may read.
static READERS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    Arc::new(Semaphore::new((cores / 2).max(1)))
});

/// Reads a body: here if it is small, else on a blocking thread.
pub(super) async fn read<T: Send + 'static>(
    body: Bytes,
    read: impl FnOnce(Bytes) -> Result<T> + Send + 'static,
) -> Result<T> {
    if body.len() <= LARGE {
        return read(body);
    }
    // Nobody closes the semaphore. The permit goes along: reading goes on when its
    // caller leaves.
    let permit = Arc::clone(&READERS).acquire_owned().await.ok();
    let reading = spawn_blocking(move || {
        let _permit = permit;
        read(body)
    });
    match reading.await {
        Ok(read) => read,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(Error::new(ErrorKind::Local, "the runtime is shutting down")),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn only_a_large_body_is_read_on_another_thread() {
        let here = thread::current().id();
        for (size, elsewhere) in [(LARGE, false), (LARGE + 1, true)] {
            let body = Bytes::from(vec![b' '; size]);
            let there = read(body, |_| Ok(thread::current().id())).await;
            assert_eq!(there.unwrap() != here, elsewhere, "{size}");
        }
    }

    #[tokio::test]
    async fn a_panic_of_the_reader_is_its_callers() {
        let body = Bytes::from(vec![b' '; LARGE + 1]);
        let caller = tokio::spawn(read(body, |_| -> Result<()> { panic!("a mistake") }));
        assert!(caller.await.unwrap_err().is_panic());
    }
}
