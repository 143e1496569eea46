//! Checks that a client's own credential can reach only one vendor.
//!
//! The credential is sent to providers of the client's dialect that accept it. If two of them
//! had different addresses, a failover would reveal one vendor's credential to the other.

use http::Uri;
use majordomo::providers::ProviderKind;

use super::providers::{DeclaredKind, ProviderEntry, ProviderSource};
use super::reader::ConfigReader;

pub(super) fn check_one_vendor(reader: &ConfigReader<'_>, providers: &[ProviderEntry]) {
    let takes = |entry: &&ProviderEntry| entry.options.client_credentials == Some(true);
    let mut known: Vec<(&ProviderEntry, (ProviderKind, Option<String>))> = Vec::new();
    for entry in providers.iter().filter(takes) {
        let Some(vendor) = vendor(entry) else {
            let message = format!("[providers.{}] has no use for credentials", entry.name);
            let hint = "remove `client_credentials`";
            reader.report(entry.span.clone(), message, hint);
            continue;
        };
        let other = known
            .iter()
            .find(|(_, (kind, address))| *kind == vendor.0 && *address != vendor.1);
        if let Some((other, _)) = other {
            reader.report(
                entry.span.clone(),
                format!(
                    "[providers.{}] and [providers.{}] would both receive the credentials of the same clients",
                    other.name, entry.name
                ),
                "a client's credential belongs to one vendor: keep `client_credentials = \"forward\"` for that one",
            );
        }
        known.push((entry, vendor));
    }
}

/// The dialect and the address of a provider; the address is `None` for the kind's own.
fn vendor(entry: &ProviderEntry) -> Option<(ProviderKind, Option<String>)> {
    let host = |url: &str| {
        let uri: Option<Uri> = url.parse().ok();
        uri.and_then(|uri| Some(uri.authority()?.as_str().to_ascii_lowercase()))
    };
    match &entry.origin {
        ProviderSource::Dsn(dsn) => Some((dsn.kind()?, host(&dsn.base_url()))),
        ProviderSource::Declared { kind, base_url, .. } => match kind {
            DeclaredKind::Demo => None,
            DeclaredKind::Wire(kind) => Some((*kind, base_url.as_deref().and_then(host))),
            DeclaredKind::Service(service) => {
                Some((ProviderKind::OpenAi, Some(service.name.to_owned())))
            }
        },
    }
}
