//! Keyed hashes instead of the names of end users.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::path::Path;

/// Replaces names with pseudonyms that only the holder of the key can recompute.
#[derive(Clone)]
pub struct Pseudonyms {
    key: [u8; 32],
}

impl Pseudonyms {
    /// Reads the key from a file, or creates one from `random`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or is missing and cannot be written.
    pub fn load(path: &Path, random: impl FnOnce() -> [u8; 32]) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(path) {
            Ok(mut file) => {
                let key = random();
                file.write_all(&key)?;
                file.sync_all()?;
                Ok(Self { key })
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let mut key = [0; 32];
                std::fs::File::open(path)?.read_exact(&mut key)?;
                Ok(Self { key })
            }
            Err(error) => Err(error),
        }
    }

    /// The pseudonym of a user.
    pub fn of(&self, user: &str) -> String {
        let hash = blake3::keyed_hash(&self.key, user.as_bytes());
        format!("user-{}", &hash.to_hex()[..24])
    }
}
