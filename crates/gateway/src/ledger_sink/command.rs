//! The parts of a configuration that the commands `usage`, `prices` and `ledger` need.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use majordomo::transport::{Transport, TransportConfig};
use majordomo_ledger::{PriceBook, PriceCard, Pseudonyms, RepriceSubject, StorePlace};

use crate::config::{Config, Diagnostics, Variables, find_config};
use crate::pricing::Pricing;

/// The ledger and the prices of a configuration, for commands.
#[non_exhaustive]
pub struct LedgerTools {
    /// Where the ledger is; `None` if nothing is recorded.
    pub place: Option<StorePlace>,
    folder: Option<PathBuf>,
    hash_end_users: bool,
    pricing: Pricing,
}

impl LedgerTools {
    /// Reads the configuration that `majordomo serve` uses.
    ///
    /// # Errors
    ///
    /// Fails if the file is invalid.
    pub fn load(
        config: Option<&std::path::Path>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, Diagnostics> {
        let config = match find_config(config, environment) {
            // No provider is called, so their keys may be missing.
            Some(path) => Config::load_with(&path, environment, Variables::Optional)?,
            None => Config::empty(),
        };
        let transport = Transport::new(TransportConfig::default());
        let registry = config.registry(environment, &transport, |builder| builder)?;
        Ok(Self {
            place: config.ledger.place(environment),
            folder: config.ledger.folder(environment),
            hash_end_users: config.ledger.hash_end_users,
            pricing: Pricing::new(&config, &registry)?,
        })
    }

    /// The price table and its overrides.
    pub fn book(&self) -> &PriceBook {
        self.pricing.book()
    }

    /// The price of a past call.
    pub fn price(&self, subject: &RepriceSubject) -> Option<Arc<PriceCard>> {
        self.pricing.price(&subject.target, subject.at_millis)
    }

    /// The name under which an end user is stored.
    ///
    /// # Errors
    ///
    /// Fails if the key of the pseudonyms cannot be read.
    pub fn stored_user(&self, user: &str) -> std::io::Result<String> {
        if !self.hash_end_users {
            return Ok(user.to_owned());
        }
        let pseudonyms: Pseudonyms = super::pseudonyms(self.folder.as_deref())?;
        Ok(pseudonyms.of(user))
    }

    /// The Unix time in milliseconds.
    pub fn now_millis(&self) -> i64 {
        super::now_millis()
    }
}
