//! `majordomo serve`: runs the gateway until it is signaled to stop.

use std::fmt::Write as _;
use std::io::Write as _;

use majordomo_gateway::{Gateway, ServeOptions, StartError, environment};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::ServeArgs;
use crate::error::CliError;
use crate::log::Log;
use crate::log_fields::LogFields;
use crate::{browser, log_filter, memory};

/// Model names listed at startup; the rest are counted.
const MOST_NAMES: usize = 12;

pub(crate) async fn run(args: ServeArgs) -> Result<(), CliError> {
    let log = Log::new(std::io::stderr())?;
    start_log(&log);
    let options = ServeOptions::default()
        .with_config(args.config)
        .with_listen(args.listen)
        .with_operator_listen(args.operator_listen);
    let gateway = match Gateway::start(&options, environment()).await {
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

/// Writes log lines of level `info` and above, or those that `RUST_LOG` selects.
fn start_log(log: &Log) {
    let lines = log.clone();
    let format = tracing_subscriber::fmt()
        .with_writer(move || lines.clone())
        .with_target(false)
        .with_ansi(false)
        .fmt_fields(LogFields);
    let variable = std::env::var("RUST_LOG").ok();
    match log_filter::parse(variable.as_deref()) {
        Ok(None) => format.init(),
        Ok(Some(filter)) => {
            let all = format.with_max_level(LevelFilter::TRACE).finish();
            all.with(filter).init();
        }
        Err(problem) => {
            format.init();
            tracing::warn!("{problem}");
        }
    }
}

/// What was found, and where the gateway listens.
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
