//! Decodes large responses off the async threads.
//!
//! A buffered response of 32 MiB can take a second of CPU time, which would block a
//! runtime thread. The blocking pool has hundreds of threads, so a semaphore limits
//! concurrent decoding.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use majordomo_llm::{Error, ErrorKind, Result};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Smaller bodies decode in less than 2 ms in the worst case.
const LARGE: usize = 64 * 1024;

/// Half of the cores may decode.
static DECODERS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    Arc::new(Semaphore::new((cores / 2).max(1)))
});

/// Decodes a body: inline if it is small, else on a blocking thread.
pub(super) async fn decode<T: Send + 'static>(
    body: Bytes,
    decode: impl FnOnce(Bytes) -> Result<T> + Send + 'static,
) -> Result<T> {
    if body.len() <= LARGE {
        return decode(body);
    }
    // The semaphore is never closed. The task owns the permit, because decoding
    // continues when the caller is cancelled.
    let permit = Arc::clone(&DECODERS).acquire_owned().await.ok();
    let task = spawn_blocking(move || {
        let _permit = permit;
        decode(body)
    });
    match task.await {
        Ok(decoded) => decoded,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(Error::new(
                ErrorKind::Cancelled,
                "the runtime is shutting down",
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn only_a_large_body_is_decoded_on_another_thread() {
        let here = thread::current().id();
        for (size, elsewhere) in [(LARGE, false), (LARGE + 1, true)] {
            let body = Bytes::from(vec![b' '; size]);
            let there = decode(body, |_| Ok(thread::current().id())).await;
            assert_eq!(there.unwrap() != here, elsewhere, "{size}");
        }
    }

    #[tokio::test]
    async fn a_panic_of_the_decoder_reaches_the_caller() {
        let body = Bytes::from(vec![b' '; LARGE + 1]);
        let caller = tokio::spawn(decode(body, |_| -> Result<()> { panic!("a bug") }));
        assert!(caller.await.unwrap_err().is_panic());
    }
}
