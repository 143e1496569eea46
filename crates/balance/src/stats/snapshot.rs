//! The statistics as `/api/health` and `/metrics` show them.

use std::sync::atomic::Ordering;
use std::time::Instant;

use serde::Serialize;

use super::Spread;
use crate::Service;

/// A pool at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolSnapshot {
    /// How services are picked.
    pub tactic: &'static str,
    /// The sessions that are remembered, expired ones among them until they are
    /// replaced; none without affinity.
    pub sessions: Option<usize>,
    /// The services in their order.
    pub services: Vec<ServiceSnapshot>,
}

/// A service at one moment. What has no sample yet is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceSnapshot {
    /// Its name: the spec.
    pub id: String,
    /// Whether it is asked at all.
    pub active: bool,
    /// Its share.
    pub weight: u32,
    /// Its tier.
    pub tier: u32,
    /// Its seats, where they are limited.
    pub capacity: Option<usize>,
    /// The requests that it serves now.
    pub in_flight: usize,
    /// How often it was picked first.
    pub picks: u64,
    /// Whole answers.
    pub answers: u64,
    /// Failed attempts.
    pub failures: u64,
    /// Milliseconds to the first token, streams only.
    pub first_token_ms: Spread,
    /// Output tokens a second after the first one, streams only.
    pub tokens_per_second: Spread,
    /// Milliseconds for a whole answer.
    pub latency_ms: Spread,
    /// The latency that the tactic of that name believes in, in milliseconds.
    pub peak_latency_ms: Option<f64>,
    /// Tokens of the last minute.
    pub recent_tokens: u64,
    /// All tokens that went in.
    pub input_tokens: u64,
    /// All tokens that came out.
    pub output_tokens: u64,
    /// The part of the input that the provider read from its cache.
    pub cache_read_tokens: u64,
    /// That part as a share.
    pub cached_share: Option<f64>,
    /// The share of answers with at least one cached token.
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
