//! Exports metrics at intervals, and once more when the gateway stops.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use majordomo::transport::Transport;
use majordomo::{BoxFuture, Registry};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::metrics::v1::{ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use prost::Message;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::call_histograms::CallHistograms;
use super::metric_messages::{Period, of_calls, of_snapshot};
use super::otlp::OtlpSender;
use super::settings::{OtlpSettings, Signal};
use super::{FLUSH_TIMEOUT, resource};
use crate::clock::wall_clock;
use crate::metrics::{Metrics, MetricsSnapshot};
use crate::record::{FinishedRequest, RequestSink};

/// The sink that counts calls and exports all metrics. The running totals are sent each time,
/// so a lost message loses nothing but its moment.
pub(crate) struct MetricExport {
    exporter: Arc<MetricExporter>,
    /// Bounds the names of targets.
    metrics: Arc<Metrics>,
    /// The active registry, which knows the targets' addresses.
    registry: Box<dyn Fn() -> Registry + Send + Sync>,
    task: Mutex<Option<JoinHandle<()>>>,
}

struct MetricExporter {
    sender: OtlpSender,
    resource: Resource,
    started: SystemTime,
    calls: CallHistograms,
    /// All metrics of the gateway now; none once it is gone.
    snapshot: Box<dyn Fn() -> Option<MetricsSnapshot> + Send + Sync>,
}

impl MetricExport {
    /// Starts what the environment configures; nothing without an endpoint. An invalid
    /// setting is logged and only disables this export.
    pub(crate) fn start(
        environment: &BTreeMap<String, String>,
        transport: &Transport,
        metrics: Arc<Metrics>,
        registry: impl Fn() -> Registry + Send + Sync + 'static,
        snapshot: impl Fn() -> Option<MetricsSnapshot> + Send + Sync + 'static,
    ) -> Option<Self> {
        let settings = match OtlpSettings::from_env(environment, Signal::Metrics) {
            Ok(settings) => settings?,
            Err(reason) => {
                tracing::warn!("no metrics are sent: {reason}");
                return None;
            }
        };
        let period = settings.interval;
        let resource = resource(settings.service.as_deref());
        let attributes = ResourceAttributesWithSchema::from(&resource).attributes;
        let exporter = Arc::new(MetricExporter {
            sender: OtlpSender::new(Signal::Metrics, settings, transport.clone()),
            resource: Resource {
                attributes: attributes.0,
                ..Resource::default()
            },
            started: wall_clock(),
            calls: CallHistograms::new(),
            snapshot: Box::new(snapshot),
        });
        let exporting = Arc::clone(&exporter);
        let task = tokio::spawn(async move {
            let mut ticks = interval(period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            // The first one is immediate, when there is nothing to tell.
            ticks.tick().await;
            loop {
                ticks.tick().await;
                exporting.export().await;
            }
        });
        Some(Self {
            exporter,
            metrics,
            registry: Box::new(registry),
            task: Mutex::new(Some(task)),
        })
    }
}

impl RequestSink for MetricExport {
    fn finished(&self, record: &Arc<FinishedRequest>) {
        if record.calls.is_empty() {
            return;
        }
        let registry = (self.registry)();
        for call in &record.calls {
            let target = self.metrics.target_label(&call.target);
            self.exporter.calls.count(call, target, &registry);
        }
    }

    /// Exports the last values within a timeout.
    fn stop(&self) -> BoxFuture<'_, ()> {
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(task) = task {
            task.abort();
        }
        Box::pin(async {
            // A failure is logged by the sender.
            let _ = timeout(FLUSH_TIMEOUT, self.exporter.export()).await;
        })
    }
}

impl MetricExporter {
    async fn export(&self) {
        let Some(snapshot) = (self.snapshot)() else {
            return;
        };
        let period = Period {
            start: unix_nanos(self.started),
            now: unix_nanos(wall_clock()),
        };
        let calls = self.calls.all().map(|it| of_calls(it, period));
        let message = ExportMetricsServiceRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(self.resource.clone()),
                scope_metrics: vec![ScopeMetrics {
                    scope: Some(InstrumentationScope {
                        name: "majordomo".to_owned(),
                        version: env!("CARGO_PKG_VERSION").to_owned(),
                        ..InstrumentationScope::default()
                    }),
                    metrics: of_snapshot(&snapshot, period).chain(calls).collect(),
                    ..ScopeMetrics::default()
                }],
                ..ResourceMetrics::default()
            }],
        };
        let _ = self.sender.send(message.encode_to_vec()).await;
    }
}

fn unix_nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
