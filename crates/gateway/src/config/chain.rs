//! `[health]` and `[chain]`: benches and failover.

use std::time::Duration;

use majordomo::chain::AllBenched;
use majordomo::health::HealthConfig;

use super::reader::Section;

/// Failover within a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChainSettings {
    /// Immediate retries on one target after a transient failure.
    pub retries: u32,
    /// Whether a bad request or a policy stop advances to the next target.
    pub advance_on_permanent: bool,
    /// What happens when every target is benched.
    pub all_benched: AllBenched,
    /// Time limit of a request over all attempts; `None` means no limit.
    pub deadline: Option<Duration>,
    /// Longest `Retry-After` that a request waits for; `None` means that it never waits.
    pub max_retry_after: Option<Duration>,
}

impl Default for ChainSettings {
    fn default() -> Self {
        Self {
            retries: 1,
            advance_on_permanent: false,
            all_benched: AllBenched::default(),
            deadline: Some(Duration::from_secs(600)),
            max_retry_after: Some(Duration::from_secs(10)),
        }
    }
}

pub(super) fn read_chain(mut section: Section<'_>) -> ChainSettings {
    let mut chain = ChainSettings::default();
    if let Some(retries) = section.number("retries", 0, 10) {
        chain.retries = u32::try_from(retries).unwrap_or(u32::MAX);
    }
    if let Some(advance) = section.flag("advance_on_permanent") {
        chain.advance_on_permanent = advance;
    }
    let benched = [
        ("least_bad", AllBenched::LeastBad),
        ("fail", AllBenched::Fail),
    ];
    if let Some(found) = section.take("all_benched").and_then(|f| f.choice(&benched)) {
        chain.all_benched = found;
    }
    if let Some(deadline) = section.take("deadline").and_then(|f| f.duration_or_off()) {
        chain.deadline = deadline;
    }
    let wait = section.take("max_retry_after");
    if let Some(wait) = wait.and_then(|f| f.duration_or_off()) {
        chain.max_retry_after = wait;
    }
    section.finish();
    chain
}

pub(super) fn read_health(mut section: Section<'_>) -> HealthConfig {
    let mut health = HealthConfig::default();
    if let Some(threshold) = section.number("threshold", 1, 1_000) {
        health.threshold = u32::try_from(threshold).unwrap_or(u32::MAX);
    }
    let base = section.take("base").and_then(|f| f.positive_duration());
    health.base = base.unwrap_or(health.base);
    let max = section.take("max");
    let longest = max.as_ref().and_then(|f| f.positive_duration());
    health.max = longest.unwrap_or(health.max.max(health.base));
    if let Some(max) = max.filter(|_| health.max < health.base) {
        let message = "`max` is shorter than `base`: the first bench is `base` long";
        max.report(message, "set `max` to at least `base`");
    }
    if let Some(factor) = section.take("factor").and_then(|f| f.decimal(1.1, 100.0)) {
        health.factor = factor;
    }
    section.finish();
    health
}
