//! Addresses of images, and where redirects lead.

use http::Uri;
use majordomo::transport::ResponseHead;

use super::FetchError;

/// Reads an address that a client chose.
pub(super) fn read(url: &str) -> Result<Uri, FetchError> {
    let uri: Uri = url.trim().parse().map_err(|_| FetchError::BadAddress)?;
    let named = uri
        .authority()
        .is_some_and(|it| !it.as_str().contains('@') && !it.host().is_empty());
    match uri.scheme_str() {
        Some("http" | "https") if named => Ok(uri),
        _ => Err(FetchError::BadAddress),
    }
}

/// Where a redirect leads: a whole address, or a path on the same host.
pub(super) fn follow(from: &Uri, head: &ResponseHead) -> Result<Uri, FetchError> {
    let location = head.header("location").unwrap_or_default();
    let whole = match (from.scheme_str(), from.authority()) {
        (Some(scheme), _) if location.starts_with("//") => format!("{scheme}:{location}"),
        (Some(scheme), Some(host)) if location.starts_with('/') => {
            format!("{scheme}://{host}{location}")
        }
        (Some(scheme), Some(host)) if !location.is_empty() && !location.contains("://") => {
            let folder = from
                .path()
                .rsplit_once('/')
                .map_or("", |(folder, _)| folder);
            format!("{scheme}://{host}{folder}/{location}")
        }
        _ => location.to_owned(),
    };
    let to = read(whole.split('#').next().unwrap_or_default())?;
    // What was asked for in secret is not asked for in the open.
    if from.scheme_str() == Some("https") && to.scheme_str() != Some("https") {
        return Err(FetchError::Downgrade);
    }
    Ok(to)
}
