//! Keys never appear in errors, debug output, traces or logs.
//!
//! Its own binary, because it installs a global tracing subscriber.

#[path = "it/support.rs"]
mod support;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderName, Uri};
use majordomo_providers::transport::{
    Credential, HttpVersions, Proxies, Timeouts, Transport, TransportConfig, TransportRequest,
    TransportResponse,
};
use majordomo_testkit::{Authority, Http2Settings, Http2Upstream, Script, StreamStep, Upstream};
use support::{config, post};
use tracing::level_filters::LevelFilter;

const CANARY: &str = "CANARY";
const BEARER: &str = "sk-CANARYbearer";
const API_KEY: &str = "CANARYapikey";

/// Collects all trace and log output.
#[derive(Clone, Default)]
struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .expect("no test panics here")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn secret_request(uri: Uri) -> TransportRequest {
    let bearer = Credential::bearer(&BEARER.to_owned().into());
    let header = HeaderName::from_static("x-api-key");
    let header = Credential::header(header, &API_KEY.to_owned().into());
    TransportRequest::post(uri, r#"{"prompt":"CANARY"}"#)
        .credential(&bearer.expect("a key is a header"))
        .credential(&header.expect("a key is a header"))
        .timeouts(Timeouts::default().with_first_byte(Duration::from_millis(30)))
}

/// Sends a request and collects everything printable about it.
async fn collect_output(printed: &mut Vec<String>, transport: &Transport, uri: &Uri) {
    printed.push(format!("{:?} {transport:?}", secret_request(uri.clone())));
    match transport.stream(secret_request(uri.clone())).await {
        Err(error) => printed.push(format!("{error} {error:?} {error:#?}")),
        Ok(TransportResponse::ErrorStatus(head, _)) => printed.push(format!("{head:?}")),
        Ok(TransportResponse::Success(head, mut body)) => {
            printed.push(format!("{head:?} {body:?}"));
            while let Some(chunk) = body.next().await {
                if let Err(error) = chunk {
                    printed.push(format!("{error} {error:?}"));
                }
            }
        }
    }
}

#[tokio::test]
async fn a_key_is_sent_to_the_provider_and_printed_nowhere() {
    let log = CapturedLog::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .init();
    let mut printed = Vec::new();

    let redirect = "HTTP/1.1 307 Away\r\nlocation: http://x/?key=CANARY\r\n\r\n";
    let scripts = [
        Script::new()
            .read_request()
            .respond(200, "text/plain", "ok"),
        Script::new()
            .read_request()
            .respond(401, "text/plain", "no"),
        Script::new().read_request().send(redirect),
        Script::new().read_request().send("garbage\r\n\r\n"),
        Script::new().read_request().stream_head().chunk("a"),
        Script::new().read_request().reset(),
        Script::new().read_request().stall(),
        Script::new(),
    ];
    let count = scripts.len();
    let upstream = Upstream::start(scripts).await;
    let transport = Transport::new(config().idle_connections(0, Duration::ZERO));
    for _ in 0..count {
        let uri = format!(
            "http://user:CANARY@{}/CANARY?key=CANARY",
            upstream.address()
        );
        collect_output(&mut printed, &transport, &uri.parse().unwrap()).await;
    }
    let seen = &upstream.requests()[0];
    assert_eq!(seen.header("authorization"), Some("Bearer sk-CANARYbearer"));
    assert_eq!(seen.header("x-api-key"), Some(API_KEY));

    let authority = Authority::new();
    let settings = Http2Settings {
        identity: Some(authority.issue_http2("localhost")),
        ..Http2Settings::default()
    };
    let reset = StreamStep::Reset(h2::Reason::INTERNAL_ERROR);
    let steps = [vec![StreamStep::Head(500), StreamStep::End], vec![reset]];
    let secure = Http2Upstream::start(settings, steps).await;
    let uri = secure.secure_uri("/v1?key=CANARY");
    let trusting = Transport::new(config().trust(authority.root()));
    collect_output(&mut printed, &trusting, &uri).await;
    collect_output(&mut printed, &trusting, &uri).await;
    assert_eq!(secure.connections()[0].requests.len(), 2);
    collect_output(&mut printed, &transport, &uri).await;

    let proxied = TransportConfig::default()
        .http_versions(HttpVersions::Http1)
        .proxies(Proxies::Fixed {
            proxy: format!("http://me:CANARY@{}", upstream.address()),
            no_proxy: String::new(),
        });
    printed.push(format!("{proxied:?}"));
    let uri = "https://api.example/?key=CANARY".parse().unwrap();
    collect_output(&mut printed, &Transport::new(proxied), &uri).await;

    let bearer = Credential::bearer(&"CANARY\n\u{1}".to_owned().into());
    printed.push(format!("{:?}", bearer.unwrap_err()));
    let misplaced = post(uri).header("x-api-key", "CANARY\n");
    printed.push(format!("{:?}", misplaced.unwrap_err()));

    assert!(printed.len() > 2 * count, "{printed:#?}");
    for text in printed {
        assert!(!text.contains(CANARY), "{text}");
    }
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(
        log.contains("TRACE") && log.contains("DEBUG"),
        "nothing was traced"
    );
    for line in log.lines() {
        assert!(!line.contains(CANARY), "{line}");
    }
}
