//! Why a store refused.

use std::path::PathBuf;

use rusqlite::ErrorCode;

/// A store that cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Written by a newer version of majordomo.
    #[error(
        "the ledger at {place} has schema {found} and this majordomo knows {known}; \
         upgrade majordomo, or set another `store` in [ledger]"
    )]
    Newer {
        /// The file or database.
        place: String,
        /// Its schema version.
        found: i64,
        /// The newest version that is known.
        known: i64,
    },
    /// The folder or a file cannot be used.
    #[error("the ledger's {path} cannot be used: {source}")]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// SQLite refused.
    #[error("the ledger at {path} cannot be used: {source}")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// PostgreSQL refused, or cannot be reached.
    #[error("the ledger at {place} cannot be used: {reason}")]
    Postgres {
        /// The server, without a password.
        place: String,
        /// The cause, with its own causes.
        reason: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store took too long.
    #[error("the ledger at {place} did not answer within {seconds} s")]
    Late {
        /// The server, without a password.
        place: String,
        /// The deadline.
        seconds: u64,
    },
    /// An operation that this store does not support.
    #[error("{0}")]
    Refused(String),
}

impl StoreError {
    /// Whether a file's contents are damaged, so that a retry is pointless.
    pub(super) fn is_damage(&self) -> bool {
        let Self::Sqlite { source, .. } = self else {
            return false;
        };
        let code = source.sqlite_error_code();
        let corrupt = [ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase];
        code.is_some_and(|code| corrupt.contains(&code))
            || matches!(source, rusqlite::Error::FromSqlConversionFailure(..))
    }
}
