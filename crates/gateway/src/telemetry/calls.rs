//! Client spans: upstream calls, for the response or to describe an image.

use std::time::{Duration, SystemTime};

use majordomo::Usage;
use majordomo_vision::DescribeCall;
use opentelemetry::Context;
use opentelemetry::trace::{Span, SpanBuilder, SpanKind, Status, Tracer};
use tokio::time::Instant;

use super::attributes::{Attributes, number, word};
use super::names;
use super::spans::Finished;
use super::upstream::Upstream;
use super::watch::Watch;
use crate::outcome::Tried;

/// One upstream call.
struct Call<'a> {
    tried: &'a Tried,
    /// Since the request's arrival, like `ended`.
    began: Duration,
    ended: Duration,
    stream: bool,
    purpose: Purpose,
    usage: Usage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Answer,
    Describe,
}

impl Watch {
    /// Exports the calls for the response. The serving target may have streamed long
    /// after its attempt ended.
    pub(super) fn tell_answers(
        &self,
        finished: &Finished<'_>,
        arrived: SystemTime,
        parent: &Context,
    ) {
        let over = finished.ended;
        for tried in over.tried.iter().filter(|tried| was_asked(tried)) {
            let began = self.chain_began + tried.at;
            let call = Call {
                tried,
                began,
                ended: match finished.stream && served(tried) {
                    true => self.stream_ended.unwrap_or(over.took),
                    false => began + tried.took,
                },
                stream: finished.stream,
                purpose: Purpose::Answer,
                usage: over.usage,
            };
            self.tell_call(&call, arrived, parent);
        }
    }

    /// Exports the calls of a describer, which are always streamed.
    pub(super) fn tell_description(
        &self,
        described: &DescribeCall,
        admitted: Instant,
        arrived: SystemTime,
        parent: &Context,
    ) {
        let chain_began = described
            .began
            .saturating_duration_since(admitted.into_std());
        let tried = described.attempts.iter().map(Tried::from);
        for tried in tried.filter(was_asked) {
            let began = chain_began + tried.at;
            let call = Call {
                began,
                ended: match served(&tried) {
                    true => chain_began + described.took,
                    false => began + tried.took,
                },
                tried: &tried,
                stream: true,
                purpose: Purpose::Describe,
                usage: described.usage,
            };
            self.tell_call(&call, arrived, parent);
        }
    }

    fn tell_call(&self, call: &Call<'_>, arrived: SystemTime, parent: &Context) {
        let upstream = Upstream::of(&call.tried.target, &self.registry);
        let operation = match call.purpose {
            Purpose::Answer if self.embeds => "embeddings",
            _ => upstream.operation(),
        };
        // An interrupted stream counts as served in the attempt log.
        let broke = self.broke.filter(|_| call.purpose == Purpose::Answer);
        let failure = match served(call.tried) {
            true => broke,
            false => call.tried.class,
        };
        let failure = failure.map(word);
        let name = format!("{operation} {}", upstream.model);
        let mut told = Attributes::default();
        told.set(names::OPERATION, operation);
        upstream.tell(&mut told);
        self.of_call(call, &mut told);
        told.set_known(names::ERROR_TYPE, failure.clone());
        let builder = SpanBuilder::from_name(name)
            .with_kind(SpanKind::Client)
            .with_start_time(arrived + call.began)
            .with_attributes(told.into_inner());
        let mut span = self.tracer.build_with_context(builder, parent);
        if let Some(failure) = failure {
            span.set_status(Status::error(failure));
        }
        span.end_with_timestamp(arrived + call.ended.max(call.began));
    }

    fn of_call(&self, call: &Call<'_>, told: &mut Attributes) {
        let tried = call.tried;
        told.set(names::REQUEST_STREAM, call.stream);
        told.set(names::TARGET, tried.target.clone());
        told.set(names::PURPOSE, call.purpose.name());
        told.set_known(names::HTTP_STATUS, tried.status.map(i64::from));
        if call.purpose == Purpose::Answer {
            self.asked.tell(told);
        }
        if !served(tried) {
            return;
        }
        if call.purpose == Purpose::Answer {
            self.answer.tell(told);
        }
        tell_usage(call.usage, told);
        if call.stream {
            told.set(names::TIME_TO_FIRST_CHUNK, tried.took.as_secs_f64());
        }
    }
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Describe => "describe",
        }
    }
}

/// Token counts, if the provider reported any.
fn tell_usage(usage: Usage, told: &mut Attributes) {
    if usage.total() == 0 {
        return;
    }
    told.set(names::INPUT_TOKENS, number(usage.input));
    told.set(names::OUTPUT_TOKENS, number(usage.output));
    for (name, count) in [
        (names::CACHE_READ, usage.cache_read),
        (names::CACHE_WRITE, usage.cache_write),
        (names::REASONING, usage.reasoning),
    ] {
        told.set_known(name, (count > 0).then(|| number(count)));
    }
}

/// Whether the target was called.
pub(super) fn was_asked(tried: &Tried) -> bool {
    tried.outcome != "skipped"
}

fn served(tried: &Tried) -> bool {
    tried.outcome == "served"
}
