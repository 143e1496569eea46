//! A bounded file of entries that wait for the store.
//!
//! One JSON object per line, appended. Entries are delivered from the front, and the file is
//! removed once all have been. A crash in between delivers some twice, which stores tolerate.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crate::rows::LedgerEntry;

/// Entries delivered at a time.
const CHUNK: usize = 1_024;

/// The spool's file.
pub(super) struct Spool {
    path: PathBuf,
    limit: u64,
    /// Bytes that were delivered.
    delivered: u64,
    length: u64,
}

impl Spool {
    /// A spool that continues an earlier run's.
    pub(super) fn new(path: PathBuf, limit: u64) -> Self {
        let length = std::fs::metadata(&path).map_or(0, |file| file.len());
        Self {
            path,
            limit,
            delivered: 0,
            length,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.delivered >= self.length
    }

    /// Appends finished requests, and returns how many fit. An open attempt need not be kept:
    /// by the time of its delivery, its request is finished or lost.
    pub(super) fn append<'a>(
        &mut self,
        entries: impl Iterator<Item = &'a LedgerEntry>,
    ) -> io::Result<usize> {
        let mut text = Vec::new();
        let mut count = 0;
        for entry in entries {
            if matches!(entry, LedgerEntry::Opened(_)) {
                continue;
            }
            let before = text.len();
            serde_json::to_writer(&mut text, entry)?;
            text.push(b'\n');
            if self.length + text.len() as u64 > self.limit {
                text.truncate(before);
                break;
            }
            count += 1;
        }
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path)?;
        if let Err(error) = file.write_all(&text).and_then(|()| file.sync_data()) {
            // A half-written line would hide the next one.
            let _ = file.set_len(self.length);
            return Err(error);
        }
        self.length += text.len() as u64;
        Ok(count)
    }

    /// The next entries, and the position after them.
    pub(super) fn next_chunk(&self) -> io::Result<(Vec<LedgerEntry>, u64)> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.delivered))?;
        let mut lines = BufReader::new(file);
        let mut position = self.delivered;
        let mut entries = Vec::new();
        let mut line = Vec::new();
        while entries.len() < CHUNK {
            line.clear();
            let read = lines.read_until(b'\n', &mut line)?;
            if read == 0 {
                position = self.length;
                break;
            }
            position += read as u64;
            // A line that a crash cut short is not an entry.
            entries.extend(serde_json::from_slice::<LedgerEntry>(&line).ok());
        }
        Ok((entries, position))
    }

    /// Marks everything before `position` as delivered.
    pub(super) fn mark_delivered(&mut self, position: u64) -> io::Result<()> {
        self.delivered = position;
        if self.is_empty() {
            std::fs::remove_file(&self.path)?;
            (self.delivered, self.length) = (0, 0);
        }
        Ok(())
    }
}
