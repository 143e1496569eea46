//! Exports batches of spans.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use prost::Message;

use super::otlp::OtlpSender;

/// The exporter of spans. Batches come from the SDK's thread.
#[derive(Debug)]
pub(super) struct OtlpExporter {
    sender: OtlpSender,
    resource: ResourceAttributesWithSchema,
}

impl OtlpExporter {
    pub(super) fn new(sender: OtlpSender) -> Self {
        Self {
            sender,
            resource: ResourceAttributesWithSchema::default(),
        }
    }
}

impl SpanExporter for OtlpExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let message = ExportTraceServiceRequest {
            resource_spans: group_spans_by_resource_and_scope(batch, &self.resource),
        };
        let sent = self.sender.send(message.encode_to_vec()).await;
        sent.map_err(OTelSdkError::InternalFailure)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.into();
    }
}
