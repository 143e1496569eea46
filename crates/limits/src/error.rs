//! Errors of acquiring units.

/// Why units cannot be acquired, even by waiting longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// The maximum number of waiters is reached.
    #[error("the queue is full")]
    QueueFull,
    /// The request exceeds the semaphore's capacity.
    #[error("the request exceeds the semaphore's capacity")]
    TooLarge,
}
