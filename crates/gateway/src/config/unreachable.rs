//! Warns about unreachable names: an alias behind a route of the same name, and a key's list
//! of models that matches no model.

use std::collections::BTreeSet;

use majordomo::nearest::nearest;
use majordomo_rules::Glob;

use super::specs::{REQUESTED_MODEL, SpecNames};
use super::suggest::listed;
use super::{Alias, Config, KeyEntry, RouteEntry, SpecEntry};

/// Maximum names that a hint lists.
const MAX_LISTED: usize = 8;

/// Adds the warnings of a file whose sections have been read.
pub(super) fn check(names: &SpecNames<'_>, config: &Config) {
    for alias in &config.aliases {
        check_alias(names, config, alias);
    }
    for key in &config.keys {
        check_allow_list(names, config, key);
    }
}

/// A route takes precedence over an alias. That is intended if the route uses the alias,
/// or if a pattern covers an alias that other specs use.
fn check_alias(names: &SpecNames<'_>, config: &Config, alias: &Alias) {
    let mut routes = config.routes.iter();
    let Some(route) = routes.find(|route| Glob::new(&route.model).matches(&alias.name)) else {
        return;
    };
    let is_named_elsewhere = || {
        let mut specs = config.specs();
        specs.any(|spec| spec.elements().any(|element| element == alias.name))
    };
    let is_pattern = route.model != alias.name;
    if uses(config, route, &alias.name) || (is_pattern && is_named_elsewhere()) {
        return;
    }
    let message = format!(
        "requests for `{}` go to the route `{}`, not to this alias",
        alias.name, route.model
    );
    let hint = format!(
        "rename the alias, or use it in the route: `services = [ {{ spec = \"{}\" }} ]`",
        alias.name
    );
    let span = alias.spec.span.clone();
    names.reader.warn(span, message, hint);
}

/// Whether a route's services lead to an alias, directly or through others.
fn uses(config: &Config, route: &RouteEntry, name: &str) -> bool {
    let rules = route.smart.iter().flat_map(|rule| &rule.services);
    let services = route.services.iter().chain(rules);
    let mut open: Vec<&SpecEntry> = services
        .flat_map(|service| [Some(&service.spec), service.describe.as_ref()])
        .chain([route.describe.as_ref()])
        .flatten()
        .collect();
    let mut seen = BTreeSet::new();
    while let Some(spec) = open.pop() {
        for element in spec.elements() {
            if element == name || element == REQUESTED_MODEL {
                return true;
            }
            if seen.insert(element) {
                let aliases = config.aliases.iter();
                let found = aliases.filter(|alias| alias.name == element);
                open.extend(found.map(|alias| &alias.spec));
            }
        }
    }
    false
}

/// A bare name may also be in a provider's list, which is known only at run time. So a list is
/// doubtful if nothing in it matches, and a name is doubtful if it is close to a known one.
fn check_allow_list(names: &SpecNames<'_>, config: &Config, key: &KeyEntry) {
    let patterns = key.models.as_deref().unwrap_or_default();
    let is_known = |pattern: &String| matches_any(names, config, pattern);
    let unknown: Vec<&String> = patterns
        .iter()
        .filter(|pattern| !is_known(pattern))
        .collect();
    let matches_nothing = unknown.len() == patterns.len();
    let requestable = || names.routes.iter().chain(&names.aliases);
    for pattern in unknown {
        let close = nearest(pattern, requestable().map(String::as_str));
        let hint = match close {
            Some(close) => format!("did you mean `{close}`?"),
            None if !matches_nothing => continue,
            None => {
                let known: Vec<&str> = requestable().map(String::as_str).collect();
                let known = &known[..known.len().min(MAX_LISTED)];
                match known.is_empty() {
                    true => "a target is written `provider/model`".to_owned(),
                    false => format!("routes and aliases are {}", listed(known)),
                }
            }
        };
        let message = format!(
            "`{pattern}` matches no route, alias or provider, so the key `{}` can use it only if \
             a provider lists a model of that name",
            key.name
        );
        names.reader.warn(key.models_span.clone(), message, hint);
    }
}

/// Whether a pattern matches a route, an alias or the targets of a known provider.
fn matches_any(names: &SpecNames<'_>, config: &Config, pattern: &str) -> bool {
    let glob = Glob::new(pattern);
    let provider = pattern.split_once('/').map(|(provider, _)| provider);
    if let Some(provider) = provider {
        let has_wildcard = provider.contains(['*', '?']);
        if has_wildcard || names.is_provider(provider) {
            return true;
        }
    }
    let matches_route = |route: &RouteEntry| {
        let routed = Glob::new(&route.model);
        glob.matches(&route.model) || routed.matches(pattern) || overlap(pattern, &route.model)
    };
    names.aliases.iter().any(|alias| glob.matches(alias)) || config.routes.iter().any(matches_route)
}

/// Whether two patterns with wildcards may match the same name, judged by what precedes
/// the first wildcard.
fn overlap(one: &str, other: &str) -> bool {
    let fixed = |pattern: &str| {
        let end = pattern.find(['*', '?']);
        end.map(|end| pattern[..end].to_owned())
    };
    match (fixed(one), fixed(other)) {
        (Some(one), Some(other)) => one.starts_with(&other) || other.starts_with(&one),
        _ => false,
    }
}
