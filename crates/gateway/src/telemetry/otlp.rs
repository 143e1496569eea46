//! Sends OTLP messages over HTTP, with the providers' transport.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use majordomo::Error;
use majordomo::transport::{Timeouts, Transport, TransportRequest, TransportResponse};
use tokio::runtime::Handle;

use super::settings::{OtlpSettings, Signal};

/// The way to a collector. Says once that it does not accept anything, and once that it does
/// again.
pub(super) struct OtlpSender {
    signal: Signal,
    settings: OtlpSettings,
    transport: Transport,
    /// Messages may come from another thread; connections live on this runtime.
    runtime: Handle,
    /// Whether the last message was lost; logged once.
    failing: AtomicBool,
}

impl OtlpSender {
    /// Must be called within a runtime.
    pub(super) fn new(signal: Signal, settings: OtlpSettings, transport: Transport) -> Self {
        Self {
            signal,
            settings,
            transport,
            runtime: Handle::current(),
            failing: AtomicBool::new(false),
        }
    }

    /// Sends a message. The error says why it was lost, without the collector's address.
    pub(super) async fn send(&self, message: Vec<u8>) -> Result<(), String> {
        let sent = self.try_to_send(message).await;
        let signal = self.signal.noun();
        match &sent {
            Ok(()) => {
                if self.failing.swap(false, Ordering::Relaxed) {
                    tracing::info!("{signal} reach the collector again");
                }
            }
            Err(reason) => {
                if !self.failing.swap(true, Ordering::Relaxed) {
                    tracing::warn!(reason, "{signal} are lost until the collector accepts them");
                }
            }
        }
        sent
    }

    async fn try_to_send(&self, message: Vec<u8>) -> Result<(), String> {
        let request = self.request(message).map_err(|error| error.to_string())?;
        let transport = self.transport.clone();
        let sending = self
            .runtime
            .spawn(async move { transport.send(request).await });
        match sending.await {
            Ok(Ok(TransportResponse::Success(..))) => Ok(()),
            Ok(Ok(TransportResponse::ErrorStatus(head, _))) => {
                Err(format!("HTTP {}", head.status().as_u16()))
            }
            Ok(Err(error)) if is_accepted(&error) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the gateway shut down".to_owned()),
        }
    }

    fn request(&self, message: Vec<u8>) -> majordomo::Result<TransportRequest> {
        let timeouts = Timeouts::default()
            .with_connect(self.settings.timeout)
            .with_total(self.settings.timeout);
        TransportRequest::post(self.settings.endpoint.clone(), message)
            .headers(self.settings.headers.clone())
            .timeouts(timeouts)
            .header("content-type", "application/x-protobuf")
    }
}

/// Some collectors respond 202 or 204 without a body, which suffices.
fn is_accepted(error: &Error) -> bool {
    error.status().is_some_and(|status| status / 100 == 2)
}

impl fmt::Debug for OtlpSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtlpSender").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use http::HeaderMap;
    use majordomo::transport::TransportConfig;
    use majordomo_testkit::{ClosedPort, Script, Upstream};

    use super::*;

    fn sender(address: std::net::SocketAddr) -> OtlpSender {
        let settings = OtlpSettings {
            endpoint: format!("http://{address}/v1/traces").parse().unwrap(),
            headers: HeaderMap::new(),
            timeout: std::time::Duration::from_secs(10),
            interval: std::time::Duration::from_secs(60),
            service: None,
        };
        let transport = Transport::new(TransportConfig::default());
        OtlpSender::new(Signal::Spans, settings, transport)
    }

    #[derive(Clone, Default)]
    struct LogBuffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for LogBuffer {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(line);
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn an_unreachable_collector_is_logged_once_and_not_per_message() {
        let log = LogBuffer::default();
        let lines = log.clone();
        let writer = tracing_subscriber::fmt().with_writer(move || lines.clone());
        let _guard = tracing::subscriber::set_default(writer.finish());
        // While a process has one subscriber, tracing asks the thread that reaches a line first,
        // which may be another test's and have none: the line would count as disabled.
        let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::default());
        tracing::callsite::rebuild_interest_cache();
        let port = ClosedPort::hold();
        let sender = sender(port.address());
        for _ in 0..3 {
            assert!(sender.send(Vec::new()).await.is_err());
        }
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.matches("spans are lost").count(), 1, "{text}");
    }

    #[tokio::test]
    async fn any_2xx_is_accepted_and_an_error_is_not() {
        let rows = [
            (200, true),
            (202, true),
            (204, true),
            (400, false),
            (503, false),
        ];
        for (status, accepted) in rows {
            let script = Script::new().read_request();
            let script = script.send(format!(
                "HTTP/1.1 {status} Scripted\r\ncontent-length: 0\r\n\r\n"
            ));
            let collector = Upstream::start([script]).await;
            let sender = sender(collector.address());
            assert_eq!(sender.send(Vec::new()).await.is_ok(), accepted, "{status}");
        }
    }
}
