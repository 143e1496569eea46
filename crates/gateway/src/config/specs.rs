//! Specs in the file, and checks of the names that they use.

use std::collections::{BTreeMap, BTreeSet};

use majordomo::nearest::nearest;
use toml::de::DeValue;

use super::Span;
use super::alias_cycles::alias_cycles;
use super::providers::DeclaredKind;
use super::reader::{ConfigField, ConfigReader, Section};
use super::secrets::patterns;
use super::suggest::vendor_of;

/// A spec and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpecEntry {
    /// The spec.
    pub text: String,
    /// Position in the file.
    pub span: Span,
    /// How diagnostics quote it if it contains variables.
    quoted: Option<String>,
    role: SpecRole,
    /// Whether it stands for a spec that depends on a variable that is not set.
    is_unknown: bool,
}

/// A name for a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Alias {
    /// The name.
    pub name: String,
    /// The spec it stands for.
    pub spec: SpecEntry,
}

/// The use of a spec, which decides what it may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpecRole {
    Alias,
    /// May contain `{model}`.
    Service,
    /// May name a route.
    Describer,
}

/// Placeholder for the requested model in a service's spec.
pub(super) const REQUESTED_MODEL: &str = "{model}";

/// Stands for a spec that depends on a variable that is not set. It can do everything.
const UNKNOWN_SPEC: &str = "demo/vision";

impl SpecEntry {
    pub(super) fn service(field: &ConfigField<'_>) -> Option<Self> {
        Self::read(field, SpecRole::Service)
    }

    pub(super) fn describer(field: &ConfigField<'_>) -> Option<Self> {
        Self::read(field, SpecRole::Describer)
    }

    fn read(field: &ConfigField<'_>, role: SpecRole) -> Option<Self> {
        let text = field.non_empty()?;
        if text.is_unknown {
            return Some(Self {
                quoted: None,
                span: field.span.clone(),
                text: UNKNOWN_SPEC.to_owned(),
                role,
                is_unknown: true,
            });
        }
        Some(Self {
            quoted: text.is_substituted().then(|| text.shown()),
            span: field.span.clone(),
            text: text.value,
            role,
            is_unknown: false,
        })
    }

    /// Whether it only stands for a spec that is not known.
    pub(super) fn is_unknown(&self) -> bool {
        self.is_unknown
    }

    pub(super) fn elements(&self) -> impl Iterator<Item = &str> + Clone {
        let elements = self.text.split(',').map(str::trim);
        elements.filter(|element| !element.is_empty())
    }

    /// The providers it names.
    pub(super) fn providers(&self) -> impl Iterator<Item = &str> {
        let targets = self
            .elements()
            .filter_map(|element| element.split_once('/'));
        let names = targets.map(|(provider, _)| provider.trim());
        names.filter(|name| !name.contains(REQUESTED_MODEL))
    }

    /// Quotes an element for diagnostics.
    fn quote(&self, element: &str) -> String {
        self.quoted
            .clone()
            .unwrap_or_else(|| format!("`{element}`"))
    }
}

/// Hint for aliases that are not a table, such as `[[aliases]]`.
pub(super) const ALIASES_HINT: &str =
    "write one `[aliases]` section with a line for each: `name = \"provider/model\"`";

/// Reads `[aliases]`.
pub(super) fn read_aliases(section: Section<'_>) -> Vec<Alias> {
    let mut aliases = Vec::new();
    for field in section.entries() {
        if !super::providers::is_name(&field.key) {
            section.reader.report(
                field.key_span.clone(),
                format!("`{}` cannot be an alias", field.key),
                "use a name without `/`, `,` or spaces",
            );
        } else if matches!(field.value, DeValue::Table(_)) {
            let hint = format!("write it in one line: `{} = \"provider/model\"`", field.key);
            field.report(
                format!("`{}` must be a quoted string, but is a table", field.key),
                hint,
            );
        } else if let Some(spec) = SpecEntry::read(&field, SpecRole::Alias) {
            aliases.push(Alias {
                name: field.key,
                spec,
            });
        }
    }
    aliases
}

/// The names that specs may use. Names with invalid entries are included so that one
/// mistake is reported once.
pub(super) struct SpecNames<'a> {
    pub(super) reader: &'a ConfigReader<'a>,
    pub(super) providers: BTreeSet<String>,
    pub(super) aliases: BTreeSet<String>,
    pub(super) routes: BTreeSet<String>,
}

impl SpecNames<'_> {
    /// Reports the mistakes of a spec.
    pub(super) fn check(&self, spec: &SpecEntry) {
        let mut empty = true;
        for element in spec.elements() {
            empty = false;
            if let Some((message, hint)) = self.check_element(spec, element) {
                self.reader.report(spec.span.clone(), message, hint);
            }
        }
        if empty {
            let hint = "name at least one `provider/model` or alias";
            self.reader
                .report(spec.span.clone(), "the spec is empty", hint);
        }
    }

    fn check_element(&self, spec: &SpecEntry, element: &str) -> Option<(String, String)> {
        let quote = spec.quote(element);
        let has_placeholder = element.contains(REQUESTED_MODEL);
        if has_placeholder && spec.role != SpecRole::Service {
            let hint = "it stands for the requested model and is only allowed in `services`";
            return Some((
                format!("{quote} must not contain `{REQUESTED_MODEL}`"),
                hint.into(),
            ));
        }
        if element.replace(REQUESTED_MODEL, "").contains(['{', '}']) {
            let message = format!("{quote} contains braces");
            return Some((
                message,
                format!("only `{REQUESTED_MODEL}` is substituted: the requested model"),
            ));
        }
        if element == REQUESTED_MODEL {
            return None;
        }
        match element.split_once('/') {
            None => self.bare(spec, element, &quote),
            Some((provider, model)) => {
                let as_target = || "write it as `provider/model`".to_owned();
                if provider.trim().is_empty() {
                    return Some((format!("{quote} has no provider"), as_target()));
                }
                if model.trim().is_empty() {
                    return Some((format!("{quote} has no model"), as_target()));
                }
                self.provider(spec, provider)
            }
        }
    }

    fn bare(&self, spec: &SpecEntry, name: &str, quote: &str) -> Option<(String, String)> {
        let routes = Some(&self.routes).filter(|_| spec.role == SpecRole::Describer);
        let mut sets = [&self.aliases].into_iter().chain(routes);
        if sets.clone().any(|names| names.contains(name)) {
            return None;
        }
        if self.routes.contains(name) {
            let hint = "a service or an alias names targets and aliases; to share services between \
                        routes, put them into [aliases]";
            return Some((format!("{quote} is a route"), hint.to_owned()));
        }
        let known = sets.by_ref().flatten().map(String::as_str);
        let hint = match nearest(name, known) {
            Some(close) => format!("did you mean `{close}`?"),
            None => {
                "a target is written `provider/model`; aliases are defined in [aliases]".to_owned()
            }
        };
        Some((format!("there is no alias {quote}"), hint))
    }

    /// Whether a provider of this name is built in, in the file or in the environment.
    pub(super) fn is_provider(&self, name: &str) -> bool {
        self.providers.contains(name)
            || DeclaredKind::builtin(name).is_some()
            || self.reader.variable(&variable_name(name)).is_some()
    }

    fn provider(&self, spec: &SpecEntry, name: &str) -> Option<(String, String)> {
        if name.contains(REQUESTED_MODEL) || self.is_provider(name) {
            return None;
        }
        let from_environment: Vec<String> = provider_variables(self.reader.environment())
            .map(|(name, _)| name)
            .collect();
        let mut known: Vec<&str> = DeclaredKind::builtin_names().collect();
        known.extend(
            self.providers
                .iter()
                .chain(&from_environment)
                .map(String::as_str),
        );
        let close = nearest(name, known).or_else(|| vendor_of(name));
        let hint = match close {
            Some(close) => format!("did you mean `{close}`?"),
            None if spec.quoted.is_some() || !patterns::secret_spans(name).is_empty() => {
                "add it under [providers]".to_owned()
            }
            None => {
                let variable = variable_name(name);
                format!("add [providers.{name}], or set {variable} to its DSN")
            }
        };
        Some((format!("there is no provider {}", spec.quote(name)), hint))
    }

    /// Reports a describer that consists only of the target it describes for.
    pub(super) fn check_describer(&self, target: &str, describer: Option<&SpecEntry>) {
        let Some(describer) = describer.filter(|describer| !describer.is_unknown) else {
            return;
        };
        let mut elements = describer.elements();
        if elements.clone().next().is_some() && elements.all(|element| element == target.trim()) {
            let quote = describer.quote(target.trim());
            let message = format!("{quote} cannot describe images to itself");
            let hint = "name another model that accepts images";
            self.reader.report(describer.span.clone(), message, hint);
        }
    }

    /// Reports alias cycles, each once.
    pub(super) fn check_alias_cycles(&self, aliases: &[Alias]) {
        for cycle in alias_cycles(aliases) {
            let members = cycle.iter().chain(cycle.first());
            let names: Vec<&str> = members.map(|at| aliases[*at].name.as_str()).collect();
            let message = format!("alias cycle: {}", names.join(" → "));
            let hint = "make one of them name a target: `provider/model`";
            let span = &aliases[cycle[0]].spec.span;
            self.reader.report(span.clone(), message, hint);
        }
    }
}

/// The environment variable for a provider's DSN.
fn variable_name(provider: &str) -> String {
    format!("LLM_{}", provider.to_uppercase().replace('-', "_"))
}

/// Names and variables of all providers defined in the environment.
pub(super) fn provider_variables(
    environment: &BTreeMap<String, String>,
) -> impl Iterator<Item = (String, &str)> {
    environment.keys().filter_map(|variable| {
        let name = variable
            .strip_prefix("LLM_")
            .filter(|name| !name.is_empty())?;
        Some((name.to_lowercase(), variable.as_str()))
    })
}
