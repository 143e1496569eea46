//! The standard `OTEL_*` variables.

use std::collections::BTreeMap;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use percent_encoding::percent_decode_str;

/// Default export timeout of the specification.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Settings of the OTLP exporter.
#[derive(Debug)]
pub(super) struct OtlpSettings {
    pub(super) endpoint: Uri,
    /// May contain the collector's key; never printed.
    pub(super) headers: HeaderMap,
    pub(super) timeout: Duration,
    /// The service name, if set.
    pub(super) service: Option<String>,
}

impl OtlpSettings {
    /// Reads the environment; none if spans are disabled.
    pub(super) fn from_env(environment: &BTreeMap<String, String>) -> Result<Option<Self>, String> {
        let value = |name: &str| {
            let text = environment.get(name).map(|text| text.trim());
            text.filter(|text| !text.is_empty())
        };
        // Trace-specific variables override general ones.
        let either = |name: &str| {
            let own = format!("OTEL_EXPORTER_OTLP_TRACES_{name}");
            value(&own).or_else(|| value(&format!("OTEL_EXPORTER_OTLP_{name}")))
        };
        if value("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let Some(endpoint) = endpoint(&value) else {
            return Ok(None);
        };
        match value("OTEL_TRACES_EXPORTER") {
            None | Some("otlp") => {}
            Some("none") => return Ok(None),
            Some(_) => return Err("OTEL_TRACES_EXPORTER may be `otlp` or `none`".to_owned()),
        }
        if either("PROTOCOL").is_some_and(|protocol| protocol != "http/protobuf") {
            let text = "OTEL_EXPORTER_OTLP_PROTOCOL may only be `http/protobuf`, which collectors \
                        take on port 4318";
            return Err(text.to_owned());
        }
        let timeout = either("TIMEOUT").map(|text| {
            let milliseconds = text.parse().map(Duration::from_millis);
            milliseconds.map_err(|_| "OTEL_EXPORTER_OTLP_TIMEOUT is in milliseconds".to_owned())
        });
        Ok(Some(Self {
            endpoint: endpoint?,
            headers: headers(either("HEADERS").unwrap_or_default())?,
            timeout: timeout.transpose()?.unwrap_or(TIMEOUT),
            service: value("OTEL_SERVICE_NAME").map(str::to_owned),
        }))
    }
}

/// The traces endpoint as given, or the general endpoint with its path.
fn endpoint<'v>(value: &impl Fn(&str) -> Option<&'v str>) -> Option<Result<Uri, String>> {
    let (name, text) = match value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
        Some(own) => ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", own.to_owned()),
        None => {
            let base = value("OTEL_EXPORTER_OTLP_ENDPOINT")?;
            let text = format!("{}/v1/traces", base.trim_end_matches('/'));
            ("OTEL_EXPORTER_OTLP_ENDPOINT", text)
        }
    };
    let uri = text.parse::<Uri>().ok();
    let uri = uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
    let uri = uri.filter(|uri| uri.host().is_some_and(|host| !host.is_empty()));
    Some(match uri {
        Some(uri) if uri.authority().is_some_and(|it| it.as_str().contains('@')) => Err(format!(
            "{name} holds a user or a password: put it into OTEL_EXPORTER_OTLP_HEADERS"
        )),
        Some(uri) => Ok(uri),
        None => Err(format!("{name} is not a URL such as http://localhost:4318")),
    })
}

/// `name=value,name=value`, the values percent-encoded.
fn headers(text: &str) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    let pairs = text.split(',').map(str::trim);
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        // The malformed text may be a key, so it is not quoted.
        let wrong = || "OTEL_EXPORTER_OTLP_HEADERS is not a list of `name=value`".to_owned();
        let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
        let name = HeaderName::try_from(name.trim()).map_err(|_| wrong())?;
        let value = percent_decode_str(value.trim()).decode_utf8();
        let value = value.map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");

    fn read(variables: &[(&str, &str)]) -> Result<Option<OtlpSettings>, String> {
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        OtlpSettings::from_env(&variables.iter().map(owned).collect())
    }

    fn address(variables: &[(&str, &str)]) -> Option<String> {
        let settings = read(variables).expect("the variables are fine");
        settings.map(|settings| settings.endpoint.to_string())
    }

    #[test]
    fn the_general_endpoint_gets_the_traces_path_and_the_traces_endpoint_is_kept() {
        let rows = [
            (
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "http://c:4318",
                "http://c:4318/v1/traces",
            ),
            (
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "http://c:4318/",
                "http://c:4318/v1/traces",
            ),
            (
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "https://c/otlp",
                "https://c/otlp/v1/traces",
            ),
            (
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
                "http://c:4318/t",
                "http://c:4318/t",
            ),
        ];
        for (name, value, expected) in rows {
            assert_eq!(
                address(&[(name, value)]).as_deref(),
                Some(expected),
                "{value}"
            );
        }
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/own");
        assert_eq!(address(&[ENDPOINT, own]).as_deref(), Some("http://t/own"));
    }

    #[test]
    fn spans_are_disabled_without_an_endpoint_or_by_switch() {
        let rows: [&[(&str, &str)]; 5] = [
            &[],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
            &[("OTEL_SERVICE_NAME", "gateway")],
            &[ENDPOINT, ("OTEL_SDK_DISABLED", "TRUE")],
            &[ENDPOINT, ("OTEL_TRACES_EXPORTER", "none")],
        ];
        for variables in rows {
            assert_eq!(address(variables), None, "{variables:?}");
        }
    }

    #[test]
    fn headers_are_decoded_and_not_printed() {
        let headers = (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=Basic%20CANARY, x-a = b",
        );
        let settings = read(&[ENDPOINT, headers]).unwrap().unwrap();
        assert_eq!(settings.headers["authorization"], "Basic CANARY");
        assert_eq!(settings.headers["x-a"], "b");
        assert!(!format!("{settings:?}").contains("CANARY"));
    }

    #[test]
    fn an_invalid_value_is_reported_without_quoting_it() {
        let rows = [
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "CANARY"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "grpc://CANARY"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://CANARY:x@c"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "CANARY"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_TRACES_EXPORTER", "zipkin"),
        ];
        for row in rows {
            let reason = read(&[ENDPOINT, row]).expect_err(row.1);
            assert!(reason.starts_with("OTEL_"), "{reason}");
            assert!(!reason.contains("CANARY"), "{reason}");
        }
    }
}
