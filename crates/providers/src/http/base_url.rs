//! Validates and normalizes base URLs.

use ::http::Uri;
use majordomo_llm::{Error, ErrorKind, Result};

/// The base URL without trailing slashes, and without a version that all paths of the
/// dialect begin with: clients of most dialects are configured with `…/v1`, some of Ollama
/// with `…/api`.
pub(super) fn below_version<'u>(url: &'u str, models_path: &str) -> &'u str {
    let url = url.trim_end_matches('/');
    if !["/v1/", "/v1beta/", "/api/"]
        .iter()
        .any(|version| models_path.starts_with(version))
    {
        return url;
    }
    let api = url
        .strip_suffix("/api")
        .filter(|_| models_path.starts_with("/api/"));
    let below = api
        .or_else(|| url.strip_suffix("/v1beta"))
        .or_else(|| url.strip_suffix("/v1"));
    below.map_or(url, |below| below.trim_end_matches('/'))
}

/// Accepts `http` or `https` with a host and an optional path.
pub(super) fn check_base_url(url: &str) -> Result<()> {
    let bad = |why: &str| Err(Error::new(ErrorKind::Spec, format!("its base URL {why}")));
    let Ok(uri) = url.parse::<Uri>() else {
        return bad("is not a URL");
    };
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return bad("must start with http:// or https://");
    }
    if uri.host().is_none_or(str::is_empty) {
        return bad("has no host");
    }
    if uri.query().is_some() {
        return bad("must not have a query");
    }
    if uri.authority().is_some_and(|a| a.as_str().contains('@')) {
        return bad("must not hold a user or password; set the key separately");
    }
    Ok(())
}
