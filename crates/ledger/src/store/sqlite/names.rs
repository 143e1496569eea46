//! Names as small numbers, within one file.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::FastMap;

/// Names in the cache before it is cleared.
const REMEMBERED: usize = 4_096;

/// The names of a file. Valid for as long as no transaction is rolled back.
#[derive(Default)]
pub(super) struct NameIds {
    known: FastMap<Box<str>, i64>,
}

impl NameIds {
    /// The number of a name; 0 is the empty one.
    pub(super) fn id(&mut self, db: &Connection, name: Option<&str>) -> rusqlite::Result<i64> {
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Ok(0);
        };
        if let Some(id) = self.known.get(name) {
            return Ok(*id);
        }
        let id = match find(db, name)? {
            Some(id) => id,
            None => {
                let mut insert = db.prepare_cached("INSERT INTO name (text) VALUES (?1)")?;
                insert.insert(params![name])?
            }
        };
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(name.into(), id);
        Ok(id)
    }

    /// Forgets what is remembered.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }
}

/// The number of an existing name.
pub(super) fn find(db: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
    let mut select = db.prepare_cached("SELECT id FROM name WHERE text = ?1")?;
    select.query_row(params![name], |row| row.get(0)).optional()
}

/// All names of a file, by number.
pub(super) fn all(db: &Connection) -> rusqlite::Result<HashMap<i64, String>> {
    let mut select = db.prepare_cached("SELECT id, text FROM name")?;
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}
