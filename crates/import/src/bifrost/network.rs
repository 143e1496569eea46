//! The connections of a provider: address, headers, timeout, retries and proxy.

use crate::credentials::header;
use crate::draft::{Connection, Draft, is_address, seconds};
use crate::secret::{OutputText, looks_secret, reference};
use crate::source::Field;

/// What Bifrost appends to a `base_url` and majordomo does not.
const PATH: &str = "/v1";
const CALL: &str = "/chat/completions";

/// The base URL of a kind. Bifrost's ends before the version; majordomo's ends with it, for the
/// kinds whose servers choose it themselves.
pub(super) fn base_url(field: &Field<'_>, kind: &str, path: Option<&str>) -> Option<OutputText> {
    let Some(text) = field.text() else {
        field.unusable("an address");
        return None;
    };
    let path = match kind {
        "openai" => path.unwrap_or(PATH),
        _ => "",
    };
    if let Some(variable) = reference(text) {
        match path {
            "" => field.mapped("base_url"),
            path => field.approximated(format!(
                "base_url, with {path} appended: the variable must not end with a slash"
            )),
        }
        return Some(OutputText(format!("${{{variable}}}{path}")));
    }
    let url = text.trim_end_matches('/');
    if looks_secret(url) || !is_address(url) {
        field.unusable("a plain address such as https://host/path");
        return None;
    }
    field.mapped("base_url");
    let path = if url.ends_with(path) { "" } else { path };
    Some(OutputText::literal(&format!("{url}{path}")))
}

/// The part of the path before the call, if the file sets its own. Other overrides have no
/// counterpart.
fn path<'a>(entry: &Field<'a>, kind: &str) -> Option<&'a str> {
    let custom = entry.get("custom_provider_config")?;
    let overrides = custom.get("request_path_overrides")?;
    let mut path = None;
    for (key, field) in overrides.entries() {
        let own = field.text().and_then(|text| text.strip_suffix(CALL));
        let is_path = |path: &&str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "/.-_~".contains(c);
            (path.is_empty() || path.starts_with('/')) && path.chars().all(plain)
        };
        match own.filter(is_path) {
            Some(own) if kind == "openai" && key == "chat_completion" => {
                path = Some(own);
                field.mapped("the path of base_url");
            }
            _ => field.skipped("all calls of a provider are below its base_url"),
        }
    }
    path
}

/// Address, headers, timeout and retries.
pub(super) fn network(
    entry: &Field<'_>,
    kind: &str,
    connection: &mut Connection,
    draft: &mut Draft,
) {
    let Some(network) = entry.get("network_config") else {
        return;
    };
    if let Some(field) = network.get("base_url") {
        connection.base_url = base_url(&field, kind, path(entry, kind));
    }
    for (name, field) in network
        .get("extra_headers")
        .map(|it| it.entries())
        .unwrap_or_default()
    {
        connection.headers.extend(header(name, &field, draft));
    }
    connection.headers.sort();
    connection.headers.dedup_by(|one, other| one.0 == other.0);
    if let Some(field) = network.get("default_request_timeout_in_seconds") {
        match field.number().and_then(seconds) {
            Some(time) => {
                connection.timeout = Some(time);
                field.approximated("timeout of the provider: until an attempt streams or responds");
            }
            None => field.unusable("a number of seconds"),
        }
    }
    if let Some(field) = network.get("max_retries") {
        match field.number() {
            Some(number) => {
                let number = number.clamp(0.0, 10.0) as u32;
                draft.retries = Some(draft.retries.unwrap_or(0).max(number));
                field.approximated("retries in [chain]: the largest number of all providers");
            }
            None => field.unusable("a number"),
        }
    }
    for (note, keys) in [
        (
            "the pause between retries is majordomo's own",
            &[
                "retry_backoff_initial",
                "retry_backoff_max",
                "retry_backoff_initial_ms",
                "retry_backoff_max_ms",
            ][..],
        ),
        (
            "the limit on pauses within a stream is majordomo's own",
            &["stream_idle_timeout_in_seconds"],
        ),
        (
            "certificates are verified with the machine's own roots",
            &["insecure_skip_verify", "ca_cert_pem"],
        ),
        (
            "a provider's address may be in any network",
            &["allow_private_network"],
        ),
        (
            "connections are managed by majordomo",
            &[
                "max_conns_per_host",
                "enforce_http2",
                "keep_alive_timeout_in_seconds",
                "beta_header_overrides",
            ],
        ),
    ] {
        for key in keys {
            if let Some(field) = network.get(key) {
                field.skipped(note);
            }
        }
    }
}

pub(super) fn proxy(entry: &Field<'_>, connection: &mut Connection, draft: &mut Draft) {
    let Some(proxy) = entry.get("proxy_config") else {
        return;
    };
    let kind = proxy.get("type");
    let is_direct = kind
        .as_ref()
        .and_then(Field::text)
        .is_none_or(|kind| kind == "none");
    if let Some(field) = &kind {
        match field.text() {
            Some("none") => field.mapped("no proxy"),
            Some("environment") => field.mapped("the default"),
            _ => field.mapped("part of the proxy's address"),
        }
    }
    let Some(url) = proxy.get("url") else {
        return;
    };
    let Some(text) = url.text().filter(|_| !is_direct) else {
        url.skipped("the proxy is off");
        return;
    };
    let plain = is_address(text.trim_end_matches('/'));
    let value = match plain {
        true => OutputText::literal(text.trim_end_matches('/')),
        false => draft.secrets.text(text, "PROXY_URL", &url.path),
    };
    connection.proxy = Some(value);
    url.mapped("proxy of the provider");
    for key in ["username", "password"] {
        if let Some(field) = proxy.get(key) {
            field.skipped("write the credentials into the variable of the proxy's address");
        }
    }
}
