//! `majordomo serve`: runs the gateway until it is signaled to stop.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use majordomo_gateway::config::{LogFormat, LogSettings};
use majordomo_gateway::{Config, Gateway, ServeOptions, StartError, environment, find_config};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::ServeArgs;
use crate::error::CliError;
use crate::log::Log;
use crate::log_fields::LogFields;
use crate::log_json::JsonFormat;
use crate::{browser, log_filter, memory};

/// Model names listed at startup; further ones are counted.
const MOST_NAMES: usize = 12;

pub(crate) async fn run(args: ServeArgs) -> Result<(), CliError> {
    let environment = environment();
    let settings = log_settings(args.config.as_deref(), &environment);
    let log = Log::new(std::io::stderr(), settings.format)?;
    start_log(&log, &settings);
    let options = ServeOptions::default()
        .with_config(args.config)
        .with_listen(args.listen)
        .with_operator_listen(args.operator_listen);
    let gateway = match Gateway::start(&options, environment).await {
        Ok(gateway) => gateway,
        Err(StartError::Config(problems)) => return Err(CliError::Problems(problems.to_string())),
        Err(other) => return Err(CliError::new(other.to_string())),
    };
    let signals = Signals::catch();
    anstream::stdout().write_all(startup_summary(&gateway)?.as_bytes())?;
    if args.open {
        match gateway.page_url()? {
            Some(page) => browser::open(&page),
            None => tracing::warn!("there is no page to open: `enabled` is false in [page]"),
        }
    }
    // Providers may be slow to list their models; serving does not wait for them.
    let base = gateway.curl_base()?;
    let (models, has_keys) = (gateway.models(), gateway.has_keys());
    tokio::spawn(async move {
        let text = try_it(&base, &models.await, has_keys);
        let _ = anstream::stdout().write_all(text.as_bytes());
    });
    let heavy = gateway.heavy_threads();
    tokio::select! {
        () = gateway.run(shutdown_signal(signals)) => {}
        () = memory::release_after_bursts(heavy) => {}
    }
    let _ = log.flush();
    Ok(())
}

/// The file's `[log]`. The log starts before the gateway reads its configuration, whose
/// warnings need the log. Mistakes in the file are reported later, by that read.
fn log_settings(file: Option<&Path>, environment: &BTreeMap<String, String>) -> LogSettings {
    let file = find_config(file, environment);
    let config = file.and_then(|file| Config::load(&file, environment).ok());
    config.map_or_else(LogSettings::default, |config| config.log)
}

/// Writes log lines of the configured level and above, or those that `RUST_LOG` selects.
fn start_log(log: &Log, settings: &LogSettings) {
    let variable = std::env::var("RUST_LOG").ok();
    let (filter, problem) = match log_filter::parse(variable.as_deref()) {
        Ok(filter) => (filter, None),
        Err(problem) => (None, Some(problem)),
    };
    let filter = filter.unwrap_or_else(|| Targets::new().with_default(settings.level));
    let lines = log.clone();
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(move || lines.clone())
        .with_ansi(false);
    let layer = match settings.format {
        LogFormat::Text => layer.with_target(false).fmt_fields(LogFields).boxed(),
        LogFormat::Json => layer.event_format(JsonFormat).boxed(),
    };
    tracing_subscriber::registry()
        .with(layer)
        .with(filter)
        .init();
    if settings.format == LogFormat::Json {
        // The default hook writes several lines of text.
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string);
            let payload = panic.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            tracing::error!(place, "panicked: {}", text.unwrap_or("without a message"));
        }));
    }
    if let Some(problem) = problem {
        tracing::warn!("{problem}");
    }
}

/// Describes the configuration found, and the addresses of the gateway.
fn startup_summary(gateway: &Gateway) -> Result<String, CliError> {
    let address = gateway.address()?;
    let operator = gateway.operator_address()?;
    let scheme = gateway.scheme();
    let mut text = match &gateway.file {
        Some(file) => format!("configuration: {}\n", file.display()),
        None => "no configuration file: using the environment\n".to_owned(),
    };
    if let Some(found) = &gateway.found {
        text.push_str(&found.to_string());
    }
    let _ = writeln!(
        text,
        "listening on {scheme}://{address}, operator API on {scheme}://{operator}"
    );
    // The page comes first: people look before they read.
    Ok(match gateway.page_url()? {
        Some(page) => format!("page: {page}\n{text}"),
        None => text,
    })
}

/// The available models, and a command to try.
fn try_it(base: &str, models: &[String], has_keys: bool) -> String {
    let shown = models.iter().take(MOST_NAMES).map(String::as_str);
    let shown: Vec<&str> = shown.collect();
    let more = models.len().saturating_sub(shown.len());
    let mut text = format!("models: {}", shown.join(", "));
    if more > 0 {
        let _ = write!(text, " and {more} more (GET /v1/models lists all)");
    }
    let model = models.first().map_or("demo/text", String::as_str);
    text.push_str("\ntry:\n  ");
    text.push_str(&curl_command(base, model, has_keys));
    text
}

fn curl_command(base: &str, model: &str, has_keys: bool) -> String {
    let key = if has_keys {
        "-H 'authorization: Bearer YOUR-KEY' "
    } else {
        ""
    };
    format!(
        "curl {base}/v1/chat/completions {key}-H 'content-type: application/json' \
         -d '{{\"model\":\"{model}\",\"messages\":[{{\"role\":\"user\",\"content\":\"hello\"}}]}}'\n"
    )
}

/// Completes with the first signal, which starts a graceful drain; the second one exits.
async fn shutdown_signal(mut signals: Signals) {
    signals.next().await;
    tokio::spawn(async move {
        signals.next().await;
        std::process::exit(1);
    });
}

/// SIGINT and SIGTERM, caught from creation on, so that none is lost between the first
/// request and the first wait for a signal.
#[cfg(unix)]
struct Signals(Option<[tokio::signal::unix::Signal; 2]>);

#[cfg(unix)]
impl Signals {
    fn catch() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let both = || -> std::io::Result<_> {
            Ok([
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
            ])
        };
        Self(both().ok())
    }

    async fn next(&mut self) {
        match &mut self.0 {
            Some([interrupt, terminate]) => {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            }
            // Without a handler the system ends the process.
            None => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn catch() -> Self {
        Self
    }

    async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curl_command_has_a_placeholder_where_a_key_is_needed() {
        let base = "http://127.0.0.1:4100";
        let header = "-H 'authorization: Bearer ";
        assert!(curl_command(base, "coder", true).contains(header));
        assert!(!curl_command(base, "coder", false).contains(header));
    }
}
