//! Exports batches of spans.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use majordomo::Error;
use majordomo::transport::{Timeouts, Transport, TransportRequest, TransportResponse};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use prost::Message;
use tokio::runtime::Handle;

use super::settings::OtlpSettings;

/// The OTLP exporter.
pub(super) struct OtlpExporter {
    settings: OtlpSettings,
    transport: Transport,
    /// Batches come from the SDK's thread; connections live on this runtime.
    runtime: Handle,
    resource: ResourceAttributesWithSchema,
    /// Whether the last batch was lost; logged once.
    failing: AtomicBool,
}

impl OtlpExporter {
    /// Must be called within a runtime.
    pub(super) fn new(settings: OtlpSettings, transport: Transport) -> Self {
        Self {
            settings,
            transport,
            runtime: Handle::current(),
            resource: ResourceAttributesWithSchema::default(),
            failing: AtomicBool::new(false),
        }
    }

    fn request(&self, batch: Vec<SpanData>) -> majordomo::Result<TransportRequest> {
        let message = ExportTraceServiceRequest {
            resource_spans: group_spans_by_resource_and_scope(batch, &self.resource),
        };
        let timeouts = Timeouts::default()
            .with_connect(self.settings.timeout)
            .with_total(self.settings.timeout);
        let body = message.encode_to_vec();
        TransportRequest::post(self.settings.endpoint.clone(), body)
            .headers(self.settings.headers.clone())
            .timeouts(timeouts)
            .header("content-type", "application/x-protobuf")
    }

    async fn send(&self, batch: Vec<SpanData>) -> Result<(), String> {
        let request = self.request(batch).map_err(|error| error.to_string())?;
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
}

/// Some collectors respond 202 or 204 without a body, which suffices.
fn is_accepted(error: &Error) -> bool {
    error.status().is_some_and(|status| status / 100 == 2)
}

impl SpanExporter for OtlpExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        match self.send(batch).await {
            Ok(()) => {
                if self.failing.swap(false, Ordering::Relaxed) {
                    tracing::info!("spans reach the collector again");
                }
                Ok(())
            }
            Err(reason) => {
                if !self.failing.swap(true, Ordering::Relaxed) {
                    tracing::warn!(reason, "spans are lost until the collector accepts them");
                }
                Err(OTelSdkError::InternalFailure(reason))
            }
        }
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.into();
    }
}

impl fmt::Debug for OtlpExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtlpExporter").finish_non_exhaustive()
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

    fn exporter(address: std::net::SocketAddr) -> OtlpExporter {
        let settings = OtlpSettings {
            endpoint: format!("http://{address}/v1/traces").parse().unwrap(),
            headers: HeaderMap::new(),
            timeout: std::time::Duration::from_secs(10),
            service: None,
        };
        OtlpExporter::new(settings, Transport::new(TransportConfig::default()))
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
    async fn an_unreachable_collector_is_logged_once_and_not_per_batch() {
        let log = LogBuffer::default();
        let lines = log.clone();
        let writer = tracing_subscriber::fmt().with_writer(move || lines.clone());
        let _guard = tracing::subscriber::set_default(writer.finish());
        // While a process has one subscriber, tracing asks the thread that reaches a line first,
        // which may be another test's and have none: the line would count as disabled.
        let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::default());
        tracing::callsite::rebuild_interest_cache();
        let port = ClosedPort::hold();
        let exporter = exporter(port.address());
        for _ in 0..3 {
            assert!(exporter.export(Vec::new()).await.is_err());
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
            let exporter = exporter(collector.address());
            assert_eq!(
                exporter.export(Vec::new()).await.is_ok(),
                accepted,
                "{status}"
            );
        }
    }
}
