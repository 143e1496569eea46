//! The standard `OTEL_*` variables.

use std::collections::BTreeMap;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use percent_encoding::percent_decode_str;

/// Default export timeout of the specification.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Default time between two exports of metrics.
const INTERVAL: Duration = Duration::from_secs(60);

/// What is exported. Each signal has variables of its own, which override general ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    Spans,
    Metrics,
}

impl Signal {
    /// As variables spell it.
    fn word(self) -> &'static str {
        match self {
            Self::Spans => "TRACES",
            Self::Metrics => "METRICS",
        }
    }

    /// As logs name it.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Spans => "spans",
            Self::Metrics => "metrics",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Spans => "/v1/traces",
            Self::Metrics => "/v1/metrics",
        }
    }
}

/// Settings of the OTLP exporter of a signal.
#[derive(Debug)]
pub(super) struct OtlpSettings {
    pub(super) endpoint: Uri,
    /// May contain the collector's key; never printed.
    pub(super) headers: HeaderMap,
    pub(super) timeout: Duration,
    /// Between two exports; spans have variables of the SDK's instead.
    pub(super) interval: Duration,
    /// The service name, if set.
    pub(super) service: Option<String>,
}

impl OtlpSettings {
    /// Reads the environment; none if the signal is disabled.
    pub(super) fn from_env(
        environment: &BTreeMap<String, String>,
        signal: Signal,
    ) -> Result<Option<Self>, String> {
        let value = |name: &str| {
            let text = environment.get(name).map(|text| text.trim());
            text.filter(|text| !text.is_empty())
        };
        let word = signal.word();
        let either = |name: &str| {
            let own = format!("OTEL_EXPORTER_OTLP_{word}_{name}");
            value(&own).or_else(|| value(&format!("OTEL_EXPORTER_OTLP_{name}")))
        };
        if value("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let Some(endpoint) = endpoint(&value, signal) else {
            return Ok(None);
        };
        match value(&format!("OTEL_{word}_EXPORTER")) {
            None | Some("otlp") => {}
            Some("none") => return Ok(None),
            Some(_) => return Err(format!("OTEL_{word}_EXPORTER may be `otlp` or `none`")),
        }
        if either("PROTOCOL").is_some_and(|protocol| protocol != "http/protobuf") {
            let text = "OTEL_EXPORTER_OTLP_PROTOCOL may only be `http/protobuf`, which collectors \
                        take on port 4318";
            return Err(text.to_owned());
        }
        let milliseconds = |name: &str, text: Option<&str>, default| {
            let parsed = text.map(|text| text.parse().ok().filter(|number| *number > 0));
            match parsed {
                None => Ok(default),
                Some(number) => number
                    .map(Duration::from_millis)
                    .ok_or_else(|| format!("{name} is in milliseconds, above 0")),
            }
        };
        let timeout = either("TIMEOUT");
        let timeout = milliseconds("OTEL_EXPORTER_OTLP_TIMEOUT", timeout, TIMEOUT)?;
        let mut interval = INTERVAL;
        if signal == Signal::Metrics {
            let name = "OTEL_METRIC_EXPORT_INTERVAL";
            interval = milliseconds(name, value(name), INTERVAL)?;
            let temporality = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
            if value(temporality).is_some_and(|text| !text.eq_ignore_ascii_case("cumulative")) {
                return Err(format!("{temporality} may only be `cumulative`"));
            }
        }
        Ok(Some(Self {
            endpoint: endpoint?,
            headers: headers(either("HEADERS").unwrap_or_default())?,
            timeout,
            interval,
            service: value("OTEL_SERVICE_NAME").map(str::to_owned),
        }))
    }
}

/// The signal's endpoint as given, or the general endpoint with the signal's path.
fn endpoint<'v>(
    value: &impl Fn(&str) -> Option<&'v str>,
    signal: Signal,
) -> Option<Result<Uri, String>> {
    let own = format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", signal.word());
    let (name, text) = match value(&own) {
        Some(text) => (&*own, text.to_owned()),
        None => {
            let base = value("OTEL_EXPORTER_OTLP_ENDPOINT")?;
            let text = format!("{}{}", base.trim_end_matches('/'), signal.path());
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
        read_for(Signal::Spans, variables)
    }

    fn read_for(
        signal: Signal,
        variables: &[(&str, &str)],
    ) -> Result<Option<OtlpSettings>, String> {
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        OtlpSettings::from_env(&variables.iter().map(owned).collect(), signal)
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

    #[test]
    fn metrics_have_variables_of_their_own() {
        let metrics = |variables: &[(&str, &str)]| {
            let settings = read_for(Signal::Metrics, variables).expect("the variables are fine");
            settings.map(|it| (it.endpoint.to_string(), it.interval))
        };
        let default = ("http://c:4318/v1/metrics".to_owned(), INTERVAL);
        assert_eq!(metrics(&[ENDPOINT]), Some(default));
        let own = [
            ENDPOINT,
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m/own"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "500"),
            ("OTEL_TRACES_EXPORTER", "none"),
        ];
        let expected = ("http://m/own".to_owned(), Duration::from_millis(500));
        assert_eq!(metrics(&own), Some(expected));
        assert_eq!(
            metrics(&[ENDPOINT, ("OTEL_METRICS_EXPORTER", "none")]),
            None
        );
        for row in [
            ("OTEL_METRIC_EXPORT_INTERVAL", "1m"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
            ("OTEL_METRICS_EXPORTER", "prometheus"),
            ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta"),
        ] {
            let reason = read_for(Signal::Metrics, &[ENDPOINT, row]).expect_err(row.1);
            assert!(reason.starts_with(row.0), "{reason}");
            assert!(read(&[ENDPOINT, row]).is_ok(), "spans have no {}", row.0);
        }
    }
}
