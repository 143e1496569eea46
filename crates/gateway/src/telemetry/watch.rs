//! Data that only spans need, recorded while a request runs.

use std::time::Duration;

use majordomo::llm::{OutputFormat, redact};
use majordomo::{Class, Effort, Error, Event, FinishReason, Registry, Request, Response};
use opentelemetry::Context;
use opentelemetry_sdk::trace::SdkTracer;

use super::attributes::{Attributes, number, word};
use super::names;

/// Longest recorded response id and model name.
const LONGEST: usize = 256;

/// A request watched by [`Telemetry`](super::Telemetry).
pub(crate) struct RequestWatch {
    pub(super) tracer: SdkTracer,
    /// Resolves the targets of the request's configuration.
    pub(super) registry: Registry,
    pub(super) parent: Context,
    pub(super) method: &'static str,
    pub(super) route: Option<&'static str>,
    pub(super) embeds: bool,
    pub(super) request: RequestAttributes,
    /// Start of the chain since the request's arrival. Attempt times are relative to
    /// it.
    pub(super) chain_began: Duration,
    pub(super) response: ResponseAttributes,
    /// When the target's stream ended.
    pub(super) stream_ended: Option<Duration>,
    /// Why a stream was interrupted.
    pub(super) interrupted: Option<Class>,
}

/// Attributes of the request's parameters.
#[derive(Default)]
pub(super) struct RequestAttributes {
    pub(super) max_tokens: Option<u64>,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) top_k: Option<u64>,
    pub(super) presence_penalty: Option<f64>,
    pub(super) frequency_penalty: Option<f64>,
    pub(super) seed: Option<i64>,
    pub(super) effort: Option<Effort>,
    pub(super) output: Option<&'static str>,
}

/// Attributes of the response.
#[derive(Default)]
pub(super) struct ResponseAttributes {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) finish: Option<String>,
}

impl RequestWatch {
    pub(super) fn new(
        tracer: SdkTracer,
        registry: Registry,
        parent: Context,
        method: &'static str,
        route: Option<&'static str>,
        embeds: bool,
    ) -> Self {
        Self {
            tracer,
            registry,
            parent,
            method,
            route,
            embeds,
            request: RequestAttributes::default(),
            chain_began: Duration::ZERO,
            response: ResponseAttributes::default(),
            stream_ended: None,
            interrupted: None,
        }
    }

    /// Records the start of the chain. Only the request's parameters are kept, never
    /// its content.
    pub(crate) fn chain_started(&mut self, request: Option<&Request>, since_arrival: Duration) {
        self.chain_began = since_arrival;
        let Some(request) = request else {
            return;
        };
        self.request = RequestAttributes {
            max_tokens: request.max_tokens,
            temperature: request.temperature,
            top_p: request.top_p,
            top_k: request.top_k,
            presence_penalty: request.presence_penalty,
            frequency_penalty: request.frequency_penalty,
            seed: request.seed,
            effort: request.effort,
            output: Some(match request.output {
                OutputFormat::Text => "text",
                OutputFormat::Json | OutputFormat::Schema(_) => "json",
            }),
        };
    }

    /// Records a whole response.
    pub(crate) fn observe_response(&mut self, response: &Response) {
        self.response = ResponseAttributes {
            id: response.id.as_deref().map(short),
            model: response.reported_model.as_deref().map(short),
            finish: Some(finish(&response.finish)),
        };
    }

    /// Records an event of a stream.
    pub(crate) fn observe(&mut self, event: &Event, since_arrival: impl FnOnce() -> Duration) {
        match event {
            Event::Start { id, model } => {
                self.response.id = id.as_deref().map(short);
                self.response.model = model.as_deref().map(short);
            }
            Event::Finish(reason) => {
                self.response.finish = Some(finish(reason));
                self.stream_ended = Some(since_arrival());
            }
            _ => {}
        }
    }

    /// Records an interrupted stream.
    pub(crate) fn interrupted(&mut self, error: &Error, since_arrival: Duration) {
        self.interrupted = Some(error.class());
        self.stream_ended = Some(since_arrival);
    }
}

impl RequestAttributes {
    pub(super) fn write_to(&self, attributes: &mut Attributes) {
        attributes.set_known(names::MAX_TOKENS, self.max_tokens.map(number));
        attributes.set_known(names::TEMPERATURE, self.temperature);
        attributes.set_known(names::TOP_P, self.top_p);
        attributes.set_known(names::TOP_K, self.top_k.map(number));
        attributes.set_known(names::PRESENCE_PENALTY, self.presence_penalty);
        attributes.set_known(names::FREQUENCY_PENALTY, self.frequency_penalty);
        attributes.set_known(names::SEED, self.seed);
        attributes.set_known(names::REASONING_LEVEL, self.effort.map(word));
        attributes.set_known(names::OUTPUT_TYPE, self.output);
    }
}

impl ResponseAttributes {
    pub(super) fn write_to(&self, attributes: &mut Attributes) {
        attributes.set_known(names::RESPONSE_ID, self.id.clone());
        attributes.set_known(names::RESPONSE_MODEL, self.model.clone());
        attributes.list(names::FINISH_REASONS, self.finish.clone());
    }
}

/// A provider's text may contain anything, even a key that it was sent.
fn short(text: &str) -> String {
    let mut ends = (0..=LONGEST.min(text.len())).rev();
    let end = ends.find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    redact(&text[..end])
}

/// The finish reason. A stop sequence is content and is omitted.
fn finish(reason: &FinishReason) -> String {
    match reason {
        FinishReason::Other(word) => short(word),
        known => known.name().to_owned(),
    }
}
