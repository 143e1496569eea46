//! Client spans: upstream calls, for the response or to describe an image.

use std::time::{Duration, SystemTime};

use majordomo::Usage;
use majordomo_vision::DescribeCall;
use opentelemetry::Context;
use opentelemetry::trace::{Span, SpanBuilder, SpanKind, Status, Tracer};
use tokio::time::Instant;

use super::attributes::{Attributes, number, word};
use super::names;
use super::spans::RequestSpanData;
use super::upstream::UpstreamAttributes;
use super::watch::RequestWatch;
use crate::outcome::AttemptSummary;

/// One upstream call.
struct UpstreamCall<'a> {
    attempt: &'a AttemptSummary,
    /// Since the request's arrival, like `ended`.
    began: Duration,
    ended: Duration,
    stream: bool,
    purpose: Purpose,
    usage: Usage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Respond,
    Describe,
}

impl RequestWatch {
    /// Exports the calls for the response. The serving target may have streamed long
    /// after its attempt ended.
    pub(super) fn export_calls(
        &self,
        finished: &RequestSpanData<'_>,
        arrived: SystemTime,
        parent: &Context,
    ) {
        let request = finished.ended;
        for attempt in request
            .attempts
            .iter()
            .filter(|attempt| was_called(attempt))
        {
            let began = self.chain_began + attempt.at;
            let call = UpstreamCall {
                attempt,
                began,
                ended: match finished.stream && served(attempt) {
                    true => self.stream_ended.unwrap_or(request.took),
                    false => began + attempt.took,
                },
                stream: finished.stream,
                purpose: Purpose::Respond,
                usage: request.usage,
            };
            self.export_call(&call, arrived, parent);
        }
    }

    /// Exports the calls of a describer, which are always streamed.
    pub(super) fn export_describe_calls(
        &self,
        described: &DescribeCall,
        admitted: Instant,
        arrived: SystemTime,
        parent: &Context,
    ) {
        let chain_began = described
            .began
            .saturating_duration_since(admitted.into_std());
        let attempts = described.attempts.iter().map(AttemptSummary::from);
        for attempt in attempts.filter(was_called) {
            let began = chain_began + attempt.at;
            let call = UpstreamCall {
                began,
                ended: match served(&attempt) {
                    true => chain_began + described.took,
                    false => began + attempt.took,
                },
                attempt: &attempt,
                stream: true,
                purpose: Purpose::Describe,
                usage: described.usage,
            };
            self.export_call(&call, arrived, parent);
        }
    }

    fn export_call(&self, call: &UpstreamCall<'_>, arrived: SystemTime, parent: &Context) {
        let upstream = UpstreamAttributes::of(&call.attempt.target, &self.registry);
        let operation = match call.purpose {
            Purpose::Respond if self.embeds => "embeddings",
            _ => upstream.operation(),
        };
        // An interrupted stream counts as served in the attempt log.
        let interrupted = self
            .interrupted
            .filter(|_| call.purpose == Purpose::Respond);
        let failure = match served(call.attempt) {
            true => interrupted,
            false => call.attempt.class,
        };
        let failure = failure.map(word);
        let name = format!("{operation} {}", upstream.model);
        let mut attributes = Attributes::default();
        attributes.set(names::OPERATION, operation);
        upstream.write_to(&mut attributes);
        self.write_call(call, &mut attributes);
        attributes.set_known(names::ERROR_TYPE, failure.clone());
        let builder = SpanBuilder::from_name(name)
            .with_kind(SpanKind::Client)
            .with_start_time(arrived + call.began)
            .with_attributes(attributes.into_inner());
        let mut span = self.tracer.build_with_context(builder, parent);
        if let Some(failure) = failure {
            span.set_status(Status::error(failure));
        }
        span.end_with_timestamp(arrived + call.ended.max(call.began));
    }

    fn write_call(&self, call: &UpstreamCall<'_>, attributes: &mut Attributes) {
        let attempt = call.attempt;
        attributes.set(names::REQUEST_STREAM, call.stream);
        attributes.set(names::TARGET, attempt.target.clone());
        attributes.set(names::PURPOSE, call.purpose.name());
        attributes.set_known(names::HTTP_STATUS, attempt.status.map(i64::from));
        if call.purpose == Purpose::Respond {
            self.request.write_to(attributes);
        }
        if !served(attempt) {
            return;
        }
        if call.purpose == Purpose::Respond {
            self.response.write_to(attributes);
        }
        write_usage(call.usage, attributes);
        if call.stream {
            attributes.set(names::TIME_TO_FIRST_CHUNK, attempt.took.as_secs_f64());
        }
    }
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::Respond => "answer",
            Self::Describe => "describe",
        }
    }
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

/// Whether the target was called.
pub(super) fn was_called(attempt: &AttemptSummary) -> bool {
    attempt.outcome != "skipped"
}

fn served(attempt: &AttemptSummary) -> bool {
    attempt.outcome == "served"
}
