//! URLs of images and of redirects.

use http::Uri;
use majordomo::transport::ResponseHead;

use super::FetchError;

/// Parses a URL given by a client.
pub(super) fn parse_image_url(url: &str) -> Result<Uri, FetchError> {
    let uri: Uri = url.trim().parse().map_err(|_| FetchError::BadAddress)?;
    let named = uri
        .authority()
        .is_some_and(|it| !it.as_str().contains('@') && !it.host().is_empty());
    match uri.scheme_str() {
        Some("http" | "https") if named => Ok(uri),
        _ => Err(FetchError::BadAddress),
    }
}

/// Resolves the `location` of a redirect: a URL, or a reference relative to `from`.
pub(super) fn resolve_redirect(from: &Uri, head: &ResponseHead) -> Result<Uri, FetchError> {
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
    let to = parse_image_url(whole.split('#').next().unwrap_or_default())?;
    // A request made over TLS is not repeated in plain text.
    if from.scheme_str() == Some("https") && to.scheme_str() != Some("https") {
        return Err(FetchError::Downgrade);
    }
    Ok(to)
}
