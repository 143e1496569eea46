//! Reads all sections and checks references between them.

use std::collections::BTreeSet;

use super::reader::{ConfigField, ConfigReader, Section};
use super::specs::{self, SpecEntry, SpecNames};
use super::{
    Config, KeyRole, ServerSettings, ServiceEntry, capture, chain, cluster, exposed_without_keys,
    fetch, keys, ledger, limits, log, operator_exposed_without_role, page, prices, providers,
    routes, server, teams, unreachable, vision,
};

/// Reads every section, then checks rules over several sections.
pub(super) fn read_document(mut root: Section<'_>) -> Config {
    let reader = root.reader;
    let mut config = Config::empty();
    if let Some(field) = root.take("version") {
        config.version = version(&field);
    }
    let mut section = |key, title| root.take(key).and_then(|field| field.section(title));
    if let Some(section) = section("server", "[server]") {
        config.server = server::read_server(section);
    }
    if let Some(section) = section("fetch", "[fetch]") {
        config.fetch = fetch::read_fetch(section);
    }
    if let Some(section) = section("vision", "[vision]") {
        config.vision = vision::read_vision(section);
    }
    if let Some(section) = section("health", "[health]") {
        config.health = chain::read_health(section);
    }
    if let Some(section) = section("chain", "[chain]") {
        config.chain = chain::read_chain(section);
    }
    if let Some(section) = section("ledger", "[ledger]") {
        config.ledger = ledger::read_ledger(section);
    }
    if let Some(section) = section("prices", "[prices]") {
        config.prices = prices::read_prices(section);
    }
    if let Some(section) = section("limits", "[limits]") {
        config.limits = limits::read_limits(section);
    }
    if let Some(section) = section("end_users", "[end_users]") {
        config.limits.end_users = limits::read_end_users(section);
    }
    if let Some(section) = section("cluster", "[cluster]") {
        config.cluster = cluster::read_cluster(section);
    }
    if let Some(section) = section("page", "[page]") {
        config.page = page::read_page(section);
    }
    if let Some(section) = section("log", "[log]") {
        config.log = log::read_log(section);
    }
    if let Some(section) = section("capture", "[capture]") {
        config.capture = capture::read_capture(section);
    }
    let providers = root.take("providers");
    let providers = providers.and_then(|field| field.section_or("[providers]", providers::HINT));
    let aliases = root.take("aliases");
    let aliases = aliases.and_then(|field| field.section_or("[aliases]", specs::ALIASES_HINT));
    let names = |section: &Option<Section<'_>>| -> BTreeSet<String> {
        let entries = section.as_ref().map(Section::entries).unwrap_or_default();
        entries.into_iter().map(|field| field.key).collect()
    };
    let (provider_names, alias_names) = (names(&providers), names(&aliases));
    config.providers = providers.map(providers::read_providers).unwrap_or_default();
    config.aliases = aliases.map(specs::read_aliases).unwrap_or_default();
    let teams = root.take("teams");
    let teams = teams.and_then(|field| field.sections("[[teams]]"));
    config.teams = teams.map(teams::read_teams).unwrap_or_default();
    let keys = root.take("keys");
    let sections = keys.as_ref().map(|field| field.sections("[[keys]]"));
    let has_keys = sections.as_ref().is_some_and(|found| {
        // A value of another type has already been reported.
        found.as_ref().is_none_or(|entries| !entries.is_empty())
    });
    let keys = sections.flatten();
    let written = keys.as_ref().map(Vec::len);
    let exposed = config.server.is_exposed();
    config.keys = keys
        .map(|sections| keys::read_keys(sections, &config.teams, exposed))
        .unwrap_or_default();
    let routes = root.take("routes");
    let routes = routes.and_then(|field| routes::sections(&field));
    config.routes = routes.map(routes::read_routes).unwrap_or_default();
    root.finish();
    // Invalid entries count as keys of any role here, so that one mistake is reported
    // once.
    let some_wrong = written != Some(config.keys.len());
    let has_role = some_wrong || config.has_operator_key();
    cluster::check(reader, &config);
    check_exposure(reader, &config.server, has_keys, has_role);
    let names = SpecNames {
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
    unreachable::check(&names, &config);
    if config.version.is_none()
        && let Some(warning) = config.changed_default()
    {
        reader.add(warning);
    }
    config
}

/// The current version, incremented when a default changes.
const VERSION: u64 = 1;

fn version(field: &ConfigField<'_>) -> Option<u64> {
    let version = field.number(1, u64::from(u32::MAX))?;
    if version > VERSION {
        let message = format!("this majordomo reads files up to version {VERSION}");
        field.report(message, "install a newer majordomo, or lower `version`");
    }
    Some(version)
}

fn check_exposure(
    reader: &ConfigReader<'_>,
    server: &ServerSettings,
    has_keys: bool,
    has_role: bool,
) {
    let spans = &server.spans;
    for (address, span, hint) in [
        (server.listen, &spans.listen, server::EXPOSED_HINT),
        (
            server.operator_listen,
            &spans.operator_listen,
            server::EXPOSED_OPERATOR_HINT,
        ),
    ] {
        if exposed_without_keys(address, has_keys).is_some() {
            let message = "this address is reachable from other machines, but no key is configured";
            reader.report(span.clone(), message, hint);
        }
    }
    if has_keys && operator_exposed_without_role(server.operator_listen, has_role).is_some() {
        let message = "the operator's address is reachable from other machines, but no key has \
                       the role `operator` or `viewer`";
        let span = spans.operator_listen.clone();
        reader.report(span, message, server::MISSING_ROLE_HINT);
    }
}

impl Config {
    /// Whether some key may use an exposed operator listener.
    pub(crate) fn has_operator_key(&self) -> bool {
        self.keys.iter().any(|key| key.role >= KeyRole::Viewer)
    }

    /// The services of all routes, including those of smart rules.
    fn services(&self) -> impl Iterator<Item = &ServiceEntry> {
        self.routes.iter().flat_map(|route| {
            let rules = route.smart.iter().flat_map(|rule| &rule.services);
            route.services.iter().chain(rules)
        })
    }

    /// Every spec of the file.
    pub(crate) fn specs(&self) -> impl Iterator<Item = &SpecEntry> {
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

fn check_specs(names: &SpecNames<'_>, config: &Config) {
    for spec in config.specs() {
        names.check(spec);
    }
    names.check_alias_cycles(&config.aliases);
    for provider in &config.providers {
        for model in &provider.models {
            let target = format!("{}/{}", provider.name, model.id);
            names.check_describer(&target, model.describe.as_ref());
        }
    }
    let known = config
        .services()
        .filter(|service| !service.spec.is_unknown());
    for service in known {
        names.check_describer(&service.spec.text, service.describe.as_ref());
    }
}
