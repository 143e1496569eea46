//! The price of a target: overrides first, then local providers, then the table.

use std::collections::BTreeMap;
use std::sync::Arc;

use quick_cache::sync::Cache;

use crate::civil::Day;
use crate::money::{MoneyError, Rate};

use super::card::{PriceCard, Rates};
use super::condition::Condition;
use super::glob::matches;
use super::table::{Listing, PriceTable, TableError};
use super::vendor::Vendor;

/// Maximum targets whose price is cached. Clients may name any model.
const REMEMBERED: usize = 512;
/// The longest target name that is cached.
const MAX_NAME: usize = 256;
/// The age above which a snapshot causes a warning.
const OLD_DAYS: i64 = 60;

/// Rates of `[prices."provider/model"]`, in USD per million tokens as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriceOverride {
    /// Per million input tokens.
    pub input: Option<String>,
    /// Per million output tokens.
    pub output: Option<String>,
    /// Per million tokens read from the cache.
    pub cache_read: Option<String>,
    /// Per million tokens written to the cache for five minutes.
    pub cache_write: Option<String>,
    /// Per million tokens written to the cache for one hour.
    pub cache_write_1h: Option<String>,
    /// Per million reasoning tokens.
    pub reasoning: Option<String>,
    /// Per image.
    pub image: Option<String>,
    /// Per request.
    pub request: Option<String>,
    /// Rates that apply above a number of input tokens.
    pub tiers: Vec<TierOverride>,
}

/// Rates of one tier of a [`PriceOverride`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TierOverride {
    /// Applies to the whole request if its input is larger.
    pub above: u64,
    /// The rates of this tier. Tiers within it are ignored.
    pub rates: PriceOverride,
}

impl PriceOverride {
    fn rates(&self) -> Result<Rates, MoneyError> {
        let million = |text: &Option<String>| text.as_deref().map(Rate::per_million).transpose();
        let unit = |text: &Option<String>| text.as_deref().map(Rate::per_unit).transpose();
        Ok(Rates {
            input: million(&self.input)?,
            output: million(&self.output)?,
            cache_read: million(&self.cache_read)?,
            cache_write_5m: million(&self.cache_write)?,
            cache_write_1h: million(&self.cache_write_1h)?,
            image_input: None,
            reasoning: million(&self.reasoning)?,
            image: unit(&self.image)?,
            request: unit(&self.request)?,
        })
    }

    /// The card of these rates.
    ///
    /// # Errors
    ///
    /// Fails if a rate is not a decimal number.
    pub fn card(&self) -> Result<PriceCard, MoneyError> {
        let tiers = self.tiers.iter();
        let tiers = tiers.map(|tier| Ok((tier.above, tier.rates.rates()?)));
        Ok(PriceCard::new(
            self.rates()?,
            tiers.collect::<Result<Vec<_>, MoneyError>>()?,
        ))
    }
}

/// Which price is wanted.
#[derive(Clone, Copy, Debug)]
pub struct PriceQuery<'a> {
    /// The vendor that charges.
    pub vendor: &'a Vendor,
    /// The target's full name, `provider/model`.
    pub target: &'a str,
    /// The service tier that the request names.
    pub service_tier: Option<&'a str>,
    /// The Unix time at which the attempt starts, in milliseconds.
    pub at_millis: i64,
}

/// Prices of all targets.
pub struct PriceBook {
    table: PriceTable,
    exact: BTreeMap<String, Arc<Listing>>,
    patterns: Vec<(String, Arc<Listing>)>,
    free: Arc<PriceCard>,
    remembered: Cache<Box<str>, Option<Arc<Listing>>>,
}

impl Default for PriceBook {
    fn default() -> Self {
        Self::over(PriceTable::shipped())
    }
}

impl PriceBook {
    fn over(table: PriceTable) -> Self {
        Self {
            table,
            exact: BTreeMap::new(),
            patterns: Vec::new(),
            free: Arc::new(PriceCard::free()),
            remembered: Cache::new(REMEMBERED),
        }
    }

    /// A book over a table in the shipped one's format instead of the shipped one.
    ///
    /// # Errors
    ///
    /// Fails at the first line that is not in the format.
    pub fn from_table(text: String) -> Result<Self, TableError> {
        PriceTable::parse(text).map(Self::over)
    }

    /// Adds an override for a target, or for all that match a pattern with `*`.
    pub fn with_override(mut self, target: &str, card: PriceCard) -> Self {
        let prices = vec![(Condition::default(), Arc::new(card))];
        let listing = Arc::new(Listing { prices });
        let target = target.to_ascii_lowercase();
        if target.contains('*') {
            self.patterns.push((target, listing));
        } else {
            self.exact.insert(target, listing);
        }
        self
    }

    /// The date of the table.
    pub fn date(&self) -> Option<Day> {
        self.table.date()
    }

    /// Whether the table is too old to be trusted without a warning.
    pub fn is_old(&self, today: Day) -> bool {
        let date = self.table.date();
        date.is_none_or(|date| today.number() - date.number() > OLD_DAYS)
    }

    /// The price of an attempt that starts now, or `None` if it is unknown.
    pub fn price(&self, query: PriceQuery<'_>) -> Option<Arc<PriceCard>> {
        let listing = match self.remembered.get(query.target) {
            Some(listing) => listing,
            None => {
                let listing = self.listing(query.vendor, query.target).map(Arc::new);
                let listing = self.overridden(query.target).or(listing);
                if query.target.len() <= MAX_NAME {
                    self.remembered.insert(query.target.into(), listing.clone());
                }
                listing
            }
        };
        let seconds = query.at_millis.div_euclid(1_000);
        let card = listing.as_ref()?.at(seconds, query.service_tier)?;
        Some(Arc::clone(card))
    }

    fn overridden(&self, target: &str) -> Option<Arc<Listing>> {
        let target = target.to_ascii_lowercase();
        let pattern = || {
            let mut patterns = self.patterns.iter();
            patterns.find(|(pattern, _)| matches(pattern, &target))
        };
        let exact = self.exact.get(&target);
        exact.or_else(|| Some(&pattern()?.1)).cloned()
    }

    fn listing(&self, vendor: &Vendor, target: &str) -> Option<Listing> {
        let (_, model) = target.split_once('/').unwrap_or(("", target));
        match vendor {
            Vendor::Local => Some(Listing {
                prices: vec![(Condition::default(), Arc::clone(&self.free))],
            }),
            Vendor::Listed(vendor) => self.table.listing(vendor, model),
            Vendor::Unlisted => None,
        }
    }

    /// The price of a model in the table, by the name of its section.
    pub fn listed(
        &self,
        vendor: &str,
        model: &str,
        service_tier: Option<&str>,
        at_millis: i64,
    ) -> Option<Arc<PriceCard>> {
        let listing = self.table.listing(vendor, model)?;
        let seconds = at_millis.div_euclid(1_000);
        listing.at(seconds, service_tier).cloned()
    }

    /// Vendors and models of the table whose name contains `part`.
    pub fn search(&self, part: &str) -> Vec<(&str, &str)> {
        self.table.search(part)
    }
}
