//! Spans of requests for an OpenTelemetry collector, behind the feature `otel`.
//!
//! A span is made of what a finished request left behind, so a request that runs
//! pays for a few fields that are noted and nothing per token. What was asked and
//! answered is never part of it, nor is a key. `OTEL_*` variables say where spans
//! go; without an address nothing is noted and nothing is sent.

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

pub(crate) use spans::Finished;
pub(crate) use watch::Watch;

use self::exporter::Exporter;
use self::settings::Settings;
use crate::fronts::Endpoint;

/// How long the last spans may take when the gateway stops.
const LAST_SPANS: Duration = Duration::from_secs(5);

/// Where spans are put. They wait in a bounded queue for a thread that sends them
/// in batches; what finds no room there is lost, and nobody waits for it.
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

impl Telemetry {
    /// What the environment asks for; none if it names no collector. A mistake in
    /// it is told, and costs the spans only.
    pub(crate) fn start(
        environment: &BTreeMap<String, String>,
        transport: &Transport,
    ) -> Option<Self> {
        let settings = match Settings::read(environment) {
            Ok(settings) => settings?,
            Err(reason) => {
                tracing::warn!("no spans are sent: {reason}");
                return None;
            }
        };
        let resource = resource(settings.service.as_deref());
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_batch_exporter(Exporter::new(settings, transport.clone()))
            .build();
        let scope = InstrumentationScope::builder("majordomo")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        Some(Self {
            tracer: provider.tracer_with_scope(scope),
            provider,
        })
    }

    /// Looks after a request that has just come.
    pub(crate) fn watch(&self, head: &Parts, endpoint: &Endpoint, registry: &Registry) -> Watch {
        Watch::new(
            self.tracer.clone(),
            registry.clone(),
            parent::context(&head.headers),
            route::method(&head.method),
            route::template(endpoint),
            matches!(endpoint, Endpoint::Embeddings(_)),
        )
    }

    /// Sends what is left, within a bound.
    pub(crate) async fn stop(&self) {
        let provider = self.provider.clone();
        // The crate waits for its thread, which waits for this runtime.
        let stopped =
            tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(LAST_SPANS));
        // A collector that did not take them was told of already.
        let _ = stopped.await;
    }
}

/// Who sends the spans: the variables' word for it, else our own.
fn resource(service: Option<&str>) -> Resource {
    let told = Resource::builder().build();
    let told = told.get(&Key::from_static_str("service.name"));
    let told = told.map(|name| name.as_str().into_owned());
    let told = told.filter(|name| !name.starts_with("unknown_service"));
    let service = service.map(str::to_owned).or(told);
    Resource::builder()
        .with_service_name(service.unwrap_or_else(|| "majordomo".to_owned()))
        .with_attribute(KeyValue::new(
            names::SERVICE_VERSION,
            env!("CARGO_PKG_VERSION"),
        ))
        .build()
}
