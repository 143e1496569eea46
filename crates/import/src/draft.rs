//! majordomo's configuration under construction.
//!
//! Methods keep it valid: names that specs can hold, values within the reader's bounds.

use std::collections::{BTreeSet, HashMap};

use crate::secret::{OutputText, Secrets};
use crate::tree::Node;

/// A configuration of majordomo.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) secrets: Secrets,
    /// Built-in providers that are used unmodified.
    built_in: BTreeSet<String>,
    /// The last number of the providers that wanted one name.
    numbers: HashMap<String, u32>,
    /// Lines at the top of the file, for the reader.
    pub(crate) remarks: Vec<String>,
    pub(crate) listen: Option<String>,
    /// In MiB.
    pub(crate) max_body: Option<u32>,
    pub(crate) keepalive: Option<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) keys: Vec<DraftKey>,
    pub(crate) teams: Vec<DraftTeam>,
    pub(crate) limits: DraftLimits,
    pub(crate) providers: Vec<DraftProvider>,
    pub(crate) routes: Vec<DraftRoute>,
    pub(crate) retries: Option<u32>,
    pub(crate) deadline: Option<String>,
    pub(crate) threshold: Option<u32>,
    pub(crate) bench: Option<String>,
    pub(crate) ledger_off: bool,
    pub(crate) retention: Option<String>,
    /// Lines that are written as comments below `[ledger]`.
    pub(crate) ledger_remark: Option<OutputText>,
    pub(crate) prices: Vec<DraftPrice>,
}

/// Keys of `[prices]` with their amounts.
pub(crate) type Rates = Vec<(&'static str, String)>;

/// The price of a target.
#[derive(Debug)]
pub(crate) struct DraftPrice {
    pub(crate) target: String,
    pub(crate) rates: Rates,
    /// Rates of requests with more input tokens than this.
    pub(crate) tiers: Vec<(u32, Rates)>,
}

#[derive(Debug)]
pub(crate) struct DraftKey {
    pub(crate) name: String,
    pub(crate) key: OutputText,
    pub(crate) role: Option<&'static str>,
    pub(crate) team: Option<String>,
    pub(crate) models: Vec<String>,
    pub(crate) limits: DraftLimits,
}

#[derive(Debug)]
pub(crate) struct DraftTeam {
    pub(crate) name: String,
    pub(crate) limits: DraftLimits,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct DraftLimits {
    pub(crate) requests_per_minute: Option<u32>,
    pub(crate) tokens_per_minute: Option<u32>,
    pub(crate) concurrent: Option<u32>,
    /// Window and dollars.
    pub(crate) budget: Option<(&'static str, String)>,
}

impl DraftLimits {
    pub(crate) fn is_empty(&self) -> bool {
        self.requests_per_minute.is_none()
            && self.tokens_per_minute.is_none()
            && self.concurrent.is_none()
            && self.budget.is_none()
    }
}

/// The identity of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Connection {
    /// `None` for a built-in provider.
    pub(crate) kind: Option<&'static str>,
    pub(crate) base_url: Option<OutputText>,
    pub(crate) api_key: Option<OutputText>,
    pub(crate) headers: Vec<(String, OutputText)>,
    pub(crate) timeout: Option<String>,
    pub(crate) proxy: Option<OutputText>,
}

#[derive(Debug)]
pub(crate) struct DraftProvider {
    pub(crate) name: String,
    pub(crate) connection: Connection,
    pub(crate) models: Vec<(String, DraftModel)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DraftModel {
    pub(crate) images: Option<bool>,
    pub(crate) tools: Option<bool>,
    pub(crate) structured: Option<bool>,
    pub(crate) context_window: Option<u32>,
    pub(crate) max_output: Option<u32>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct DraftRoute {
    pub(crate) model: String,
    pub(crate) services: Vec<DraftService>,
    pub(crate) balance: Option<&'static str>,
    pub(crate) affinity: Option<String>,
    pub(crate) rules: Vec<DraftRule>,
    pub(crate) remark: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DraftService {
    pub(crate) spec: String,
    pub(crate) weight: Option<u32>,
    pub(crate) tier: Option<u32>,
    pub(crate) capacity: Option<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct DraftRule {
    pub(crate) name: &'static str,
    /// Conditions as TOML.
    pub(crate) when: String,
    pub(crate) spec: String,
}

impl Draft {
    pub(crate) fn new(root: &Node) -> Self {
        Self {
            secrets: Secrets::new(root),
            ..Self::default()
        }
    }

    /// The provider with this connection, created if it is missing. A built-in provider
    /// without settings needs no entry and keeps its name.
    pub(crate) fn provider(&mut self, wanted: &str, connection: Connection) -> String {
        let wanted = provider_name(wanted);
        if connection == Connection::default() {
            self.built_in.insert(wanted.clone());
            return wanted;
        }
        if let Some(same) = self.providers.iter().find(|it| it.connection == connection) {
            return same.name.clone();
        }
        let first = self.numbers.get(&wanted).copied().unwrap_or(1);
        let numbered = (first..).map(|number| match number {
            1 => (number, wanted.clone()),
            _ => (number, format!("{wanted}-{number}")),
        });
        let is_free = |(_, name): &(u32, String)| {
            !self.built_in.contains(name) && !self.providers.iter().any(|it| it.name == *name)
        };
        let found = numbered.into_iter().find(is_free);
        let (number, name) = found.unwrap_or((first, wanted.clone()));
        self.numbers.insert(wanted, number);
        self.providers.push(DraftProvider {
            name: name.clone(),
            connection,
            models: Vec::new(),
        });
        name
    }

    /// Reserves the name of a built-in provider that is used unmodified.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.built_in.insert(name.to_owned());
    }

    /// The known properties of a model; creates an entry for its provider if there is none.
    pub(crate) fn model(&mut self, provider: &str, id: &str) -> &mut DraftModel {
        let at = self.providers.iter().position(|it| it.name == provider);
        let at = at.unwrap_or_else(|| {
            self.providers.push(DraftProvider {
                name: provider.to_owned(),
                connection: Connection::default(),
                models: Vec::new(),
            });
            self.providers.len() - 1
        });
        let models = &mut self.providers[at].models;
        let place = models.iter().position(|(known, _)| known == id);
        let place = place.unwrap_or_else(|| {
            models.push((id.to_owned(), DraftModel::default()));
            models.len() - 1
        });
        &mut models[place].1
    }

    /// The route of a name, created if it is missing.
    pub(crate) fn route(&mut self, model: &str) -> &mut DraftRoute {
        let at = self.routes.iter().position(|it| it.model == model);
        let at = at.unwrap_or_else(|| {
            self.routes.push(DraftRoute {
                model: model.to_owned(),
                ..DraftRoute::default()
            });
            self.routes.len() - 1
        });
        &mut self.routes[at]
    }

    /// Orders routes so that exact names come before patterns, and longer patterns before
    /// shorter ones: the first match wins here.
    pub(crate) fn sort_routes(&mut self) {
        self.routes.retain(|route| !route.services.is_empty());
        let rank = |route: &DraftRoute| match is_pattern(&route.model) {
            false => 0,
            true => 1 + (u32::MAX as usize).saturating_sub(route.model.len()),
        };
        self.routes.sort_by_key(rank);
    }
}

pub(crate) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// A name that specs can contain.
fn provider_name(wanted: &str) -> String {
    let name: String = wanted
        .chars()
        .map(|c| match c {
            '/' | ',' | '{' | '}' | '$' | '*' | '?' => '-',
            c if c.is_whitespace() || c.is_control() => '-',
            c => c,
        })
        .collect();
    match name.is_empty() {
        true => "provider".to_owned(),
        false => name,
    }
}

/// A route's name, without commas and spaces, which separate specs.
pub(crate) fn route_name(name: &str) -> String {
    let place = |c: char| match c == ',' || c.is_whitespace() || c.is_control() {
        true => '-',
        false => c,
    };
    name.trim().chars().map(place).collect()
}

/// A target as a spec, unless its model cannot be part of one.
pub(crate) fn spec(provider: &str, model: &str) -> Option<String> {
    let model = model.trim();
    let splits = |c: char| matches!(c, ',' | '{' | '}' | '$') || c.is_control();
    let fits = !model.is_empty() && !model.contains(splits);
    fits.then(|| format!("{provider}/{model}"))
}

/// Seconds as a duration.
pub(crate) fn seconds(number: f64) -> Option<String> {
    let millis = (number * 1_000.0).round();
    if !(1.0..=1e11).contains(&millis) {
        return None;
    }
    let millis = millis as u64;
    Some(match millis % 1_000 {
        0 => format!("{}s", millis / 1_000),
        _ => format!("{millis}ms"),
    })
}

/// Dollars, with the number of decimals that majordomo keeps.
pub(crate) fn dollars(number: f64, decimals: usize) -> Option<String> {
    if !(0.0..1e6).contains(&number) {
        return None;
    }
    let text = format!("{number:.decimals$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    Some(text.to_owned())
}

/// An address that majordomo accepts: http or https, a host, no credentials, no query.
pub(crate) fn is_address(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    let rest = lower
        .strip_prefix("https://")
        .or(lower.strip_prefix("http://"));
    let Some(rest) = rest else {
        return false;
    };
    let host = rest.split('/').next().unwrap_or_default();
    let (name, port) = host.split_once(':').unwrap_or((host, "1"));
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let path = |c: char| c.is_ascii_alphanumeric() || "/.-_~:+!*'();=&%".contains(c);
    !name.is_empty()
        && name.chars().all(plain)
        && port.parse::<u16>().is_ok()
        && rest[host.len()..].chars().all(path)
        && !rest.contains("%%")
}
