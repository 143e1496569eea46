//! The output of encoders.

use std::io::{self, Write};

use crate::memory::Buffer;
use crate::{CodecError, Job};

/// Bytes allocated for the first part of a file.
const FIRST_ROOM: usize = 64 << 10;

/// A writer that fails once the budget is spent, the memory is used up or the work is
/// stopped, so that encoders end early.
pub(crate) struct BudgetedWriter<'a> {
    pub(crate) out: Buffer,
    budget: usize,
    failure: Option<WriteFailure>,
    job: &'a Job,
}

enum WriteFailure {
    OverBudget,
    Job(CodecError),
}

impl<'a> BudgetedWriter<'a> {
    pub(crate) fn new(budget: Option<u64>, job: &'a Job) -> Result<Self, CodecError> {
        Ok(Self {
            out: job.memory.with_room(FIRST_ROOM)?,
            budget: budget.map_or(usize::MAX, |bytes| {
                usize::try_from(bytes).unwrap_or(usize::MAX)
            }),
            failure: None,
            job,
        })
    }

    /// The file; `None` if it exceeds the budget. Some encoders ignore that their last bytes
    /// were not written.
    pub(crate) fn finish(
        self,
        written: Result<(), CodecError>,
    ) -> Result<Option<Vec<u8>>, CodecError> {
        match self.failure {
            Some(WriteFailure::OverBudget) => Ok(None),
            Some(WriteFailure::Job(error)) => Err(error),
            None => written.map(|()| Some(self.out.into_vec())),
        }
    }

    fn fail(&mut self, failure: WriteFailure) -> io::Error {
        self.failure = Some(failure);
        io::Error::other("not written")
    }
}

impl Write for BudgetedWriter<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if let Err(stopped) = self.job.check() {
            return Err(self.fail(WriteFailure::Job(stopped)));
        }
        if self.out.len() + data.len() > self.budget {
            return Err(self.fail(WriteFailure::OverBudget));
        }
        match self.out.append(data) {
            Ok(()) => Ok(data.len()),
            Err(error) => Err(self.fail(WriteFailure::Job(error))),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
