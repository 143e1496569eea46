//! `[providers.<name>]`: upstream providers.

use majordomo::dsn::{Dsn, DsnError};
use majordomo::nearest::nearest;
use majordomo::providers::{Compatible, ProviderKind};
use secrecy::{ExposeSecret, SecretString};

use super::Span;
use super::client_credentials;
use super::models::{self, ModelEntry};
use super::provider_options::{self, ProviderOptions};
use super::reader::{ConfigField, Section};
use super::suggest::{listed, suggest, vendor_of};

/// A provider defined in the file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProviderEntry {
    /// Its name in specs.
    pub name: String,
    /// Its kind, address and credential.
    pub origin: ProviderSource,
    /// Headers, timeout, proxy and the like.
    pub options: ProviderOptions,
    /// Overrides for some of its models.
    pub models: Vec<ModelEntry>,
    /// Position of the provider's name.
    pub span: Span,
}

/// Kind, address and credential of a provider.
#[derive(Clone, Debug)]
pub enum ProviderSource {
    /// Given as separate keys.
    Declared {
        /// The kind.
        kind: DeclaredKind,
        /// The address, if not the kind's default.
        base_url: Option<String>,
        /// The credential. If neither a credential nor an address is set, the kind's
        /// usual environment variables are used.
        api_key: Option<SecretString>,
    },
    /// Given as a DSN.
    Dsn(Dsn),
}

/// The kind of a provider.
#[derive(Clone, Copy, Debug)]
pub enum DeclaredKind {
    /// A kind defined by its protocol.
    Wire(ProviderKind),
    /// A hosted service with a known address.
    Service(&'static Compatible),
    /// The built-in demo.
    Demo,
}

/// The name of the demo kind and of the demo provider.
pub(super) const DEMO: &str = "demo";

impl DeclaredKind {
    /// The built-in provider with this name.
    pub fn builtin(name: &str) -> Option<Self> {
        if name == DEMO {
            return Some(Self::Demo);
        }
        let kind = ProviderKind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == name);
        let service = || Compatible::ALL.iter().find(|service| service.name == name);
        kind.map(Self::Wire)
            .or_else(|| service().map(Self::Service))
    }

    /// The names of all built-in providers.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        let kinds = ProviderKind::ALL.into_iter().map(ProviderKind::as_str);
        let services = Compatible::ALL.iter().map(|service| service.name);
        kinds.chain(services).chain([DEMO])
    }

    /// Whether the kind has no default address.
    fn needs_address(self) -> bool {
        matches!(
            self,
            Self::Wire(ProviderKind::Foreman | ProviderKind::LlamaSwap)
        )
    }
}

/// Hint for providers without names, such as `[[providers]]`.
pub(super) const HINT: &str =
    "a provider's name is part of its header: write `[providers.NAME]` for each";

/// Placeholders for a provider or an address that depends on a variable that is not set.
const UNKNOWN: ProviderSource = ProviderSource::Declared {
    kind: DeclaredKind::Demo,
    base_url: None,
    api_key: None,
};
const UNKNOWN_ADDRESS: &str = "http://variable-not-set.invalid";

pub(super) fn read_providers(section: Section<'_>) -> Vec<ProviderEntry> {
    let mut providers = Vec::new();
    for field in section.entries() {
        if !is_name(&field.key) {
            section.reader.report(
                field.key_span.clone(),
                format!("`{}` cannot be a provider's name", field.key),
                "use a name without `/`, `,` or spaces: specs contain `name/model`",
            );
            continue;
        }
        let title = format!("[providers.{}]", field.key);
        if let Some(section) = field.section(title) {
            providers.extend(provider(&field, section));
        }
    }
    client_credentials::check_one_vendor(section.reader, &providers);
    providers
}

/// Whether a spec can contain the name.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c == '/' || c == ',' || c.is_whitespace())
}

fn provider(field: &ConfigField<'_>, mut section: Section<'_>) -> Option<ProviderEntry> {
    let name = &field.key;
    let kind_field = section.take("kind");
    let base_url = section.take("base_url");
    let api_key = section.take("api_key");
    let dsn = section.take("dsn");
    let options = provider_options::read_options(&mut section);
    let key = api_key
        .as_ref()
        .and_then(|field| field.one_secret("list several keys in `api_keys`"));
    if api_key.as_ref().is_some_and(ConfigField::is_literal) {
        section.reader.note_secret();
    }
    if !options.api_keys.is_empty()
        && let Some(api_key) = &api_key
    {
        section.reader.report(
            api_key.key_span.clone(),
            format!("{} has both `api_key` and `api_keys`", section.title),
            "list all keys in `api_keys`",
        );
    }
    let origin = if let Some(dsn) = &dsn {
        for other in [&kind_field, &base_url, &api_key].into_iter().flatten() {
            section.reader.report(
                other.key_span.clone(),
                format!("{} has both `dsn` and `{}`", section.title, other.key),
                "a DSN contains kind, address and key: use either the DSN or the separate keys",
            );
        }
        match read_dsn(dsn) {
            None if dsn.is_unknown() => Some(UNKNOWN),
            Some(with_token) if with_token.token.is_some() && !options.api_keys.is_empty() => {
                section.reader.report(
                    dsn.key_span.clone(),
                    format!("{} has a key in `dsn` as well as `api_keys`", section.title),
                    "list all keys in `api_keys`, and leave the DSN without a token",
                );
                None
            }
            dsn => dsn.map(ProviderSource::Dsn),
        }
    } else {
        let kind = match &kind_field {
            Some(field) if field.is_unknown() => Some(DeclaredKind::Demo),
            Some(field) => read_kind(field),
            None => builtin(name, &section),
        };
        let base_url = base_url.as_ref().map(|field| {
            let unknown = field.is_unknown().then(|| UNKNOWN_ADDRESS.to_owned());
            address(field).or(unknown)
        });
        if let Some(kind) = kind
            && kind.needs_address()
            && base_url.is_none()
        {
            let message = format!("{} has no `base_url`", section.title);
            let hint = "set the server's address: `base_url = \"http://box.local:8080\"`";
            section.reader.report(section.span.clone(), message, hint);
        }
        // An invalid address has already been reported; a missing one is allowed.
        match (kind, base_url) {
            (Some(kind), None) => Some((kind, None)),
            (Some(kind), Some(Some(url))) => Some((kind, Some(url))),
            _ => None,
        }
        .map(|(kind, base_url)| ProviderSource::Declared {
            kind,
            base_url,
            api_key: key,
        })
    };
    let models = section.take("models");
    let models = models.and_then(|field| field.section(format!("[providers.{name}.models]")));
    let models = models.map(models::read_models).unwrap_or_default();
    section.finish();
    Some(ProviderEntry {
        name: name.clone(),
        origin: origin?,
        options,
        models,
        span: field.key_span.clone(),
    })
}

fn builtin(name: &str, section: &Section<'_>) -> Option<DeclaredKind> {
    let kind = DeclaredKind::builtin(name);
    if kind.is_none() {
        let hint = match nearest(name, DeclaredKind::builtin_names()) {
            Some(close) => format!("add `kind` or `dsn`, or did you mean the built-in `{close}`?"),
            None => format!("add `dsn`, or `kind`: one of {}", listed(&kinds())),
        };
        let message = format!("{} has no `kind`", section.title);
        section.reader.report(section.span.clone(), message, hint);
    }
    kind
}

pub(super) fn kinds() -> Vec<&'static str> {
    ProviderKind::ALL
        .into_iter()
        .map(ProviderKind::as_str)
        .chain([DEMO])
        .collect()
}

fn read_kind(field: &ConfigField<'_>) -> Option<DeclaredKind> {
    let text = field.text()?;
    if text.value == DEMO {
        return Some(DeclaredKind::Demo);
    }
    let kind = text
        .value
        .parse::<ProviderKind>()
        .ok()
        .map(DeclaredKind::Wire);
    if kind.is_none() {
        let message = format!("there is no provider kind {}", text.shown());
        let hint = match (DeclaredKind::builtin(&text.value), vendor_of(&text.value)) {
            (Some(_), _) => {
                let name = &text.value;
                format!(
                    "it is built in: use the section `[providers.{name}]` without a `kind`, or `kind = \"openai\"`"
                )
            }
            (None, Some(kind)) => format!("did you mean `{kind}`?"),
            (None, None) => suggest(&text.value, &kinds()),
        };
        field.report(message, hint);
    }
    kind
}

fn address(field: &ConfigField<'_>) -> Option<String> {
    let text = field.non_empty()?;
    let url = text.value.trim();
    let uri = url.parse::<http::Uri>().ok();
    let scheme = uri.as_ref().and_then(http::Uri::scheme_str);
    let host = uri.as_ref().and_then(http::Uri::authority);
    if url.contains('@') {
        field.reader.hide(field.span.clone());
        let hint = "move the key to `api_key = \"${NAME}\"`";
        field.report("`base_url` contains credentials", hint);
        return None;
    }
    if !matches!(scheme, Some("http" | "https")) || host.is_none() {
        let message = format!("{} is not a server's URL", text.shown());
        field.report(
            message,
            "include the scheme: `https://host/path` or `http://host:port`",
        );
        return None;
    }
    if uri.is_some_and(|uri| uri.query().is_some()) {
        let hint = "remove the query; request paths are appended to the URL";
        field.report("`base_url` contains a query", hint);
        return None;
    }
    let mut endpoints = ENDPOINTS.iter();
    let path = url.trim_end_matches('/');
    if let Some(endpoint) = endpoints.find(|endpoint| path.ends_with(*endpoint)) {
        field.warn(
            format!("`base_url` ends with the path of a request, `{endpoint}`"),
            "remove it; request paths are appended to the URL",
        );
    }
    Some(url.to_owned())
}

/// Paths of requests, which people copy together with the address.
const ENDPOINTS: [&str; 7] = [
    "/chat/completions",
    "/completions",
    "/messages",
    "/responses",
    "/embeddings",
    "/api/chat",
    "/api/generate",
];

fn read_dsn(field: &ConfigField<'_>) -> Option<Dsn> {
    let secret = field.secret()?;
    match secret.expose_secret().parse::<Dsn>() {
        Ok(dsn) if dsn.kind().is_some() => {
            if dsn.token.is_some() && field.is_literal() {
                field.reader.note_secret();
            }
            Some(dsn)
        }
        Ok(dsn) => {
            let hint = suggest(&dsn.scheme, &kinds()[..kinds().len() - 1]);
            // The scheme may come from a variable, so it is not quoted.
            field.report("the DSN's scheme is not a provider kind", hint);
            None
        }
        Err(error) => {
            report_dsn(field, &error);
            None
        }
    }
}

fn report_dsn(field: &ConfigField<'_>, error: &DsnError) {
    let text = error.to_string();
    let (message, hint) = match text.split_once([';', ':']) {
        Some((message, hint)) => (message.to_owned(), hint.trim().to_owned()),
        None => (
            text,
            "write it as `scheme://[token@]host[/path][?options]`".to_owned(),
        ),
    };
    field.report(message, hint);
}
