//! Prices of a configuration's targets.
//!
//! Pure lookups. May use `config`.

use std::collections::BTreeMap;
use std::sync::Arc;

use majordomo::Registry;
use majordomo_ledger::{PriceBook, PriceCard, PriceQuery, Vendor};

use crate::config::{Config, DeclaredKind, Diagnostic, Diagnostics, ProviderSource};

/// The price book of a configuration, and who charges for each of its providers.
pub(crate) struct Pricing {
    book: PriceBook,
    vendors: BTreeMap<String, Vendor>,
}

impl Pricing {
    /// Reads the table that the configuration names, or uses the shipped one.
    pub(crate) fn new(config: &Config, registry: &Registry) -> Result<Self, Diagnostics> {
        let mut book = match &config.prices.file {
            None => PriceBook::default(),
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
                let book =
                    text.and_then(|text| PriceBook::from_table(text).map_err(|e| e.to_string()));
                book.map_err(|reason| {
                    let message = format!("the price table cannot be used: {reason}");
                    let hint = "crates/ledger/data/generate.py describes the format";
                    let place = config.prices.file_span.clone();
                    config.diagnostics(vec![Diagnostic::at(place, message, hint)])
                })?
            }
        };
        for (target, card) in &config.prices.overrides {
            book = book.with_override(target, card.clone());
        }
        let vendors = registry.providers().into_iter().map(|name| {
            let provider = registry.provider(&name).ok();
            let url = provider.as_ref().and_then(|provider| provider.base_url());
            let uri = url.and_then(|url| url.parse::<http::Uri>().ok());
            let host = uri.as_ref().and_then(http::Uri::host);
            let vendor = Vendor::of(kind(config, &name), host);
            (name, vendor)
        });
        Ok(Self {
            vendors: vendors.collect(),
            book,
        })
    }

    /// The price table and its overrides.
    pub(crate) fn book(&self) -> &PriceBook {
        &self.book
    }

    /// The price of a call to `provider/model` that started at this Unix time.
    pub(crate) fn price(&self, target: &str, at_millis: i64) -> Option<Arc<PriceCard>> {
        let (provider, _) = target.split_once('/')?;
        let vendor = match self.vendors.get(provider) {
            Some(vendor) => vendor,
            None => &Vendor::of(provider, None),
        };
        self.book.price(PriceQuery {
            vendor,
            target,
            service_tier: None,
            at_millis,
        })
    }
}

/// The kind of a provider: declared, or the well-known one of that name.
fn kind<'a>(config: &'a Config, name: &'a str) -> &'a str {
    let entry = config.providers.iter().find(|entry| entry.name == name);
    match entry.map(|entry| &entry.origin) {
        Some(ProviderSource::Declared { kind, .. }) => match kind {
            DeclaredKind::Wire(kind) => kind.as_str(),
            DeclaredKind::Service(service) => service.name,
            DeclaredKind::Demo => "demo",
        },
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pricing(text: &str) -> Pricing {
        let config = Config::parse("majordomo.toml", text, &BTreeMap::new()).unwrap();
        let transport = majordomo::transport::Transport::new(Default::default());
        let registry = config.registry(&BTreeMap::new(), &transport, |builder| builder);
        Pricing::new(&config, &registry.unwrap()).unwrap()
    }

    #[test]
    fn a_provider_is_priced_by_its_host_and_a_local_one_is_free() {
        let pricing = pricing(
            "[providers.mine]\nkind = \"openai\"\nbase_url = \"https://api.x.ai/v1\"\n\
             [providers.m5]\nkind = \"ollama\"\nbase_url = \"http://m5.lan:11434\"\n\
             [providers.box]\nkind = \"openai\"\nbase_url = \"http://box.lan/v1\"\n\
             [prices.\"box/*\"]\ninput = \"0.5\"\noutput = \"1\"\n",
        );
        let now = 1_794_924_000_000;
        let price = |target| pricing.price(target, now).map(|card| card.to_string());
        assert!(price("mine/grok-4.5").is_some());
        assert_eq!(price("m5/qwen3:8b").as_deref(), Some("i0 o0"));
        assert_eq!(price("box/any").as_deref(), Some("i0.5 o1"));
        assert_eq!(price("mine/no-such-model"), None);
        assert_eq!(price("demo/text").as_deref(), Some("i0 o0"));
    }
}
