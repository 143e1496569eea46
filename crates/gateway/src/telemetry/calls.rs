//! Client spans: upstream calls, for the response or to describe an image.

use majordomo::Usage;
use majordomo::chain::AttemptKind;
use opentelemetry::Context;
use opentelemetry::trace::{Span, SpanBuilder, SpanKind, Status, Tracer};

use super::attributes::{Attributes, number, word};
use super::upstream::UpstreamAttributes;
use super::{Spans, names};
use crate::record::{
    CallOutcome, FinishedRequest, RequestParameters, ResponseMetadata, UpstreamCall,
};

impl Spans {
    /// Exports the calls of a request.
    pub(super) fn export_calls(&self, record: &FinishedRequest, parent: &Context) {
        let registry = (self.registry)();
        for call in &record.calls {
            let upstream = UpstreamAttributes::of(&call.target, &registry);
            self.export_call(record, call, &upstream, parent);
        }
    }

    fn export_call(
        &self,
        record: &FinishedRequest,
        call: &UpstreamCall,
        upstream: &UpstreamAttributes<'_>,
        parent: &Context,
    ) {
        let operation = match call.kind {
            AttemptKind::Embed => "embeddings",
            AttemptKind::Image => "generate_content",
            _ => upstream.operation(),
        };
        let describes = call.kind == AttemptKind::Describe;
        let failure = call.class.map(word);
        let name = format!("{operation} {}", upstream.model);
        let mut attributes = Attributes::default();
        attributes.set(names::OPERATION, operation);
        upstream.write_to(&mut attributes);
        // Describers always stream.
        attributes.set(names::REQUEST_STREAM, record.stream || describes);
        attributes.set(names::TARGET, call.target.clone());
        let purpose = if describes { "describe" } else { "answer" };
        attributes.set(names::PURPOSE, purpose);
        attributes.set_known(names::HTTP_STATUS, call.status.map(i64::from));
        if !describes {
            write_parameters(&record.parameters, &mut attributes);
        }
        // A stream that broke has begun as well.
        if call.outcome == CallOutcome::Served || call.first_token.is_some() {
            if !describes {
                write_response(&record.response, &mut attributes);
            }
            write_usage(call.usage, &mut attributes);
            let first = call.first_token.map(|time| time.as_secs_f64());
            attributes.set_known(names::TIME_TO_FIRST_CHUNK, first);
        }
        attributes.set_known(names::ERROR_TYPE, failure.clone());
        let began = record.arrived + call.at;
        let builder = SpanBuilder::from_name(name)
            .with_kind(SpanKind::Client)
            .with_start_time(began)
            .with_attributes(attributes.into_inner());
        let mut span = self.tracer.build_with_context(builder, parent);
        if let Some(failure) = failure {
            span.set_status(Status::error(failure));
        }
        span.end_with_timestamp(began + call.took);
    }
}

fn write_parameters(parameters: &RequestParameters, attributes: &mut Attributes) {
    attributes.set_known(names::MAX_TOKENS, parameters.max_tokens.map(number));
    attributes.set_known(names::TEMPERATURE, parameters.temperature);
    attributes.set_known(names::TOP_P, parameters.top_p);
    attributes.set_known(names::TOP_K, parameters.top_k.map(number));
    attributes.set_known(names::PRESENCE_PENALTY, parameters.presence_penalty);
    attributes.set_known(names::FREQUENCY_PENALTY, parameters.frequency_penalty);
    attributes.set_known(names::SEED, parameters.seed);
    attributes.set_known(names::REASONING_LEVEL, parameters.effort.map(word));
    attributes.set_known(names::OUTPUT_TYPE, parameters.output);
}

fn write_response(response: &ResponseMetadata, attributes: &mut Attributes) {
    attributes.set_known(names::RESPONSE_ID, response.id.clone());
    attributes.set_known(names::RESPONSE_MODEL, response.model.clone());
    attributes.list(names::FINISH_REASONS, response.finish.clone());
}

/// Token counts, if the provider reported any.
fn write_usage(usage: Usage, attributes: &mut Attributes) {
    if usage.total() == 0 {
        return;
    }
    attributes.set(names::INPUT_TOKENS, number(usage.input));
    attributes.set(names::OUTPUT_TOKENS, number(usage.output));
    for (name, count) in [
        (names::CACHE_READ, usage.cache_read),
        (names::CACHE_WRITE, usage.cache_write),
        (names::REASONING, usage.reasoning),
    ] {
        attributes.set_known(name, (count > 0).then(|| number(count)));
    }
}
