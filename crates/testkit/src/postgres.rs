//! Databases on the PostgreSQL server that `tests/postgres/run` starts.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::started;

/// A running server, on which each test creates its own database.
pub struct Postgres {
    url: String,
}

impl Postgres {
    /// The server of `tests/postgres/run`; `None` elsewhere.
    pub fn started() -> Option<Self> {
        let url = started("MAJORDOMO_POSTGRES")?;
        Some(Self { url })
    }

    /// The URL of a new, empty database.
    pub fn database(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        format!("{}/{name}", self.url)
    }

    /// The same server by the host name in its certificate.
    pub fn by_name(url: &str) -> String {
        url.replace("@127.0.0.1:", "@localhost:")
    }

    /// The file of the root that issued the server's certificate.
    pub fn root(&self) -> String {
        started("MAJORDOMO_POSTGRES_ROOT").expect("set together with MAJORDOMO_POSTGRES")
    }

    /// The output of `psql` for a statement, one line per row.
    pub fn sql(&self, database: &str, statement: &str) -> String {
        let url = format!("{}/{database}", self.url);
        psql(&url, statement)
    }
}

/// Runs a statement on the database of this URL.
fn psql(url: &str, statement: &str) -> String {
    let output = Command::new("psql")
        .args([url, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align"])
        .args(["--command", statement])
        .output()
        .expect("psql is beside the server");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{statement}: {error}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
