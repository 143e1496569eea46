//! Names as small numbers, shared by all nodes.

use std::collections::{BTreeSet, HashMap};

use tokio_postgres::{Client, Error};

/// Names in the cache before it is cleared.
const REMEMBERED: usize = 16_384;

/// The numbers of names. 0 is the empty one.
#[derive(Default)]
pub(super) struct NameIds {
    known: HashMap<Box<str>, i32>,
}

impl NameIds {
    /// The number of a cached name.
    pub(super) fn id(&self, name: Option<&str>) -> i32 {
        let known = name.and_then(|name| self.known.get(name));
        known.copied().unwrap_or_default()
    }

    /// Looks up the numbers of names, and assigns numbers to new ones. Each is committed at
    /// once: a name without rows is harmless, and no transaction waits for another
    /// transaction's names.
    pub(super) async fn learn(
        &mut self,
        client: &Client,
        names: &BTreeSet<&str>,
    ) -> Result<(), Error> {
        let missing = |known: &Self| -> Vec<String> {
            let unknown = names
                .iter()
                .filter(|name| !known.known.contains_key(**name));
            unknown
                .filter(|name| !name.is_empty())
                .map(|name| (*name).to_owned())
                .collect()
        };
        if self.known.len() + names.len() > REMEMBERED {
            self.known.clear();
        }
        let wanted = missing(self);
        if wanted.is_empty() {
            return Ok(());
        }
        self.read(client, &wanted).await?;
        let new = missing(self);
        if new.is_empty() {
            return Ok(());
        }
        let insert = "INSERT INTO name (text) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING";
        client.execute(insert, &[&new]).await?;
        self.read(client, &new).await
    }

    async fn read(&mut self, client: &Client, names: &[String]) -> Result<(), Error> {
        let select = "SELECT text, id FROM name WHERE text = ANY($1)";
        for row in client.query(select, &[&names]).await? {
            let text: String = row.try_get(0)?;
            self.known.insert(text.into(), row.try_get(1)?);
        }
        Ok(())
    }
}
