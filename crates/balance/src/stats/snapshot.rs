//! Snapshots of the statistics for `/api/health`.

use std::sync::atomic::Ordering;
use std::time::Instant;

use serde::Serialize;

use super::SampleSummary;
use crate::Service;

/// A pool at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PoolSnapshot {
    /// The name of the tactic.
    pub tactic: &'static str,
    /// Pinned sessions, including expired ones that are not replaced yet; `None` without
    /// affinity.
    pub sessions: Option<usize>,
    /// The services in configuration order.
    pub services: Vec<ServiceSnapshot>,
}

/// A service at one moment. Values without samples are `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ServiceSnapshot {
    /// Its spec.
    pub id: String,
    /// Whether it takes requests at all.
    pub active: bool,
    /// Its weight.
    pub weight: u32,
    /// Its tier.
    pub tier: u32,
    /// Its seats, if limited.
    pub capacity: Option<usize>,
    /// Requests in flight.
    pub in_flight: usize,
    /// The number of times it was picked first.
    pub picks: u64,
    /// Complete responses.
    pub answers: u64,
    /// Failed attempts.
    pub failures: u64,
    /// Time to first token in milliseconds, streams only.
    pub first_token_ms: SampleSummary,
    /// Output tokens per second after the first token, streams only.
    pub tokens_per_second: SampleSummary,
    /// Duration of a complete response in milliseconds.
    pub latency_ms: SampleSummary,
    /// Peak EWMA of the latency in milliseconds, as used by the tactic `latency`.
    pub peak_latency_ms: Option<f64>,
    /// Tokens of the last minute.
    pub recent_tokens: u64,
    /// Total input tokens.
    pub input_tokens: u64,
    /// Total output tokens.
    pub output_tokens: u64,
    /// Input tokens that the provider read from its cache.
    pub cache_read_tokens: u64,
    /// The share of these tokens in the input.
    pub cached_share: Option<f64>,
    /// Share of responses with at least one cached token.
    pub cache_hit_share: Option<f64>,
}

impl ServiceSnapshot {
    pub(crate) fn of(service: &Service, now: Instant) -> Self {
        let (config, stats) = (service.config(), service.stats());
        let latency_ms = stats.latency();
        let known = latency_ms.samples > 0;
        Self {
            id: config.id.clone(),
            active: config.active,
            weight: config.weight,
            tier: config.tier,
            capacity: config.capacity,
            in_flight: stats.in_flight(),
            picks: stats.picks(),
            answers: stats.answers.load(Ordering::Relaxed),
            failures: stats.failures.load(Ordering::Relaxed),
            first_token_ms: stats.first_token(),
            tokens_per_second: stats.speed(),
            latency_ms,
            peak_latency_ms: known.then(|| stats.peak_latency(now) * 1_000.0),
            recent_tokens: stats.recent_tokens(now),
            input_tokens: stats.input.load(Ordering::Relaxed),
            output_tokens: stats.output.load(Ordering::Relaxed),
            cache_read_tokens: stats.cache_read.load(Ordering::Relaxed),
            cached_share: stats.cached_share(),
            cache_hit_share: stats.cache_hit_share(),
        }
    }
}
