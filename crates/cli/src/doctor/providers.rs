//! Checks whether keys are set and well-formed, providers respond, and the clock is right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use majordomo::llm::{ModelInfo, Timer};
use majordomo::providers::{Compatible, ProviderKind};
use majordomo::transport::{Transport, TransportRequest, TransportResponse};
use majordomo::{Class, Error, ErrorKind, Provider};
use majordomo_gateway::GatewayState;
use tokio::task::JoinSet;

use super::finding::Findings;

/// Time for a provider to list its models.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The largest difference between clocks that is tolerated.
const MOST_SKEW: Duration = Duration::from_secs(60);
const DEMO: &str = "demo";

/// Checks the keys in the environment, whose values are never shown.
pub(super) fn keys(
    state: &GatewayState,
    environment: &BTreeMap<String, String>,
    findings: &mut Findings,
) {
    let kinds = ProviderKind::ALL
        .into_iter()
        .flat_map(ProviderKind::key_variables);
    let services = Compatible::ALL
        .iter()
        .flat_map(|service| service.key_variables);
    // Kinds of one vendor share variables.
    let variables: BTreeSet<&str> = kinds.chain(services).copied().collect();
    let mut found = 0;
    for variable in variables {
        let Some(value) = environment.get(variable) else {
            continue;
        };
        found += 1;
        match problem(value) {
            None => findings.ok("key", format!("{variable} is set")),
            Some(problem) => findings.warn(
                "key",
                format!("{variable} {problem}"),
                "set it to the key alone, without quotes, spaces or line ends",
            ),
        }
    }
    let registry = state.registry();
    let usable = registry.providers().into_iter().filter(|name| name != DEMO);
    let usable = usable.filter(|name| {
        let ready = registry
            .provider(name)
            .is_ok_and(|provider| provider.ready().is_ok());
        ready && state.is_configured(name)
    });
    if found == 0 && usable.count() == 0 {
        findings.warn(
            "key",
            "no provider key is set; only the built-in demo and local servers can respond",
            "set a provider's key, such as OPENAI_API_KEY, where majordomo is started",
        );
    }
    for problem in registry.unusable() {
        let remedy = "write it as scheme://[token@]host[/path], or unset it";
        findings.broken("provider", problem.to_string(), remedy);
    }
}

/// The problem with the form of a key, if any.
fn problem(value: &str) -> Option<&'static str> {
    let lower = value.trim().to_ascii_lowercase();
    let placeholder = [
        "changeme",
        "your-key",
        "your_key",
        "your-api-key",
        "todo",
        "<",
        "xxx",
    ];
    if lower.is_empty() {
        Some("is empty")
    } else if value != value.trim() || value.contains(char::is_whitespace) {
        Some("contains spaces or a line end")
    } else if value.starts_with(['"', '\'']) || value.ends_with(['"', '\'']) {
        Some("is in quotes")
    } else if placeholder.iter().any(|word| lower.contains(word)) {
        Some("looks like a placeholder")
    } else if !value.is_ascii() {
        Some("contains characters that no header can hold")
    } else {
        None
    }
}

/// Lists the models of every provider that is set up.
pub(super) async fn call(state: &GatewayState, transport: &Transport, findings: &mut Findings) {
    let registry = state.registry();
    let mut calls = JoinSet::new();
    let names = registry.providers().into_iter();
    for name in names.filter(|name| name != DEMO && state.is_configured(name)) {
        if let Ok(provider) = registry.provider(&name) {
            calls.spawn(async move {
                let listed = list(&*provider).await;
                (name, (provider, listed))
            });
        }
    }
    type Listed = (Arc<dyn Provider>, Result<Vec<ModelInfo>, Error>);
    let calls: BTreeMap<String, Listed> = calls.join_all().await.into_iter().collect();
    if calls.is_empty() {
        findings.ok("providers", "none is configured, so none was called");
    }
    let mut reached = None;
    for (name, (provider, listed)) in calls {
        let was_reached = judge(&name, listed, findings);
        if was_reached && reached.is_none() {
            reached = provider.base_url().map(|url| (name, url.to_owned()));
        }
    }
    if let Some((name, url)) = reached {
        clock(&name, &url, transport, findings).await;
    }
}

async fn list(provider: &dyn Provider) -> Result<Vec<ModelInfo>, Error> {
    provider.ready()?;
    let listed = tokio::time::timeout(TIMEOUT, provider.models()).await;
    listed.unwrap_or_else(|_| {
        let text = format!("no response within {} s", TIMEOUT.as_secs());
        Err(Error::new(ErrorKind::Timeout(Timer::Total), text))
    })
}

/// Reports a call; returns whether the provider responded.
fn judge(name: &str, listed: Result<Vec<ModelInfo>, Error>, findings: &mut Findings) -> bool {
    let error = match listed {
        Ok(models) => {
            let models = match models.len() {
                1 => "1 model".to_owned(),
                count => format!("{count} models"),
            };
            findings.ok(
                name,
                format!("responds, accepts the key and lists {models}"),
            );
            return true;
        }
        Err(error) => error,
    };
    let reason = error.reason().to_string();
    match error.kind() {
        _ if matches!(error.class(), Class::Auth | Class::Quota | Class::Forbidden) => {
            let remedy = "create a new key at the provider, or check its account";
            findings.broken(name, format!("rejects the key: {reason}"), remedy);
            true
        }
        ErrorKind::MissingKey => {
            findings.broken(name, reason, "set its key, or remove the provider");
            false
        }
        ErrorKind::Connect | ErrorKind::Dns | ErrorKind::Timeout(_) => {
            let remedy = "check its address, the network and HTTPS_PROXY; if it is your own server, whether it is running";
            findings.broken(name, format!("cannot be reached: {reason}"), remedy);
            false
        }
        ErrorKind::Tls => {
            let remedy = "check this machine's clock and its trusted certificates";
            findings.broken(name, format!("cannot be trusted: {reason}"), remedy);
            false
        }
        ErrorKind::Unsupported => {
            findings.ok(name, "responds; it lists no models");
            true
        }
        _ => {
            let address = match error.status() {
                Some(404) => "check its base_url, which for most servers ends with /v1; ",
                _ => "",
            };
            let remedy = format!("{address}try it: majordomo chat {name}/MODEL hello");
            findings.warn(name, format!("does not list its models: {reason}"), remedy);
            true
        }
    }
}

/// Compares the clock with the date of a response.
async fn clock(name: &str, url: &str, transport: &Transport, findings: &mut Findings) {
    let Ok(uri) = url.parse() else {
        return;
    };
    let response = tokio::time::timeout(TIMEOUT, transport.send(TransportRequest::get(uri))).await;
    let head = match response {
        Ok(Ok(TransportResponse::Success(head, _) | TransportResponse::ErrorStatus(head, _))) => {
            head
        }
        _ => return,
    };
    let date = head
        .header("date")
        .and_then(|date| httpdate::parse_http_date(date).ok());
    let Some(date) = date else {
        return;
    };
    let skew = difference(transport.now(), date);
    match skew > MOST_SKEW {
        false => findings.ok("clock", format!("agrees with {name} within a minute")),
        true => findings.warn(
            "clock",
            format!("differs from {name}'s by {} s", skew.as_secs()),
            "synchronize this machine's clock, for example with systemd-timesyncd",
        ),
    }
}

fn difference(one: SystemTime, other: SystemTime) -> Duration {
    let later = one.duration_since(other);
    later.unwrap_or_else(|error| error.duration())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_keys_are_recognized_without_showing_them() {
        for (value, is_wrong) in [
            ("sk-canary-0123456789", false),
            ("", true),
            (" sk-canary", true),
            ("sk-canary\n", true),
            ("\"sk-canary\"", true),
            ("sk-xxxxxxxx", true),
            ("<your key>", true),
            ("sk-cänary", true),
        ] {
            let found = problem(value);
            assert_eq!(found.is_some(), is_wrong, "{value}");
            assert!(!found.unwrap_or_default().contains("canary"));
        }
    }

    #[test]
    fn clocks_are_compared_in_both_directions() {
        let (early, late) = (SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + MOST_SKEW);
        assert_eq!(difference(early, late), MOST_SKEW);
        assert_eq!(difference(late, early), MOST_SKEW);
    }
}
