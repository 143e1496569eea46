//! The limits of one job: a flag that stops it, and a memory budget.

use crate::{CodecError, Memory, Stop};

/// The limits under which an image is decoded, scaled and encoded.
#[derive(Clone, Debug)]
pub struct Job {
    /// Ends the work early.
    pub stop: Stop,
    /// Counts every buffer.
    pub memory: Memory,
}

impl Job {
    /// A job that may hold at most this many bytes at a time.
    pub fn new(stop: Stop, max_bytes: u64) -> Self {
        Self {
            stop,
            memory: Memory::new(max_bytes),
        }
    }

    /// [`CodecError::Stopped`] once the flag is set.
    pub(crate) fn check(&self) -> Result<(), CodecError> {
        self.stop.check()
    }

    #[cfg(test)]
    pub(crate) fn unlimited() -> Self {
        Self::new(Stop::new(), u64::MAX)
    }
}
