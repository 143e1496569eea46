//! The price table: a text with a line per model, searched and parsed on demand.
//!
//! `data/generate.py` describes the format. Lines stay text until a model is looked up:
//! two thousand parsed models would take more memory than a gateway at rest may.

use std::borrow::Cow;
use std::sync::Arc;

use crate::civil::Day;
use crate::money::MoneyError;

use super::card::{PriceCard, parse_rates};
use super::condition::Condition;
use super::glob::matches_any;

/// The shipped snapshot.
const SHIPPED: &str = include_str!("../../data/prices.txt");

/// A price table that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the price table: {what}")]
pub struct TableError {
    line: usize,
    what: String,
}

/// One price of a model, with its conditions.
pub(crate) type ListedPrice = (Condition, Arc<PriceCard>);

/// All prices of a model.
pub(crate) struct Listing {
    pub(crate) prices: Vec<ListedPrice>,
}

impl Listing {
    /// The price at a Unix time: the last valid one, for the service tier if it has separate
    /// prices. Before the first price's day, the first price applies.
    pub(crate) fn at(&self, seconds: i64, tier: Option<&str>) -> Option<&Arc<PriceCard>> {
        let holds = |wanted: Option<&str>| {
            let prices = self.prices.iter().rev();
            let mut prices = prices.filter(move |(when, _)| when.tier.as_deref() == wanted);
            prices.find(|(when, _)| when.holds_at(seconds))
        };
        let tiered = tier.and_then(|tier| holds(Some(tier)));
        let found = tiered.or_else(|| holds(None));
        let first = || self.prices.iter().find(|(when, _)| when.tier.is_none());
        found.or_else(first).map(|(_, card)| card)
    }
}

/// A table of prices by vendor and model.
pub(crate) struct PriceTable {
    text: Cow<'static, str>,
    date: Option<Day>,
}

impl PriceTable {
    /// The snapshot in the binary.
    pub(crate) fn shipped() -> Self {
        Self::over(Cow::Borrowed(SHIPPED))
    }

    fn over(text: Cow<'static, str>) -> Self {
        let date = text.lines().find_map(|line| line.strip_prefix("date\t"));
        let date = date.and_then(|date| date.parse().ok());
        Self { text, date }
    }

    /// A table in the same format, checked line by line.
    pub(crate) fn parse(text: String) -> Result<Self, TableError> {
        let table = Self::over(Cow::Owned(text));
        table.check()?;
        Ok(table)
    }

    /// The snapshot's date.
    pub(crate) fn date(&self) -> Option<Day> {
        self.date
    }

    fn check(&self) -> Result<(), TableError> {
        let mut sections = 0;
        for (index, line) in self.text.lines().enumerate() {
            let error = |what: String| TableError {
                line: index + 1,
                what,
            };
            if line.is_empty() || line.starts_with('#') || line.starts_with("date\t") {
                continue;
            }
            if line.starts_with("provider\t") {
                sections += 1;
                continue;
            }
            if sections == 0 {
                return Err(error("a model stands before its provider".to_owned()));
            }
            let mut fields = line.split('\t').skip(1);
            if fields.next().is_none_or(str::is_empty) {
                return Err(error("the model has no patterns".to_owned()));
            }
            for price in fields {
                parse_price(price).map_err(error)?;
            }
        }
        if self.date.is_none() {
            let what = "there is no line `date` with the snapshot's date".to_owned();
            return Err(TableError { line: 1, what });
        }
        Ok(())
    }

    /// The lines of a vendor's section, and the vendors whose models it also offers.
    fn section(&self, vendor: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
        let mut lines = self.text.lines();
        let fallback = lines.by_ref().find_map(|line| {
            let mut fields = line.strip_prefix("provider\t")?.split('\t');
            (fields.next()? == vendor).then(|| fields.next().unwrap_or_default())
        })?;
        Some((
            fallback,
            lines.take_while(|line| !line.starts_with("provider\t")),
        ))
    }

    fn model_line(&self, vendor: &str, model: &str) -> Option<&str> {
        let (_, mut lines) = self.section(vendor)?;
        lines.find(|line| {
            let patterns = line.split('\t').nth(1);
            patterns.is_some_and(|patterns| matches_any(patterns, model))
        })
    }

    /// The prices of a model, or `None` if it is not listed or has no token prices.
    pub(crate) fn listing(&self, vendor: &str, model: &str) -> Option<Listing> {
        let model = model.to_ascii_lowercase();
        let (fallback, _) = self.section(vendor)?;
        let dashed = dashed_date(&model);
        let names = [Some(model), dashed];
        let (line, own) = names.iter().flatten().find_map(|name| {
            let own = self.model_line(vendor, name).map(|line| (line, true));
            own.or_else(|| {
                let mut others = fallback.split(' ').filter(|other| !other.is_empty());
                let line = others.find_map(|other| self.model_line(other, name))?;
                Some((line, false))
            })
        })?;
        let prices = line.split('\t').skip(2);
        let prices = prices.filter_map(|price| parse_price(price).ok());
        // Another vendor's service tiers are not offered by this one.
        let prices: Vec<_> = prices
            .filter(|(when, _)| own || when.tier.is_none())
            .collect();
        (!prices.is_empty()).then_some(Listing { prices })
    }

    /// Models of the table whose id contains `part`, with their vendor.
    pub(crate) fn search(&self, part: &str) -> Vec<(&str, &str)> {
        let part = part.to_ascii_lowercase();
        let mut vendor = "";
        let mut found = Vec::new();
        for line in self.text.lines() {
            if let Some(provider) = line.strip_prefix("provider\t") {
                vendor = provider.split('\t').next().unwrap_or_default();
            } else if !vendor.is_empty() {
                let mut fields = line.split('\t');
                let id = fields.next().unwrap_or_default();
                let priced = fields.nth(1).is_some();
                if priced
                    && format!("{vendor}/{id}")
                        .to_ascii_lowercase()
                        .contains(&part)
                {
                    found.push((vendor, id));
                }
            }
        }
        found
    }
}

/// A price such as `@2026-03-13 @01:00-04:00 @tier=flex i5 o25`.
fn parse_price(text: &str) -> Result<ListedPrice, String> {
    let mut condition = Condition::default();
    let mut rest = text;
    while let Some(after) = rest.strip_prefix('@') {
        let (word, next) = after.split_once(' ').unwrap_or((after, ""));
        rest = next;
        if let Some(tier) = word.strip_prefix("tier=") {
            condition.tier = Some(tier.to_owned());
        } else if let Some((start, end)) = word.split_once('-').filter(|_| word.contains(':')) {
            let minutes = |time: &str| {
                let (hours, minutes) = time.split_once(':')?;
                Some(hours.parse::<u16>().ok()? * 60 + minutes.parse::<u16>().ok()?)
            };
            let hours = minutes(start).zip(minutes(end));
            condition.minutes = Some(hours.ok_or_else(|| format!("`{word}` are no hours"))?);
        } else {
            let day: Day = word.parse().map_err(|error| format!("{error}"))?;
            condition.from_day = Some(day.number());
        }
    }
    let card = parse_rates(rest).map_err(|error: MoneyError| error.to_string())?;
    Ok((condition, Arc::new(card)))
}

/// Adds the dashes to a name that ends in a date without them: `gpt-5.2-20251211`.
fn dashed_date(model: &str) -> Option<String> {
    let (name, date) = model.split_at_checked(model.len().checked_sub(8)?)?;
    if !name.ends_with('-') || !date.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let date = format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]);
    date.parse::<Day>().ok()?;
    Some(format!("{name}{date}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_shipped_table_parses() {
        let table = PriceTable::shipped();
        assert_eq!(table.check(), Ok(()));
        assert!(table.date().is_some());
        assert!(table.search("").len() > 1_500);
    }

    #[test]
    fn a_mistake_in_a_table_names_its_line() {
        let error = |text: &str| match PriceTable::parse(text.to_owned()) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        let head = "date\t2026-11-17\nprovider\tx\n";
        assert_eq!(error(&format!("{head}m\tm\ti1 o2")), "");
        assert!(error(&format!("{head}m\tm\ti1 oops")).starts_with("line 3 "));
        assert!(error(&format!("{head}m")).starts_with("line 3 "));
        assert!(error("date\t2026-11-17\nm\tm\ti1").starts_with("line 2 "));
        assert!(error("provider\tx\nm\tm\ti1").contains("date"));
    }

    #[test]
    fn a_compact_date_matches_the_dashed_name() {
        assert_eq!(
            dashed_date("gpt-5.2-20251211").as_deref(),
            Some("gpt-5.2-2025-12-11")
        );
        assert_eq!(dashed_date("gpt-5.2-20259911"), None);
        assert_eq!(dashed_date("ä"), None);
    }
}
