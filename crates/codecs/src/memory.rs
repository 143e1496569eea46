//! The memory of one job, counted before it is allocated.
//!
//! Every buffer whose size depends on the input is a [`Buffer`], or is preceded by a
//! [`Reservation`] for the allocations of a general crate. Both release their bytes when they
//! are dropped. Tables of a fixed size are not counted: the caller leaves some headroom for
//! them.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::CodecError;

/// A budget of bytes, shared by all buffers of a job.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Counter>);

#[derive(Debug)]
struct Counter {
    limit: u64,
    held: AtomicU64,
    peak: AtomicU64,
}

impl Memory {
    /// The maximum bytes at a time.
    pub fn new(limit: u64) -> Self {
        Self(Arc::new(Counter {
            limit,
            held: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        }))
    }

    /// The peak number of bytes.
    pub fn peak(&self) -> u64 {
        self.0.peak.load(Ordering::Relaxed)
    }

    /// Counts bytes that are about to be allocated.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<Reservation, CodecError> {
        let bytes = bytes as u64;
        let counter = &self.0;
        let held = counter.held.fetch_add(bytes, Ordering::Relaxed);
        let needed = held.saturating_add(bytes);
        if needed > counter.limit {
            counter.held.fetch_sub(bytes, Ordering::Relaxed);
            let allowed = counter.limit;
            return Err(CodecError::OverMemory { needed, allowed });
        }
        counter.peak.fetch_max(needed, Ordering::Relaxed);
        Ok(Reservation {
            memory: self.clone(),
            bytes,
        })
    }

    /// A buffer of zeros.
    pub(crate) fn zeroed<T: Copy + Default>(&self, length: usize) -> Result<Buffer<T>, CodecError> {
        let reservation = self.reserve(length.saturating_mul(size_of::<T>()))?;
        Ok(Buffer {
            data: vec![T::default(); length],
            reservation: Some(reservation),
        })
    }

    /// An empty buffer with room for this many values.
    pub(crate) fn with_room<T>(&self, length: usize) -> Result<Buffer<T>, CodecError> {
        let reservation = self.reserve(length.saturating_mul(size_of::<T>()))?;
        let mut data = Vec::new();
        data.reserve_exact(length);
        Ok(Buffer {
            data,
            reservation: Some(reservation),
        })
    }
}

/// Counted bytes, released when dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    memory: Memory,
    bytes: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.memory.0.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A vector whose bytes are counted.
///
/// A buffer that is converted from a `Vec` belongs to no job and is not counted.
#[derive(Debug)]
pub struct Buffer<T = u8> {
    data: Vec<T>,
    reservation: Option<Reservation>,
}

impl<T: Copy> Buffer<T> {
    /// Appends values; if necessary, grows by half, which is counted.
    pub(crate) fn append(&mut self, values: &[T]) -> Result<(), CodecError> {
        let needed = self.data.len() + values.len();
        if needed > self.data.capacity() {
            self.grow(needed.max(self.data.capacity() * 3 / 2))?;
        }
        self.data.extend_from_slice(values);
        Ok(())
    }

    /// The old and the new allocation exist at the same time.
    #[cold]
    fn grow(&mut self, length: usize) -> Result<(), CodecError> {
        if let Some(reservation) = &self.reservation {
            let larger = reservation.memory.reserve(length * size_of::<T>())?;
            self.data.reserve_exact(length - self.data.len());
            self.reservation = Some(larger);
        }
        Ok(())
    }

    /// Drops the values after the first `length`. The capacity stays allocated and counted.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.data.truncate(length);
    }

    /// Drops the first `count` values.
    pub(crate) fn remove_first(&mut self, count: usize) {
        self.data.drain(..count);
    }

    /// The number of values that fit without growing.
    pub(crate) fn room(&self) -> usize {
        self.data.capacity()
    }
}

impl Buffer {
    /// The bytes, no longer counted.
    pub fn into_vec(self) -> Vec<u8> {
        self.data
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.data
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(data: Vec<T>) -> Self {
        Self {
            data,
            reservation: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_while_they_are_held_and_never_beyond_the_limit() {
        let memory = Memory::new(100);
        let first = memory.zeroed::<u16>(30).unwrap();
        let refused = memory.zeroed::<u8>(41).unwrap_err();
        let over = CodecError::OverMemory {
            needed: 101,
            allowed: 100,
        };
        assert_eq!(refused, over);
        let second = memory.zeroed::<u8>(40).unwrap();
        drop(first);
        assert!(memory.zeroed::<u8>(60).is_ok());
        drop(second);
        assert_eq!(memory.peak(), 100);
    }

    #[test]
    fn growth_counts_both_allocations() {
        let memory = Memory::new(99);
        let mut buffer = memory.with_room(40).unwrap();
        buffer.append(&[7_u8; 40]).unwrap();
        buffer.append(&[8]).unwrap_err();
        let memory = Memory::new(100);
        let mut buffer = memory.with_room(40).unwrap();
        buffer.append(&[7_u8; 40]).unwrap();
        buffer.append(&[8]).unwrap();
        assert_eq!((buffer.len(), memory.peak()), (41, 100));
    }
}
