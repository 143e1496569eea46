//! OpenTelemetry spans of requests and metrics, behind the feature `otel`.
//!
//! Spans and histograms of calls are made of finished requests, so a running one pays for a
//! few recorded fields and nothing per token. All other metrics are those of `/metrics`.
//! `OTEL_*` variables configure the export; without an endpoint there is none. May use
//! `metrics`, `outcome` and `record`.

mod attributes;
mod call_histograms;
mod calls;
mod exporter;
mod metric_export;
mod metric_messages;
mod names;
mod otlp;
mod parent;
mod preset_ids;
mod settings;
mod spans;
mod upstream;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use majordomo::transport::Transport;
use majordomo::{BoxFuture, Registry};
use opentelemetry::InstrumentationScope;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Key, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

use self::exporter::OtlpExporter;
pub(crate) use self::metric_export::MetricExport;
use self::otlp::OtlpSender;
use self::preset_ids::PresetIds;
use self::settings::{OtlpSettings, Signal};
use crate::record::{FinishedRequest, Needs, RequestSink};

/// Flush timeout on shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The sink that exports spans. They wait in a bounded queue for a thread that sends them
/// in batches; when it is full they are dropped, and no request waits.
pub(crate) struct Spans {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    /// The active registry, which knows the targets' addresses.
    registry: Box<dyn Fn() -> Registry + Send + Sync>,
}

impl Spans {
    /// Starts the exporter that the environment configures; none without an endpoint.
    /// An invalid setting is logged and only disables spans.
    pub(crate) fn start(
        environment: &BTreeMap<String, String>,
        transport: &Transport,
        registry: impl Fn() -> Registry + Send + Sync + 'static,
    ) -> Option<Self> {
        let settings = match OtlpSettings::from_env(environment, Signal::Spans) {
            Ok(settings) => settings?,
            Err(reason) => {
                tracing::warn!("no spans are sent: {reason}");
                return None;
            }
        };
        let resource = resource(settings.service.as_deref());
        let sender = OtlpSender::new(Signal::Spans, settings, transport.clone());
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_id_generator(PresetIds::default())
            .with_batch_exporter(OtlpExporter::new(sender))
            .build();
        let scope = InstrumentationScope::builder("majordomo")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        Some(Self {
            tracer: provider.tracer_with_scope(scope),
            provider,
            registry: Box::new(registry),
        })
    }
}

impl RequestSink for Spans {
    fn needs(&self) -> Needs {
        Needs {
            metadata: true,
            ..Needs::default()
        }
    }

    fn finished(&self, record: &Arc<FinishedRequest>) {
        self.export(record);
    }

    /// Flushes the remaining spans within a timeout.
    fn stop(&self) -> BoxFuture<'_, ()> {
        let provider = self.provider.clone();
        Box::pin(async {
            // The SDK blocks on its thread, which waits for this runtime.
            let stopped =
                tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(FLUSH_TIMEOUT));
            // Export errors are logged by the exporter.
            let _ = stopped.await;
        })
    }
}

/// The resource: the service name of the environment, else our own.
fn resource(service: Option<&str>) -> Resource {
    let configured = Resource::builder().build();
    let configured = configured.get(&Key::from_static_str("service.name"));
    let configured = configured.map(|name| name.as_str().into_owned());
    let configured = configured.filter(|name| !name.starts_with("unknown_service"));
    let service = service.map(str::to_owned).or(configured);
    Resource::builder()
        .with_service_name(service.unwrap_or_else(|| "majordomo".to_owned()))
        .with_attribute(KeyValue::new(
            names::SERVICE_VERSION,
            env!("CARGO_PKG_VERSION"),
        ))
        .build()
}
