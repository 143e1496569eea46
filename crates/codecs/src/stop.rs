//! Cancellation of blocking work: a flag that codecs poll.
//!
//! The caller sets it on a timeout or when the request is cancelled. There is no clock
//! here.

use std::fmt;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::CodecError;

/// A shared flag that stops running work.
#[derive(Clone, Default)]
pub struct Stop(Arc<Flag>);

#[derive(Default)]
struct Flag {
    stopped: AtomicBool,
    condition: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl Stop {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// A flag that also counts as set while this condition holds. Work asks it at each poll, on
    /// its own thread: it must be fast.
    pub fn when(condition: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(Flag {
            stopped: AtomicBool::new(false),
            condition: Some(Box::new(condition)),
        }))
    }

    /// Stops the work at its next poll.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    pub fn is_stopped(&self) -> bool {
        let flag = &self.0;
        flag.stopped.load(Ordering::Relaxed) || flag.condition.as_ref().is_some_and(|holds| holds())
    }

    /// [`CodecError::Stopped`] once the flag is set.
    pub fn check(&self) -> Result<(), CodecError> {
        if self.is_stopped() {
            Err(CodecError::Stopped)
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stopped = self.0.stopped.load(Ordering::Relaxed);
        f.debug_tuple("Stop").field(&stopped).finish()
    }
}

/// A reader that fails once the flag is set.
///
/// It hands out small chunks, so that even a decoder that inflates a thousandfold polls the
/// flag often.
pub(crate) struct StoppableReader<'a> {
    data: &'a [u8],
    at: usize,
    stop: &'a Stop,
}

const PIECE: usize = 16 << 10;

impl<'a> StoppableReader<'a> {
    pub(crate) fn new(data: &'a [u8], stop: &'a Stop) -> Self {
        Self { data, at: 0, stop }
    }
}

impl Read for StoppableReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let piece = self.fill_buf()?;
        let length = piece.len().min(out.len());
        out[..length].copy_from_slice(&piece[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for StoppableReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.stop.is_stopped() {
            return Err(io::Error::other("stopped"));
        }
        let rest = self.data.get(self.at..).unwrap_or_default();
        Ok(&rest[..rest.len().min(PIECE)])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

impl Seek for StoppableReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => i128::from(at),
            SeekFrom::End(offset) => self.data.len() as i128 + i128::from(offset),
            SeekFrom::Current(offset) => self.at as i128 + i128::from(offset),
        };
        self.at = usize::try_from(target).map_err(|_| io::ErrorKind::InvalidInput)?;
        Ok(self.at as u64)
    }
}
