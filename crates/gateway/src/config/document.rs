//! Reads all sections and checks references between them.

use std::collections::BTreeSet;

use super::reader::{Reader, Section};
use super::specs::{self, Names, Spec};
use super::{
    Config, Role, Server, Service, chain, fetch, keys, providers, refuse_open,
    refuse_open_operator, routes, server, vision,
};

/// Reads every section, then checks what involves more than one.
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
        // A value of another type has already been reported.
        found.as_ref().is_none_or(|entries| !entries.is_empty())
    });
    let keys = sections.flatten();
    let written = keys.as_ref().map(Vec::len);
    config.keys = keys.map(keys::read).unwrap_or_default();
    let routes = root
        .take("routes")
        .and_then(|field| field.sections("[[routes]]"));
    config.routes = routes.map(routes::read).unwrap_or_default();
    root.finish_beside(&[("[server]", server::KEYS)]);
    // Invalid entries count as keys of any role here, so that one mistake is reported
    // once.
    let some_wrong = written != Some(config.keys.len());
    let has_role = some_wrong || config.opens_the_operators_listener();
    refuse_open_addresses(reader, &config.server, has_keys, has_role);
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

fn refuse_open_addresses(reader: &Reader<'_>, server: &Server, has_keys: bool, has_role: bool) {
    let places = &server.places;
    for (address, span, hint) in [
        (server.listen, &places.listen, server::CLOSE_IT),
        (
            server.operator_listen,
            &places.operator_listen,
            server::CLOSE_OPERATOR,
        ),
    ] {
        if refuse_open(address, has_keys).is_some() {
            let message =
                "this address can be reached from other machines, and no key is configured";
            reader.report(span.clone(), message, hint);
        }
    }
    if has_keys && refuse_open_operator(server.operator_listen, has_role).is_some() {
        let message = "the operator's address can be reached from other machines, and no key has \
                       the role `operator` or `viewer`";
        let span = places.operator_listen.clone();
        reader.report(span, message, server::GIVE_A_ROLE);
    }
}

impl Config {
    /// Whether some key may use an exposed operator listener.
    pub(super) fn opens_the_operators_listener(&self) -> bool {
        self.keys.iter().any(|key| key.role >= Role::Viewer)
    }

    /// The services of all routes, including those of smart rules.
    fn services(&self) -> impl Iterator<Item = &Service> {
        self.routes.iter().flat_map(|route| {
            let rules = route.smart.iter().flat_map(|rule| &rule.services);
            route.services.iter().chain(rules)
        })
    }

    /// Every spec of the file.
    pub(crate) fn specs(&self) -> impl Iterator<Item = &Spec> {
        let aliases = self.aliases.iter().map(|alias| &alias.spec);
        let models = self.providers.iter().flat_map(|provider| &provider.models);
        let of_models = models.filter_map(|model| model.describe.as_ref());
        let routes = self.routes.iter();
        let of_routes = routes.filter_map(|route| route.describe.as_ref());
        let of_services = self
            .services()
            .flat_map(|service| [Some(&service.spec), service.describe.as_ref()])
            .flatten();
        aliases.chain(of_models).chain(of_routes).chain(of_services)
    }
}

fn check_specs(names: &Names<'_>, config: &Config) {
    for spec in config.specs() {
        names.check(spec);
    }
    names.check_circles(&config.aliases);
    for provider in &config.providers {
        for model in &provider.models {
            let target = format!("{}/{}", provider.name, model.id);
            names.check_describer(&target, model.describe.as_ref());
        }
    }
    for service in config.services() {
        names.check_describer(&service.spec.text, service.describe.as_ref());
    }
}
