//! Why units were not granted.

/// A refusal that waiting longer does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// As many wait already as may.
    #[error("the queue is full")]
    QueueFull,
    /// The semaphore never has so many units.
    #[error("more units were asked for than there are")]
    TooLarge,
}
