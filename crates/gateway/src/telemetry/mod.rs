//! OpenTelemetry spans of requests, behind the feature `otel`.
//!
//! Spans are built from a finished request, so a running one pays for a few recorded
//! fields and nothing per token. Content and keys are never recorded. `OTEL_*`
//! variables configure the exporter; without an endpoint nothing is recorded or sent.
//! May use `clock`, `fronts`, `outcome` and `routes`.

mod attributes;
mod calls;
mod exporter;
mod names;
mod parent;
mod route;
mod settings;
mod spans;
mod upstream;
mod watch;

use std::collections::BTreeMap;
use std::time::Duration;

use http::request::Parts;
use majordomo::Registry;
use majordomo::transport::Transport;
use opentelemetry::InstrumentationScope;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Key, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

pub(crate) use spans::RequestSpanData;
pub(crate) use watch::RequestWatch;

use self::exporter::OtlpExporter;
use self::settings::OtlpSettings;
use crate::fronts::Endpoint;

/// Flush timeout on shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The span exporter. Spans wait in a bounded queue for a thread that sends them in
/// batches; when it is full they are dropped, and no request waits.
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

impl Telemetry {
    /// Starts the exporter that the environment configures; none without an endpoint.
    /// An invalid setting is logged and only disables spans.
    pub(crate) fn start(
        environment: &BTreeMap<String, String>,
        transport: &Transport,
    ) -> Option<Self> {
        let settings = match OtlpSettings::from_env(environment) {
            Ok(settings) => settings?,
            Err(reason) => {
                tracing::warn!("no spans are sent: {reason}");
                return None;
            }
        };
        let resource = resource(settings.service.as_deref());
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_batch_exporter(OtlpExporter::new(settings, transport.clone()))
            .build();
        let scope = InstrumentationScope::builder("majordomo")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        Some(Self {
            tracer: provider.tracer_with_scope(scope),
            provider,
        })
    }

    /// Starts watching a request.
    pub(crate) fn watch(
        &self,
        head: &Parts,
        endpoint: &Endpoint,
        registry: &Registry,
    ) -> RequestWatch {
        RequestWatch::new(
            self.tracer.clone(),
            registry.clone(),
            parent::context(&head.headers),
            route::method(&head.method),
            route::template(endpoint),
            matches!(endpoint, Endpoint::Embeddings(_)),
        )
    }

    /// Flushes the remaining spans within a timeout.
    pub(crate) async fn stop(&self) {
        let provider = self.provider.clone();
        // The SDK blocks on its thread, which waits for this runtime.
        let stopped =
            tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(FLUSH_TIMEOUT));
        // Export errors are logged by the exporter.
        let _ = stopped.await;
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
