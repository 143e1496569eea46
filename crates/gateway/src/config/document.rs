//! The whole file: its sections, and what must agree between them.

use std::collections::BTreeSet;

use super::reader::{Reader, Section};
use super::specs::{self, Names};
use super::{
    Config, Server, Service, chain, clients, fetch, providers, refuse_open, routes, server, vision,
};

/// Reads everything, and checks what needs more than one section.
pub(super) fn read(mut root: Section<'_>) -> Config {
    let reader = root.reader;
    let mut config = Config::empty();
    let mut section = |key, title| root.take(key).and_then(|field| field.section(title));
    if let Some(section) = section("server", "[server]") {
        config.server = server::read(section);
    }
    if let Some(section) = section("fetch", "[fetch]") {
        config.fetch = fetch::read(section);
    }
    if let Some(section) = section("vision", "[vision]") {
        config.vision = vision::read(section);
    }
    if let Some(section) = section("health", "[health]") {
        config.health = chain::read_health(section);
    }
    if let Some(section) = section("chain", "[chain]") {
        config.chain = chain::read_chain(section);
    }
    let providers = section("providers", "[providers]");
    let aliases = section("aliases", "[aliases]");
    let names = |section: &Option<Section<'_>>| -> BTreeSet<String> {
        let entries = section.as_ref().map(Section::entries).unwrap_or_default();
        entries.into_iter().map(|field| field.key).collect()
    };
    let (provider_names, alias_names) = (names(&providers), names(&aliases));
    config.providers = providers.map(providers::read).unwrap_or_default();
    config.aliases = aliases.map(specs::read_aliases).unwrap_or_default();
    let keys = root.take("keys");
    let sections = keys.as_ref().map(|field| field.sections("[[keys]]"));
    let has_keys = sections.as_ref().is_some_and(|found| {
        // What is no list of tables was told already.
        found.as_ref().is_none_or(|entries| !entries.is_empty())
    });
    let keys = sections.flatten();
    config.keys = keys.map(clients::read).unwrap_or_default();
    let routes = root
        .take("routes")
        .and_then(|field| field.sections("[[routes]]"));
    config.routes = routes.map(routes::read).unwrap_or_default();
    root.finish_beside(&[("[server]", server::KEYS)]);
    refuse_open_addresses(reader, &config.server, has_keys);
    let names = Names {
        reader,
        providers: provider_names,
        aliases: alias_names,
        routes: config
            .routes
            .iter()
            .map(|route| route.model.clone())
            .collect(),
    };
    check_specs(&names, &config);
    config
}

/// Entries that are wrong count as keys here: one mistake is told once.
fn refuse_open_addresses(reader: &Reader<'_>, server: &Server, has_keys: bool) {
    let places = &server.places;
    for (address, span) in [
        (server.listen, &places.listen),
        (server.operator_listen, &places.operator_listen),
    ] {
        if refuse_open(address, has_keys).is_some() {
            let message =
                "this address can be reached from other machines, and no key is configured";
            reader.report(span.clone(), message, server::CLOSE_IT);
        }
    }
}

fn check_specs(names: &Names<'_>, config: &Config) {
    let models = config
        .providers
        .iter()
        .flat_map(|provider| &provider.models);
    let mut services: Vec<&Service> = Vec::new();
    for route in &config.routes {
        services.extend(&route.services);
        services.extend(route.smart.iter().flat_map(|rule| &rule.services));
    }
    let describers = models.filter_map(|model| model.describe.as_ref());
    let service_specs = services.iter().flat_map(|service| {
        [Some(&service.spec), service.describe.as_ref()]
            .into_iter()
            .flatten()
    });
    let aliases = config.aliases.iter().map(|alias| &alias.spec);
    let of_routes = config
        .routes
        .iter()
        .filter_map(|route| route.describe.as_ref());
    let describers = describers.chain(of_routes);
    for spec in aliases.chain(describers).chain(service_specs) {
        names.check(spec);
    }
    names.check_circles(&config.aliases);
    for provider in &config.providers {
        for model in &provider.models {
            let target = format!("{}/{}", provider.name, model.id);
            names.check_describer(&target, model.describe.as_ref());
        }
    }
    for service in services {
        names.check_describer(&service.spec.text, service.describe.as_ref());
    }
}
