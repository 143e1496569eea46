//! The configuration file: parsing, diagnostics, reload.
//!
//! [`Config::load`] reads a file into plain data or returns *all* of its [`Diagnostics`], each
//! with its line and a hint. Parsing goes through the typed `reader`: each section reads the
//! keys that it knows and reports all others. [`Config::registry`] builds the providers, and
//! [`ConfigWatch`] reads the file again when it changes.
//!
//! To add a setting: add a field to the type of its section (`server.rs`, `chain.rs`, …),
//! read it in the `read_…` function there, describe it in `schema`, and list its key in
//! `secrets::names::SETTINGS` so that diagnostics may show its value.
//!
//! May use `demo`, `keys`, `max_counts` and the types of `trust`.

mod alias_cycles;
mod autodetect;
mod balance;
mod capture;
mod chain;
mod client_credentials;
mod cluster;
pub(crate) mod compare;
mod condition;
mod demo;
mod diagnostic;
mod document;
mod expiry;
mod exposed;
mod fetch;
mod find;
mod foreign_format;
mod keys;
mod ledger;
mod limits;
mod line_diff;
mod listen;
mod log;
mod models;
mod origins;
mod page;
mod prices;
mod provider_options;
mod providers;
mod reader;
mod registry;
mod routes;
mod schema;
mod secrets;
mod server;
mod source;
mod specs;
mod suggest;
mod teams;
pub(crate) mod transition;
mod units;
mod unknown_keys;
mod unreachable;
mod vision;
mod watch;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

pub use crate::keys::KeyRole;
pub use crate::keys::{KeyEntry, KeySecret, TeamEntry};
pub use crate::max_counts::MaxCounts;
pub use crate::trust::{OriginError, Origins};
pub use autodetect::{Detected, DetectedDsn, DetectedKey, autodetect};
pub use balance::Balance;
pub use capture::CaptureSettings;
pub use chain::ChainSettings;
pub use cluster::ClusterEntry;
pub use condition::{ComparisonEntry, ConditionEntry, ConditionValue};
pub use diagnostic::{Diagnostic, Diagnostics, Severity, Span};
pub(crate) use exposed::warn_if_exposed;
pub use fetch::FetchSettings;
pub use find::find_config;
pub use ledger::{LedgerPlace, LedgerSettings};
pub use limits::{AlertSettings, LimitSettings};
pub use listen::{ListenError, listen_address};
pub use log::{LogFormat, LogSettings};
pub use majordomo::health::HealthConfig;
pub use majordomo_balance::Tactic;
pub use majordomo_vision::{History, Latest, OnFailure};
pub use models::{ImageSupport, ModelEntry};
pub use page::PageSettings;
pub use prices::PriceSettings;
pub use provider_options::{ProviderOptions, ProviderProxy};
pub use providers::{DeclaredKind, ProviderEntry, ProviderSource};
pub use routes::{RouteEntry, ServiceEntry, SmartRule};
pub use schema::json_schema;
pub use server::{ServerSettings, TlsFiles, exposed_without_keys, operator_exposed_without_role};
pub use source::ConfigSource;
pub use specs::{Alias, SpecEntry};
pub use vision::VisionSettings;
pub use watch::ConfigWatch;
pub(crate) use watch::WatchedFiles;

use reader::{ConfigReader, Section};

/// The contents of a configuration file, with defaults for everything unset.
///
/// ```
/// use std::collections::BTreeMap;
/// use majordomo_gateway::config::Config;
///
/// let text = "[aliases]\nfast = \"groq/llama-4-scout,demo/text\"";
/// let config = Config::parse("majordomo.toml", text, &BTreeMap::new()).unwrap();
/// assert_eq!(config.aliases[0].name, "fast");
/// assert_eq!(config.server.listen.port(), 4100);
///
/// let invalid = Config::parse("majordomo.toml", "[alises]", &BTreeMap::new()).unwrap_err();
/// assert_eq!(invalid.list()[0].hint.as_deref(), Some("did you mean `aliases`?"));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Listeners and request limits.
    pub server: ServerSettings,
    /// Client keys; without any, only this machine is served.
    pub keys: Vec<KeyEntry>,
    /// Teams that keys belong to.
    pub teams: Vec<TeamEntry>,
    /// Remote images.
    pub fetch: FetchSettings,
    /// Providers, in file order.
    pub providers: Vec<ProviderEntry>,
    /// Names for specs, in file order.
    pub aliases: Vec<Alias>,
    /// Models that clients request, in file order.
    pub routes: Vec<RouteEntry>,
    /// The vision proxy.
    pub vision: VisionSettings,
    /// Bench settings.
    pub health: HealthConfig,
    /// Failover settings.
    pub chain: ChainSettings,
    /// The record of requests.
    pub ledger: LedgerSettings,
    /// Prices beyond the shipped table.
    pub prices: PriceSettings,
    /// Limits of everyone, and settings of budgets.
    pub limits: LimitSettings,
    /// Other gateways that share limits with this one.
    pub cluster: Option<ClusterEntry>,
    /// The web page.
    pub page: PageSettings,
    /// The log.
    pub log: LogSettings,
    /// The capture of requests whose key opts in.
    pub capture: CaptureSettings,
    /// The version of the file's meaning, if it states one.
    pub version: Option<u64>,
    /// Whether placeholders stand for variables that are not set; see
    /// [`Variables::Optional`].
    pub lacks_variables: bool,
    /// Doubtful settings of a valid file.
    pub warnings: Vec<Diagnostic>,
    /// The file's text, for diagnostics found later.
    pub source: Arc<ConfigSource>,
}

/// The meaning of a reference to a variable that is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variables {
    /// An error: the gateway cannot run without the value.
    Required,
    /// A warning, for programs that call no provider. Settings that depend on the value are
    /// not checked; a spec becomes `demo/vision` and a provider's address an invalid one.
    Optional,
}

/// The process environment, without variables that are not UTF-8.
pub fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Maximum size of a file in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;

impl Config {
    /// The defaults, used without a file.
    pub fn empty() -> Self {
        Self {
            server: ServerSettings::default(),
            keys: Vec::new(),
            teams: Vec::new(),
            fetch: FetchSettings::default(),
            providers: Vec::new(),
            aliases: Vec::new(),
            routes: Vec::new(),
            vision: VisionSettings::default(),
            health: HealthConfig::default(),
            chain: ChainSettings::default(),
            ledger: LedgerSettings::default(),
            prices: PriceSettings::default(),
            limits: LimitSettings::default(),
            cluster: None,
            page: PageSettings::default(),
            log: LogSettings::default(),
            capture: CaptureSettings::default(),
            version: None,
            lacks_variables: false,
            warnings: Vec::new(),
            source: Arc::new(ConfigSource::new("no file", "")),
        }
    }

    /// Loads and checks a file.
    pub fn load(path: &Path, environment: &BTreeMap<String, String>) -> Result<Self, Diagnostics> {
        Self::load_with(path, environment, Variables::Required)
    }

    /// Like [`load`](Self::load), with a choice for variables that are not set.
    pub fn load_with(
        path: &Path,
        environment: &BTreeMap<String, String>,
        variables: Variables,
    ) -> Result<Self, Diagnostics> {
        let name = path.display().to_string();
        match read_text(path) {
            Ok(text) => Self::parse_with(name, text, environment, variables),
            Err(reason) => {
                let message = format!("the configuration cannot be read: {reason}");
                let hint = match reason.kind() {
                    io::ErrorKind::PermissionDenied => {
                        "let the user who runs majordomo read it, and the folders above it"
                    }
                    _ => "specify another file with `--config` or MAJORDOMO_CONFIG",
                };
                let problem = Diagnostic::at(0..0, message, hint);
                Err(Diagnostics::new(
                    Arc::new(ConfigSource::missing(name)),
                    vec![problem],
                ))
            }
        }
    }

    /// Parses a text; `name` appears in diagnostics.
    pub fn parse(
        name: impl Into<String>,
        text: impl Into<String>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, Diagnostics> {
        Self::parse_with(name, text, environment, Variables::Required)
    }

    /// Like [`parse`](Self::parse), with a choice for variables that are not set.
    pub fn parse_with(
        name: impl Into<String>,
        text: impl Into<String>,
        environment: &BTreeMap<String, String>,
        variables: Variables,
    ) -> Result<Self, Diagnostics> {
        let mut source = ConfigSource::new(name, text);
        let (table, errors) = DeTable::parse_recoverable(source.text());
        let blank = is_blank(table.get_ref());
        let hidden = secrets::positions::find(source.text(), table.get_ref());
        let reader = ConfigReader::new(environment, variables, hidden);
        let root = Section::new(&reader, "the file", "", table.span(), table.get_ref());
        // The keys of an invalid document are unreliable.
        let config = errors.is_empty().then(|| document::read_document(root));
        unknown_keys::report(&reader);
        let (holds_secrets, lacks_variables) = (reader.holds_secrets(), reader.lacks_variables());
        let (mut diagnostics, hidden) = reader.finish();
        let (mut spans, words) = (hidden.spans, hidden.words);
        match errors.is_empty() {
            true => spans.extend(secrets::comments::find(source.text())),
            false => spans = secrets::unparsed::find(source.text()),
        }
        source.note_secrets(holds_secrets);
        source.note_blank(blank);
        source.hide(spans);
        // The name of a provider is no secret, and hints list them.
        let is_public = |word: &String| DeclaredKind::builtin(word).is_some();
        source.redact_words(words.into_iter().filter(|word| !is_public(word)).collect());
        let first_error = errors.first().and_then(toml::de::Error::span);
        match first_error.and_then(|span| foreign_format::diagnose(source.text(), &span)) {
            Some(diagnostic) => diagnostics.push(diagnostic),
            None => {
                diagnostics.extend(errors.iter().map(|error| syntax_diagnostic(error, &source)))
            }
        }
        let source = Arc::new(source);
        let valid = diagnostics
            .iter()
            .all(|found| found.severity == Severity::Warning);
        match config {
            Some(config) if valid => Ok(Self {
                source,
                lacks_variables,
                warnings: diagnostics,
                ..config
            }),
            _ => Err(Diagnostics::new(source, diagnostics)),
        }
    }

    /// The warnings with their lines; empty for most files.
    pub fn warnings(&self) -> Diagnostics {
        self.diagnostics(self.warnings.clone())
    }

    /// Diagnostics of this file that were found after parsing, with their lines.
    pub fn diagnostics(&self, list: Vec<Diagnostic>) -> Diagnostics {
        Diagnostics::new(Arc::clone(&self.source), list)
    }
}

fn is_blank(table: &DeTable<'_>) -> bool {
    let empty = |value: &DeValue<'_>| match value {
        DeValue::Table(table) => table.is_empty(),
        DeValue::Array(array) => array.is_empty(),
        _ => false,
    };
    table.values().all(|value| empty(value.get_ref()))
}

fn read_text(path: &Path) -> io::Result<String> {
    let not_text = |_| io::Error::other("it is not UTF-8 text");
    String::from_utf8(read_bytes(path)?).map_err(not_text)
}

/// Reads a regular file of limited size. A pipe or a device could block forever.
pub(crate) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let size = about.len();
    if size > MAX_FILE_BYTES {
        return Err(io::Error::other(format!(
            "it has {size} bytes, and the limit is {MAX_FILE_BYTES}"
        )));
    }
    std::fs::read(path)
}

/// Converts a parser error, adding a hint.
fn syntax_diagnostic(error: &toml::de::Error, source: &ConfigSource) -> Diagnostic {
    let span = error.span().unwrap_or(0..0);
    let message = error.message().lines().next().unwrap_or_default().trim();
    if message.contains("duplicate key") {
        if let Some(rule) = smart_rule_before(source.text(), &span) {
            return Diagnostic::at(rule, routes::SMART_FIRST, routes::SMART_FIRST_HINT);
        }
        let name = source.shown(span.clone());
        let name = name.unwrap_or_else(|| "a name".to_owned());
        return Diagnostic::at(
            span,
            format!("`{name}` is defined twice"),
            "merge both, or remove one",
        );
    }
    let hint = if message.contains("string") && message.contains('"') {
        "close the string with `\"` before the end of the line"
    } else if message.contains("unclosed") {
        "close every open bracket"
    } else if message.contains("invalid") || message.contains("quoted") {
        "quote strings: `key = \"value\"`"
    } else {
        "the file must be TOML: `[section]` lines and `key = value` lines"
    };
    Diagnostic::at(span, format!("invalid TOML: {message}"), hint)
}

/// The `[[routes.smart]]` before the first `[[routes]]`, which then seems to be a
/// duplicate.
fn smart_rule_before(text: &str, duplicate: &Span) -> Option<Span> {
    const RULE: &str = "[[routes.smart]]";
    let is_route = text.get(duplicate.clone()) == Some("routes");
    let before = text.get(..duplicate.start).filter(|_| is_route)?;
    let at = before
        .find(RULE)
        .filter(|at| !before[..*at].contains("[[routes]]"))?;
    Some(at..at + RULE.len())
}
