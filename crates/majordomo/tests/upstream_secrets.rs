//! No key is ever printed: not in an error, an attempt log, a debug form, a notice or a trace,
//! even if the provider echoes it.
//!
//! A separate binary, because it installs a global tracing subscriber.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use majordomo::observe::Notice;
use majordomo::providers::{ProviderKind, Settings};
use majordomo::transport::{Proxies, Timeouts, Transport, TransportConfig};
use majordomo::{Provider, Registry, Request};
use majordomo_testkit::{Script, Upstream};
use tracing_subscriber::filter::LevelFilter;

const CANARY: &str = "CANARY";
/// Without a provider's prefix, which would be redacted by pattern.
const KEY: &str = "CANARY-7f3a-key";

/// Everything traced, and every notice.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn keep(&self, notice: &Notice<'_>) {
        writeln!(self.clone(), "notice {notice:?}").expect("memory takes everything");
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.0.lock().expect("no test panics here");
        log.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Servers that echo the key in every possible place.
fn echoing_the_key() -> Vec<Script> {
    let request_read = || Script::new().read_request();
    let error = format!(
        r#"{{"error":{{"message":"the key {KEY} is wrong","type":"{KEY}","code":"{KEY}"}}}}"#
    );
    let head = format!(
        "HTTP/1.1 500 {KEY}\r\nx-request-id: {KEY}\r\ncontent-length: {}\r\n\r\n{error}",
        error.len()
    );
    let redirect = format!("HTTP/1.1 307 Away\r\nlocation: http://x/?key={KEY}\r\n\r\n");
    vec![
        request_read().respond(401, "application/json", error.clone()),
        request_read().respond(400, "application/json", error.clone()),
        request_read().respond(500, "text/plain", format!("Bearer {KEY}")),
        request_read().respond(200, "application/json", error.clone()),
        request_read().respond(200, "application/json", format!("{{\"{KEY}\": nonsense")),
        request_read()
            .stream_head()
            .chunk(format!("data: {error}\n\n")),
        request_read()
            .stream_head()
            .chunk(format!("event: error\ndata: {error}\n\n")),
        request_read().send(head),
        request_read().send(redirect),
        request_read().send(format!("{KEY}\r\n\r\n")),
        request_read().reset(),
        request_read().stall(),
        Script::new(),
    ]
}

#[tokio::test]
async fn a_key_is_sent_to_the_provider_and_printed_nowhere() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .init();
    let mut printed = Vec::new();
    for kind in ProviderKind::ALL {
        for script in echoing_the_key() {
            let upstream = Upstream::start([script]).await;
            let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
            let mut settings = Settings::new("head", transport)
                .base_url(upstream.uri("").to_string())
                .key(Some(KEY.to_owned().into()));
            settings.timeouts = Some(
                Timeouts::default()
                    .with_first_byte(Duration::from_millis(30))
                    .with_total(Duration::from_millis(100)),
            );
            printed.push(format!("{settings:?}"));
            let provider = kind.provider(settings).unwrap();
            printed.push(format!("{provider:?}"));
            let notices = log.clone();
            let registry = Registry::builder()
                .environment(Default::default())
                .observer(Arc::new(move |notice: &Notice<'_>| notices.keep(notice)))
                .build();
            if let Err(error) = provider.models().await {
                printed.push(format!("{error} {error:?}"));
            }
            registry.register(provider);
            let chain = registry.model("head/m").unwrap();
            let whole = chain.generate(Request::user("hi")).await.unwrap_err();
            let streamed = match chain.stream(Request::user("hi")).await {
                Ok(stream) => stream.finish().await.unwrap_err(),
                Err(error) => error,
            };
            for error in [whole, streamed] {
                let id = error.request_id().unwrap_or_default();
                let code = error.code().unwrap_or_default();
                let attempt_log = error.attempt_log();
                printed.push(format!(
                    "{error} {error:?} {error:#?} {id} {code} {attempt_log:?}"
                ));
            }
            let health = registry.health().snapshot();
            printed.push(format!("{chain:?} {health:?}"));
        }
    }
    for text in printed {
        assert!(!text.contains(CANARY), "{text}");
    }
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(
        log.contains("TRACE") && log.contains("notice"),
        "nothing was traced"
    );
    for line in log.lines() {
        assert!(!line.contains(CANARY), "{line}");
    }
}
