//! The built-in providers and DSN schemes.

use std::sync::Arc;

use majordomo_llm::{Provider, Result};
use majordomo_providers::transport::Transport;
use majordomo_providers::{Compatible, HttpProvider, ProviderKind, Settings};
use secrecy::SecretString;

use super::{RegistryNames, SchemeFactory};
use crate::dsn::{Dsn, Environment};

const OLLAMA_PORT: u16 = 11_434;

/// Adds the built-in providers; those without a key fail when used.
pub(super) fn add_providers(
    names: &mut RegistryNames,
    transport: &Transport,
    environment: &Environment,
) {
    for kind in ProviderKind::ALL {
        let mut settings = Settings::new(kind.as_str(), transport.clone());
        settings.key = key(kind.key_variables(), environment);
        if kind == ProviderKind::Ollama {
            settings.base_url = environment.get("OLLAMA_HOST").map(|host| ollama_url(&host));
        }
        add(names, kind.as_str(), kind.provider(settings));
    }
    for service in Compatible::ALL {
        let mut settings = Settings::new(service.name, transport.clone());
        settings.key = key(service.key_variables, environment);
        add(names, service.name, service.provider(settings));
    }
}

/// Adds the built-in DSN schemes.
pub(super) fn add_schemes(names: &mut RegistryNames, transport: &Transport) {
    for (scheme, kind) in Dsn::schemes() {
        let transport = transport.clone();
        let factory: SchemeFactory = Arc::new(move |name, dsn| {
            let provider = kind.provider(dsn.settings(name, &transport))?;
            Ok(Arc::new(provider) as Arc<dyn Provider>)
        });
        names.schemes.entry(scheme.to_owned()).or_insert(factory);
    }
}

/// A built-in with an invalid address in the environment fails on use, like a bad DSN.
fn add(names: &mut RegistryNames, name: &str, provider: Result<HttpProvider>) {
    match provider {
        Ok(provider) => {
            names.providers.insert(name.to_owned(), Arc::new(provider));
        }
        Err(error) => tracing::warn!(provider = name, %error, "provider is unusable"),
    }
}

fn key(variables: &[&str], environment: &Environment) -> Option<SecretString> {
    let mut keys = variables.iter().filter_map(|name| environment.get(name));
    keys.find(|key| !key.trim().is_empty())
        .map(SecretString::from)
}

/// Parses `OLLAMA_HOST` as Ollama does: a bare host, a port, or a URL. The unspecified
/// address becomes loopback.
///
/// ```
/// assert_eq!(majordomo::registry::ollama_url("0.0.0.0"), "http://127.0.0.1:11434");
/// ```
pub fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, place) = host.split_once("://").unwrap_or(("http", host));
    let place = place.replace("0.0.0.0", "127.0.0.1");
    let place = match place.strip_prefix(':') {
        Some(port) => format!("127.0.0.1:{port}"),
        None => place,
    };
    let has_port = place
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    if has_port || host.contains("://") {
        format!("{scheme}://{place}")
    } else {
        format!("{scheme}://{place}:{OLLAMA_PORT}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_host_is_read_as_ollama_reads_it() {
        for (host, url) in [
            ("localhost", "http://localhost:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:1234", "http://127.0.0.1:1234"),
            (":1234", "http://127.0.0.1:1234"),
            ("box.example.com:80/", "http://box.example.com:80"),
            ("https://box.example.com", "https://box.example.com"),
            ("[::1]:11434", "http://[::1]:11434"),
        ] {
            assert_eq!(ollama_url(host), url, "{host}");
        }
    }
}
